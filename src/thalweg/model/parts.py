"""What aggregates are made of: columns of partial aggregates, and how rows become one of them and several become one, as SQL that
the engine runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

INTEGERS = frozenset(
    {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"}
)
HALF = 10**19
"""A sum that no number may hold is kept as two: how often this is in each value, and what is left."""


@dataclass(frozen=True)
class Call:
    """The SQL of one call as a lift sees it: arguments, the event-time column, the FILTER condition."""

    args: tuple[str, ...]
    time: str
    where: str | None = None
    types: tuple[str, ...] = ()

    @property
    def complete(self) -> str:
        """That no argument is NULL."""
        return " AND ".join(f"{a} IS NOT NULL" for a in self.args)

    def of(self, function: str, inner: str, only: str | None = None) -> str:
        """An aggregate over the rows that satisfy the FILTER and `only`."""
        conditions = [f"({c})" for c in (self.where, only) if c]
        return f"{function}({inner})" + (f" FILTER (WHERE {' AND '.join(conditions)})" if conditions else "")

    def one(self, value: str, only: str | None = None, other: str | None = None) -> str:
        """A value of a single row that satisfies the FILTER and `only`; else `other`, or NULL."""
        conditions = [f"({c})" for c in (self.where, only) if c]
        otherwise = f" ELSE {other}" if other else ""
        return f"CASE WHEN {' AND '.join(conditions)} THEN {value}{otherwise} END" if conditions else value


class Combine(Protocol):
    """The SQL that makes one part of several."""

    def __call__(self, column: str, over: str = "") -> str: ...


@dataclass(frozen=True)
class Part:
    """One column of partial aggregate: how rows become it, and how several become one.

    `combine` takes a column, and a window over rows where there is one. `unit` is the part of a single row, `weigh` that of as many equal
    pieces as a weight says. `wide` is the type in which a unit must be weighed, where its own would be too small.
    `inverse` takes the SQL of a whole and of a piece of it and gives the rest, where that exists. `fold` is sum, min or max where numbers
    become one in that way.
    """

    kind: str
    lift: Callable[[Call], str]
    combine: Combine
    inverse: Callable[[str, str], str] | None = None
    unit: Callable[[Call], str] = lambda c: c.one(c.args[0])
    weigh: Callable[[str, str], str] = lambda part, weight: part
    wide: Callable[[Call], str | None] = lambda c: None
    fold: str | None = None


def _sum(column: str, over: str = "") -> str:
    return f"sum({column}){over}"


def _minus(whole: str, piece: str) -> str:
    return f"{whole} - {piece}"


def _times(part: str, weight: str) -> str:
    return f"{part} * {weight}"


def _wide(call: Call) -> str | None:
    """A product of a number and a count, without an overflow and without rounding."""
    kind = call.types[0] if call.types else ""
    if kind in ("BIGINT", "UBIGINT"):
        return "HUGEINT"
    return "DOUBLE" if kind == "FLOAT" else "BIGINT" if kind in INTEGERS and kind != "HUGEINT" else None


def present(arg: int) -> Callable[[Call], str | None]:
    """The condition that an argument is not NULL."""
    return lambda c: f"{c.args[arg]} IS NOT NULL"


def same(function: str, arg: int = 0) -> Part:
    """A part that is combined by the function that made it."""
    fold = function if function in ("min", "max") else None
    return Part(
        function,
        lambda c: c.of(function, c.args[arg]),
        lambda column, over="": f"{function}({column}){over}",
        fold=fold,
    )


def extreme(function: str, ordered: Callable[[Call], str], only: Callable[[Call], str | None]) -> Part:
    """The least or greatest (order, value) pair; ties are broken by the value, so that no batch split changes it."""
    return Part(
        function + "pair",
        lambda c: c.of(function, ordered(c), only(c)),
        lambda column, over="": f"{function}({column}){over}",
        unit=lambda c: c.one(ordered(c), only(c)),
    )


def _digits(value: str) -> str:
    return f"CAST(replace(CAST({value} AS VARCHAR), '.', '') AS HUGEINT)"


def _half(kind: str, operator: str) -> Part:
    return Part(
        kind,
        lambda c: c.of("sum", f"{_digits(c.args[0])} {operator} {HALF}"),
        _sum,
        _minus,
        unit=lambda c: c.one(f"({_digits(c.args[0])} {operator} {HALF})"),
        weigh=_times,
        fold="sum",
    )


HIGH, LOW = _half("sum_high", "//"), _half("sum_low", "%")


# Chan's parallel form: sums of squares would cancel where the mean is large beside the spread.
_MERGE_MOMENTS = (
    "lambda x, y: {'n': x.n + y.n, 'mean': x.mean + (y.mean - x.mean) * y.n / (x.n + y.n), "
    "'m2': x.m2 + y.m2 + (y.mean - x.mean) * (y.mean - x.mean) * x.n * y.n / (x.n + y.n)}"
)


def _noise(value: str) -> str:
    """What a value adds to the squared distance by itself: nothing, but NaN where it is infinite or NaN."""
    return f"0 * ({value})::DOUBLE"


def _weighed_moments(part: str, weight: str) -> str:
    """So many equal pieces."""
    return f"{{'n': {part}.n * {weight}, 'mean': {part}.mean, 'm2': {part}.m2 * {weight}}}"


SUM = Part("sum", lambda c: c.of("sum", c.args[0]), _sum, _minus, weigh=_times, wide=_wide, fold="sum")
COUNT = Part(
    "count",
    lambda c: c.of("count", c.args[0]),
    _sum,
    _minus,
    unit=lambda c: c.one("1::BIGINT", f"{c.args[0]} IS NOT NULL", "0::BIGINT"),
    weigh=_times,
    fold="sum",
)
ROWS = Part(
    "rows",
    lambda c: c.of("count", "*"),
    _sum,
    _minus,
    unit=lambda c: c.one("1::BIGINT", other="0::BIGINT"),
    weigh=_times,
    fold="sum",
)
MOMENTS = Part(
    "moments",
    lambda c: (
        f"{{'n': {c.of('count', c.args[0])}::DOUBLE, 'mean': {c.of('avg', f'({c.args[0]})::DOUBLE')}, "
        f"'m2': {c.of('var_pop', f'({c.args[0]})::DOUBLE')} * {c.of('count', c.args[0])} + {c.of('max', _noise(c.args[0]))}}}"
    ),
    lambda column, over="": (
        f"list_reduce(list({column}) FILTER (WHERE {column}.n > 0){over}, {_MERGE_MOMENTS})"
    ),
    unit=lambda c: c.one(
        f"{{'n': 1::DOUBLE, 'mean': ({c.args[0]})::DOUBLE, 'm2': {_noise(c.args[0])}}}",
        f"{c.args[0]} IS NOT NULL",
    ),
    weigh=lambda part, weight: f"CASE WHEN {part} IS NOT NULL THEN {_weighed_moments(part, weight)} END",
)
VALUES = Part(
    "values",
    lambda c: c.of("list", f"({c.args[0]})::DOUBLE", f"{c.args[0]} IS NOT NULL"),
    lambda column, over="": f"flatten(list({column}) FILTER (WHERE {column} IS NOT NULL){over})",
    unit=lambda c: c.one(f"[({c.args[0]})::DOUBLE]", f"{c.args[0]} IS NOT NULL"),
    weigh=lambda part, weight: f"flatten(list_transform(range(({weight})::BIGINT), lambda i: {part}))",
)
SET = Part(
    "set",
    lambda c: c.of("list", f"DISTINCT {c.args[0]}", f"{c.args[0]} IS NOT NULL"),
    lambda column, over="": (
        f"list_distinct(flatten(list({column}) FILTER (WHERE {column} IS NOT NULL){over}))"
    ),
    unit=lambda c: c.one(f"[{c.args[0]}]", f"{c.args[0]} IS NOT NULL"),
)


def pair(order: int | None, value: int) -> Callable[[Call], str]:
    """A value with what it is ordered by: an argument, or the event time."""
    return lambda c: f"{{'o': {c.time if order is None else c.args[order]}, 'v': {c.args[value]}}}"
