"""A query as a frozen value: what it reads, joins, groups by, computes and emits.

An expression over the rows of several inputs has each column quoted with the input's name before it (`"b.price"`: one identifier).
What reads a single input has a second, `own` form with the bare columns of that input (`"price"`), so that queries
that give a stream other names still share its state.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from math import gcd

from thalweg.expr.nodes import Expr
from thalweg.expr.python import functions_in
from thalweg.expr.quoting import identifier
from thalweg.model.running import Running
from thalweg.model.target import Target
from thalweg.model.windows import NamedWindow, duration_text
from thalweg.once import cached_property

RANGE, TUMBLE, UNBOUNDED, STATIC, WINDOWED, PASSING, ORDERED, UNITED = (
    "range",
    "tumble",
    "unbounded",
    "static",
    "windowed",
    "passing",
    "ordered",
    "united",
)
LEFT, FULL, SEMI, ANTI = "left", "full", "semi", "anti"
DELETED = "deleted"
TAKEN_BACK = "taken_back"
"""The column that says of a change that it is of a row that holds no more, of changes that another query reads."""
AS_OF = "as_of"
"""The instant as of which a result of a window holds that is told before its end."""
ALL = 0
"""A history that reaches back as far as it can."""
WINDOW_COLUMNS = {"window_id": "VARCHAR", "window_start": "TIMESTAMP", "window_end": "TIMESTAMP"}


@dataclass(frozen=True)
class Aggregate:
    """A call of an aggregate function: `SUM(price) FILTER (WHERE channel = 'web')`.

    `params` are constants of the function itself, such as the fraction of PERCENTILE.
    """

    function: str
    args: tuple[Expr, ...] = ()
    where: Expr | None = None
    params: tuple[str, ...] = ()

    @property
    def exprs(self) -> tuple[Expr, ...]:
        """What it reads of a row: its arguments and its condition."""
        return (*self.args, *(() if self.where is None else (self.where,)))


@dataclass(frozen=True)
class Output:
    """A column of the result, over `"k0"`, `"k1"`, ... (grouping keys), `"a0"`, ... (aggregates) and the window columns."""

    name: str
    expr: Expr

    @property
    def sql(self) -> str:
        """What the engine runs."""
        return self.expr.sql

    @property
    def type(self) -> str:
        """The type of the column."""
        return self.expr.type


@dataclass(frozen=True, order=True)
class ColumnRef:
    """A column of the n-th input, of the type that it has there."""

    input: int
    name: str
    type: str = field(default="", compare=False)


@dataclass(frozen=True)
class Chosen:
    """The rows of an input that one query of a pool takes: those that satisfy its conditions from an event time on. `bit` is what it is
    told by in the query-sets of rows, `length` its own window where it is shorter than the pool's, `every` the distance of its instants where
    the pool's are closer."""

    bit: int
    where: tuple[Expr, ...] = ()
    begin: int | None = None
    length: int | None = None
    every: int | None = None


@dataclass(frozen=True)
class QueryInput:
    """A stream with its window, or a static table, under the name that it has in the query.

    `kind` is RANGE or TUMBLE with a `length` in microseconds, UNBOUNDED, STATIC for a table, WINDOWED where the windows of the
    results are the only ones, PASSING for the only stream of a query whose rows are results as they come: none of them is kept; ORDERED for
    that whose rows are results in the order of event time; or UNITED for what a part of a UNION ALL reads, whose rows
    become those of the union as `shown` says, over bare columns.
    `where` are the conditions that read this input alone, over its bare columns, in normal order.
    Where many queries are computed as one, `sets` says which rows each of them takes, and `pool` who they are.
    """

    alias: str
    source: str
    kind: str
    length: int | None = None
    where: tuple[Expr, ...] = ()
    sets: tuple[Chosen, ...] = ()
    pool: str = ""
    shown: tuple[Output, ...] = ()

    @property
    def is_stream(self) -> bool:
        """Whether rows keep coming."""
        return self.kind != STATIC


