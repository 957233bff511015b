"""Joins of windows of streams, and aggregates over them, as frozen values.

An expression over a joined row has each column quoted with the input's name before it (`"b.price"`: one identifier).
What reads a single input has a second, `own` form with the bare columns of that input (`"price"`), so that queries
that give a stream other names still share its state.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from thalweg.logical.query import Aggregate, Expr, Output
from thalweg.logical.windows import duration_text

RANGE, TUMBLE, UNBOUNDED, STATIC = "range", "tumble", "unbounded", "static"
DELETED = "deleted"


@dataclass(frozen=True, order=True)
class ColumnRef:
    """A column of the n-th input."""

    input: int
    name: str


@dataclass(frozen=True)
class JoinInput:
    """A stream with its window, or a static table, under the name that it has in the query.

    `kind` is RANGE or TUMBLE with a `length` in microseconds, UNBOUNDED, or STATIC for a table.
    `where` are the conditions that read this input alone, over its bare columns, in normal order.
    """

    alias: str
    source: str
    kind: str
    length: int | None = None
    where: tuple[Expr, ...] = ()

    @property
    def is_stream(self) -> bool:
        """Whether rows keep coming."""
        return self.kind != STATIC


@dataclass(frozen=True)
class Term:
    """A typed expression over the joined row; `own` is its form over the bare columns where it reads one input alone."""

    sql: str
    type: str
    columns: tuple[ColumnRef, ...]
    own: str | None = None

    @property
    def inputs(self) -> tuple[int, ...]:
        """The inputs that it reads."""
        return tuple(sorted({c.input for c in self.columns}))


@dataclass(frozen=True)
class Equality:
    """`left = right`: each side reads one input, both are of the same type."""

    left: Term
    right: Term


@dataclass(frozen=True)
class JoinAggregate:
    """An aggregate over the joined rows.

    Where it reads one `input` alone, `call` is over the bare columns of that input; else it is over the joined row and
    `columns` says what it reads (nothing, for COUNT(*)).
    """

    call: Aggregate
    input: int | None = None
    columns: tuple[ColumnRef, ...] = ()


@dataclass(frozen=True)
class JoinQuery:
    """A join of windows: its rows, or aggregates of them at every multiple of `every` microseconds.

    Without `every` the outputs are over the joined row and `columns` are what they read. With it they are over `"k0"`,
    ... (grouping keys), `"a0"`, ... (aggregates) and `"window_end"`, the instant.
    State: the rows, or the aggregation sets, of every stream's window.
    """

    name: str
    text: str
    inputs: tuple[JoinInput, ...]
    equalities: tuple[Equality, ...]
    residue: tuple[Term, ...]
    outputs: tuple[Output, ...]
    columns: tuple[ColumnRef, ...] = ()
    keys: tuple[Term, ...] = ()
    aggregates: tuple[JoinAggregate, ...] = ()
    having: str | None = None
    every: int | None = None
    changes: bool = False
    into: str | None = None

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams that it reads, each once."""
        return tuple(dict.fromkeys(i.source for i in self.inputs if i.is_stream))

    @property
    def relations(self) -> tuple[str, ...]:
        """The static tables that it reads, each once."""
        return tuple(dict.fromkeys(i.source for i in self.inputs if not i.is_stream))

    @property
    def slot(self) -> int:
        """The widest slot that every window and the distance of two instants are a whole number of."""
        return gcd(self.every or 0, *(i.length or 0 for i in self.inputs))


def window_text(given: JoinInput) -> str:
    """The window of an input as SQL has it.

    >>> window_text(JoinInput("b", "bid", RANGE, 3_600_000_000))
    '[RANGE 1 hour]'
    """
    length = f" {duration_text(given.length)}" if given.length is not None else ""
    return f"[{given.kind.upper()}{length}]" if given.is_stream else ""


def flat(alias: str, column: str) -> str:
    """The identifier of a column in a joined row.

    >>> print(flat("b", "price"))
    "b.price"
    """
    return '"' + f"{alias}.{column}".replace('"', '""') + '"'
