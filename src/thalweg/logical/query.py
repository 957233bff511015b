"""A query as a frozen value: what it reads, keeps, groups by, computes and emits."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.logical.windows import NamedWindow

WINDOW_COLUMNS = {"window_id": "VARCHAR", "window_start": "TIMESTAMP", "window_end": "TIMESTAMP"}


@dataclass(frozen=True)
class Expr:
    """A typed scalar expression in DuckDB's SQL, normalized so that equal meaning is equal text.

    Columns stand quoted and unqualified (`"price"`).
    """

    sql: str
    type: str


@dataclass(frozen=True)
class Aggregate:
    """A call of an aggregate function: `SUM(price) FILTER (WHERE channel = 'web')`.

    `params` are constants of the function itself, such as the fraction of PERCENTILE.
    """

    function: str
    args: tuple[Expr, ...] = ()
    where: Expr | None = None
    params: tuple[str, ...] = ()


@dataclass(frozen=True)
class Output:
    """A column of the result, over `"k0"`, `"k1"`, ... (grouping keys), `"a0"`, ... (aggregates) and the window columns."""

    name: str
    sql: str
    type: str


@dataclass(frozen=True)
class Query:
    """Aggregates over the windows of one stream.

    `where` is the set of conjuncts that a row must satisfy, in normal order.
    State: what the aggregates keep per group and open slot of the widest window.
    """

    name: str
    text: str
    stream: str
    where: tuple[Expr, ...]
    keys: tuple[Expr, ...]
    windows: tuple[NamedWindow, ...]
    aggregates: tuple[Aggregate, ...]
    outputs: tuple[Output, ...]
    having: str | None = None
    into: str | None = None

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams that it reads."""
        return (self.stream,)