@dataclass(frozen=True)
class Term:
    """An expression over the row, or the joined row; `bare` is its form over the bare columns where it reads one input alone."""

    expr: Expr
    columns: tuple[ColumnRef, ...]
    bare: Expr | None = None

    @property
    def sql(self) -> str:
        """What the engine runs."""
        return self.expr.sql

    @property
    def type(self) -> str:
        """The type of its values."""
        return self.expr.type

    @property
    def own(self) -> str | None:
        """What the engine runs over the rows of the one input."""
        return None if self.bare is None else self.bare.sql

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
class Attached:
    """An input that need not have a partner for rows of the others. LEFT: rows without one come out with NULLs in its place (FULL: its own
    do, too); SEMI: rows come out that have one, once; ANTI: those that have none.

    `on` are the conditions on partners beside equalities and those that read it alone. An equality is its own where it reads it, and no
    input that is attached later.
    """

    input: int
    kind: str
    on: tuple[Term, ...] = ()


@dataclass(frozen=True)
class QueryAggregate:
    """An aggregate over the rows, or over joined rows.

    Where it reads one `input` alone, `call` is over the bare columns of that input; else it is over the joined row and
    `columns` says what it reads (nothing, for COUNT(*)).
    """

    call: Aggregate
    input: int | None = None
    columns: tuple[ColumnRef, ...] = ()


@dataclass(frozen=True)
class Query:
    """What is asked: inputs with their windows, what makes their rows partners, grouping, aggregates, and when results are emitted.

    With `windows` (of one input) a result is emitted per group and instance that has closed, with `every` per group at each multiple
    of so many microseconds (with `changes` only where it changed), and with neither of them the rows, or those of the join, are the result.
    Outputs are over `"k0"`, ... (grouping keys), `"a0"`, ... (aggregates) and the columns of the window; without aggregates they are over
    the joined row, and `columns` are what they read.
    With a `history` a query created in mid-stream begins so many microseconds of event time before the last row seen (`ALL`: as early as
    the files that were read allow).
    Where it is `unnested`, the only aggregate gives the first rows of each group as a list, and each of them is a result: `having` and outputs
    are over the columns `"r0"`, ... that rows are listed with, and their `"rank"`.
    A group into which no row comes for a `ttl` of event time, counted in instants, is forgotten.
    With windows that are `told`, groups are also of their instances, whose results are told while they are open; outputs are then over the
    columns of the window and `"as_of"`, the instant.
    Where it is `running`, results are rows in the order of event time, of each key by itself; outputs and `kept` may read what its calls
    give for a row, `"o0"`, `"o1"`, ...
    `nested` are the queries whose results it reads as streams, by their names; `reads` those of them that it was given by a user's name.
    Where it stands for many with windows of other lengths, `grain` is what all of these are a whole number of.
    Some inputs may be `attached` to those that are joined; `kept` are then the conditions on what that makes, NULLs in it included.
    `number` tells those of one name apart: it says which creation in its session it is. `line` is the number of the first of those that
    took each other's place up to it.
    State: what aggregates keep per group and open slot of the widest window; the rows, or the aggregation sets, of every joined window.
    """

    name: str
    text: str
    inputs: tuple[QueryInput, ...]
    outputs: tuple[Output, ...]
    equalities: tuple[Equality, ...] = ()
    residue: tuple[Term, ...] = ()
    columns: tuple[ColumnRef, ...] = ()
    keys: tuple[Term, ...] = ()
    aggregates: tuple[QueryAggregate, ...] = ()
    having: Expr | None = None
    windows: tuple[NamedWindow, ...] = ()
    every: int | None = None
    changes: bool = False
    into: Target | None = None
    history: int | None = None
    nested: tuple[Query, ...] = ()
    reads: tuple[str, ...] = ()
    unnested: bool = False
    grain: int | None = None
    attached: tuple[Attached, ...] = ()
    kept: tuple[Term, ...] = ()
    ttl: int | None = None
    told: tuple[NamedWindow, ...] = ()
    running: Running | None = None
    number: int = 0
    line: int = 0

    @cached_property
    def meaning(self) -> Query:
        """What is asked, whoever asks it, wherever the results go and wherever it begins."""
        return replace(self, name="", text="", into=None, history=None, reads=(), number=0, line=0)

    def is_one_with(self, other: Query) -> bool:
        """Whether this is another one of its name, going on as it was."""
        return self.number == other.number and self.meaning == other.meaning

    @property
    def stream(self) -> str:
        """The source of the first input: the only one, where results are of windows."""
        return self.inputs[0].source

    @property
    def where(self) -> tuple[Expr, ...]:
        """The conditions on the rows of the first input."""
        return self.inputs[0].where

    @property
    def calls(self) -> tuple[Aggregate, ...]:
        """The aggregates without where they come from."""
        return tuple(a.call for a in self.aggregates)

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams that it reads, each once; results of what is nested in it are streams too."""
        return tuple(dict.fromkeys(i.source for i in self.inputs if i.is_stream))

    @property
    def relations(self) -> tuple[str, ...]:
        """The static tables that it reads, each once."""
        return tuple(dict.fromkeys(i.source for i in self.inputs if not i.is_stream))

    @cached_property
    def functions(self) -> frozenset[tuple[str, str]]:
        """The Python functions that it calls, at whatever depth, by name and digest."""
        return functions_in(tuple(getattr(self, f.name) for f in fields(self)))

    @property
    def sources(self) -> tuple[str, ...]:
        """The declared streams that it reads, at whatever depth, each once."""
        inner = {q.name for q in self.nested}
        own = (s for s in self.streams if s not in inner)
        return tuple(dict.fromkeys((*own, *(s for q in self.nested for s in q.sources))))

    @property
    def tables(self) -> tuple[str, ...]:
        """The declared tables that it reads, at whatever depth, each once."""
        return tuple(dict.fromkeys((*self.relations, *(t for q in self.nested for t in q.tables))))

    @property
    def partnering(self) -> tuple[Term, ...]:
        """The conditions on partners that are no equalities."""
        return (*self.residue, *(t for a in self.attached for t in a.on))

    @property
    def passes(self) -> bool:
        """Whether the rows of one stream are the results as they come, alone or with what tables have of them."""
        return any(i.kind == PASSING for i in self.inputs)

    @property
    def of_single_rows(self) -> bool:
        """Whether each result is a row of the only input."""
        return len(self.inputs) == 1 and (self.passes or self.running is not None)

    @property
    def accumulates(self) -> bool:
        """Whether groups are told where they change, and never lose a row: so they change only at instants at which rows come."""
        endless = all(i.kind in (UNBOUNDED, STATIC) for i in self.inputs)
        timed = not self.told and self.having is not None and "window_end" in self.having.columns
        return self.changes and endless and not (timed or self.attached)

    @property
    def stands_apart(self) -> bool:
        """Whether it is never computed as one with queries that differ: whose rows may have no partner is not the same for all of them, nor
        which rows come before one."""
        return bool(self.attached) or self.running is not None

    @property
    def unites(self) -> bool:
        """Whether it is a UNION ALL: a stream that is made of the rows of others where these arrive, and nothing is kept or given out."""
        return any(i.kind == UNITED for i in self.inputs)

    @property
    def retracts(self) -> bool:
        """Whether a result may say that an earlier one holds no more."""
        return any(DELETED in o.expr.columns for o in self.outputs)

    @property
    def takes_back(self) -> bool:
        """Whether a row that holds no more is told as it was, for another query to take it back from its own results."""
        return any(o.name == TAKEN_BACK for o in self.outputs) and self.changes

    @property
    def of_changes(self) -> bool:
        """Whether it reads, or is read as, rows that may be taken back: what it keeps of them is never forgotten."""
        return self.takes_back or any(q.takes_back for q in self.nested)

    @property
    def forgets(self) -> int | None:
        """How long after its last row a group is remembered: one of a window's instance, as long as there may be rows of it."""
        return max((w.window.range for w in self.told), default=self.ttl)

    @property
    def instant(self) -> str:
        """The column of the instant that a result is of."""
        return AS_OF if self.told else "window_end"

    @property
    def slot(self) -> int:
        """The widest slot that every window and the distance of two instants are a whole number of."""
        told = (n for w in self.told for n in (w.window.grain, w.window.offset))
        return gcd(self.every or 0, self.grain or 0, *told, *(i.length or 0 for i in self.inputs))


def window_text(given: QueryInput) -> str:
    """The window of an input as SQL has it.

    >>> window_text(QueryInput("b", "bid", RANGE, 3_600_000_000))
    '[RANGE 1 hour]'
    """
    length = f" {duration_text(given.length)}" if given.length is not None else ""
    return f"[{given.kind.upper()}{length}]" if given.kind not in (STATIC, PASSING, ORDERED, UNITED) else ""


def joined_name(alias: str, column: str) -> str:
    """The name of a column in a joined row.

    >>> joined_name("b", "price")
    'b.price'
    """
    return f"{alias}.{column}"


def flat(alias: str, column: str) -> str:
    """The identifier of a column in a joined row.

    >>> print(flat("b", "price"))
    "b.price"
    """
    return identifier(joined_name(alias, column))
