"""Aggregate functions declare what they can do; no rule guesses from a name.

A function is *lifted* from rows into parts (partial aggregates), parts of pieces of a window are *combined*, and the
parts of the whole window are *lowered* to the result. All three are SQL that the engine runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from thalweg.expr.nodes import Expr
from thalweg.model import first_rows
from thalweg.model.collected import BAG, BITS, TIMED, most_frequent, sorted_by_time
from thalweg.model.pairs import PAIRS, correlation, covariance
from thalweg.model.parts import (
    COUNT,
    HALF,
    HIGH,
    INTEGERS,
    LOW,
    MOMENTS,
    ROWS,
    SET,
    SUM,
    VALUES,
    Call,
    Part,
    extreme,
    pair,
    present,
    same,
)
from thalweg.model.query import Aggregate
from thalweg.model.sketches import counts, distinct_estimate, least, quantile
from thalweg.once import cached_property

TIME = '"__time"'
"""The event time of a row in microseconds."""


@dataclass(frozen=True)
class AggregateFunction:
    """What an aggregate is and can do.

    overlap_safe: combining overlapping pieces gives the same result (MIN, MAX, sets).
    holistic: parts have no bounded size, they hold the rows' values.
    numeric: arguments must be numbers.
    made: parts that depend on the constants of a call, in place of `parts`; on the first `shaping` of them, where not on all.
    wide: the name of the same function of numbers whose sum no number may hold.
    total: the name of the sum of its values, where it is that or that divided by how many they are.
    """

    name: str
    arity: int
    parts: tuple[Part, ...]
    lower: Callable[[tuple[str, ...], tuple[str, ...], tuple[str, ...]], str]
    overlap_safe: bool = False
    holistic: bool = False
    numeric: bool = False
    params: int = 0
    wide: str | None = None
    total: str | None = None
    made: Callable[[tuple[str, ...]], tuple[Part, ...]] | None = None
    shaping: int | None = None

    @property
    def invertible(self) -> bool:
        """Whether a piece can be taken back out of a whole."""
        return self.made is None and all(p.inverse is not None for p in self.parts)

    @property
    def counts(self) -> bool:
        """Whether it is how many rows there are, all or those with a value."""
        return self.parts in ((ROWS,), (COUNT,))

    @property
    def is_mean(self) -> bool:
        """Whether it is a sum divided by how many its values are."""
        return self.total not in (None, self.name)


def _lower_count(parts: tuple[str, ...], types: tuple[str, ...], params: tuple[str, ...]) -> str:
    return f"TRY_CAST(coalesce({parts[0]}, 0) AS BIGINT)"


def _lower_sum(parts: tuple[str, ...], types: tuple[str, ...], params: tuple[str, ...]) -> str:
    return f"TRY_CAST({parts[0]} AS BIGINT)" if types[0] in INTEGERS else parts[0]


# A DECIMAL of more digits than this is summed in two halves of its digits: a sum of a few of them may have more than 38.
NARROW_DIGITS = 28


def is_wide(type_: str) -> bool:
    """Whether a sum of a few values of a type may be too large for any number."""
    return type_.startswith("DECIMAL(") and int(type_[8:].split(",")[0]) > NARROW_DIGITS


def _lower_wide(parts: tuple[str, ...], types: tuple[str, ...], params: tuple[str, ...]) -> str:
    """The two halves as one number; NULL where it has more than 38 digits."""
    scale = int(types[0].rstrip(")").split(",")[1])
    digits = f"TRY_CAST(TRY({parts[0]}::HUGEINT * {HALF} + {parts[1]}::HUGEINT) AS DECIMAL(38,0))"
    return (
        f"{digits} * CAST('{10**-scale:.{scale}f}' AS DECIMAL({max(scale, 1)},{scale}))" if scale else digits
    )


def _spread(divisor: str, root: bool) -> Callable[[tuple[str, ...], tuple[str, ...], tuple[str, ...]], str]:
    def lower(parts: tuple[str, ...], types: tuple[str, ...], params: tuple[str, ...]) -> str:
        p = parts[0]
        value = (
            f"CASE WHEN {p}.n > {1 if '-' in divisor else 0} THEN greatest({p}.m2, 0) / ({p}.{divisor}) END"
        )
        return f"sqrt({value})" if root else value

    return lower


def _quantile(values: str, fraction: str) -> str:
    return f"list_aggregate({values}, 'quantile_cont', {fraction})::DOUBLE"


def listed(aggregate: Aggregate) -> tuple[Expr, ...]:
    """What a call of FIRST_ROWS lists rows with."""
    return aggregate.args[len(first_rows.asked_by(aggregate.params).orders) :]


@cache
def _first_rows(params: tuple[str, ...]) -> tuple[Part, ...]:
    asked = first_rows.asked_by(params)
    return (
        Part(
            "first_rows",
            lambda c: asked.lift(c.args, c.of),
            asked.combine,
            unit=lambda c: c.one(f"[{asked.row(c.args)}]"),
            weigh=asked.repeated,
        ),
    )


def _define(*functions: AggregateFunction) -> dict[str, AggregateFunction]:
    return {f.name: f for f in functions}


ALL_ROWS = Aggregate("COUNT_ROWS")
"""COUNT(*)."""
AGGREGATES: dict[str, AggregateFunction] = _define(
    AggregateFunction("COUNT_ROWS", 0, (ROWS,), _lower_count),
    AggregateFunction("COUNT", 1, (COUNT,), _lower_count),
    AggregateFunction("SUM", 1, (SUM,), _lower_sum, numeric=True, wide="SUM_WIDE", total="SUM"),
    AggregateFunction(
        "AVG",
        1,
        (SUM, COUNT),
        lambda p, t, a: f"{p[0]}::DOUBLE / nullif({p[1]}, 0)",
        numeric=True,
        wide="AVG_WIDE",
        total="SUM",
    ),
    AggregateFunction("SUM_WIDE", 1, (HIGH, LOW), _lower_wide, numeric=True, total="SUM_WIDE"),
    AggregateFunction(
        "AVG_WIDE",
        1,
        (HIGH, LOW, COUNT),
        lambda p, t, a: f"({_lower_wide(p, t, a)})::DOUBLE / nullif({p[2]}, 0)",
        numeric=True,
        total="SUM_WIDE",
    ),
    AggregateFunction("MIN", 1, (same("min"),), lambda p, t, a: p[0], overlap_safe=True),
    AggregateFunction("MAX", 1, (same("max"),), lambda p, t, a: p[0], overlap_safe=True),
    AggregateFunction("BOOL_AND", 1, (same("bool_and"),), lambda p, t, a: p[0], overlap_safe=True),
    AggregateFunction("BOOL_OR", 1, (same("bool_or"),), lambda p, t, a: p[0], overlap_safe=True),
    AggregateFunction("VAR_POP", 1, (MOMENTS,), _spread("n", False), numeric=True),
    AggregateFunction("VAR_SAMP", 1, (MOMENTS,), _spread("n - 1", False), numeric=True),
    AggregateFunction("STDDEV_POP", 1, (MOMENTS,), _spread("n", True), numeric=True),
    AggregateFunction("STDDEV_SAMP", 1, (MOMENTS,), _spread("n - 1", True), numeric=True),
    AggregateFunction(
        "MIN_BY",
        2,
        (extreme("min", pair(1, 0), present(1)),),
        lambda p, t, a: f"{p[0]}.v",
        overlap_safe=True,
    ),
    AggregateFunction(
        "MAX_BY",
        2,
        (extreme("max", pair(1, 0), present(1)),),
        lambda p, t, a: f"{p[0]}.v",
        overlap_safe=True,
    ),
    AggregateFunction(
        "FIRST",
        1,
        (extreme("min", pair(None, 0), lambda c: None),),
        lambda p, t, a: f"{p[0]}.v",
        overlap_safe=True,
    ),
    AggregateFunction(
        "LAST",
        1,
        (extreme("max", pair(None, 0), lambda c: None),),
        lambda p, t, a: f"{p[0]}.v",
        overlap_safe=True,
    ),
    AggregateFunction(
        "COUNT_DISTINCT",
        1,
        (SET,),
        lambda p, t, a: f"coalesce(len({p[0]}), 0)::BIGINT",
        overlap_safe=True,
        holistic=True,
    ),
    AggregateFunction(
        "MEDIAN", 1, (VALUES,), lambda p, t, a: _quantile(p[0], "0.5"), holistic=True, numeric=True
    ),
    AggregateFunction(
        "PERCENTILE",
        1,
        (VALUES,),
        lambda p, t, a: _quantile(p[0], a[0]),
        holistic=True,
        numeric=True,
        params=1,
    ),
    AggregateFunction(
        "APPROX_COUNT_DISTINCT",
        1,
        (),
        distinct_estimate,
        overlap_safe=True,
        params=1,
        made=least,
        shaping=1,
    ),
    AggregateFunction("APPROX_PERCENTILE", 1, (), quantile, numeric=True, params=2, made=counts, shaping=1),
    AggregateFunction("COLLECT_LIST", 1, (TIMED,), sorted_by_time, holistic=True),
    AggregateFunction(
        "COLLECT_SET",
        1,
        (SET,),
        lambda p, t, a: f"coalesce(list_sort({p[0]}), [])",
        overlap_safe=True,
        holistic=True,
    ),
    AggregateFunction("MODE", 1, (BAG,), most_frequent, holistic=True),
    AggregateFunction("BIT_AND", 1, (same("bit_and"),), lambda p, t, a: p[0], overlap_safe=True),
    AggregateFunction("BIT_OR", 1, (same("bit_or"),), lambda p, t, a: p[0], overlap_safe=True),
    AggregateFunction("BIT_XOR", 1, (BITS,), lambda p, t, a: p[0]),
    AggregateFunction("COVAR_POP", 2, (PAIRS,), covariance("n"), numeric=True),
    AggregateFunction("COVAR_SAMP", 2, (PAIRS,), covariance("n - 1"), numeric=True),
    AggregateFunction("CORR", 2, (PAIRS,), correlation, numeric=True),
    AggregateFunction(
        "FIRST_ROWS", 0, (), lambda p, t, a: first_rows.asked_by(a).lower(p[0], len(t)), made=_first_rows
    ),
)


_OWNERS: dict[Part, tuple[str, int]] = {}
for _function in AGGREGATES.values():
    for _place, _part in enumerate(_function.parts):
        _OWNERS.setdefault(_part, (_function.name, _place))


@dataclass(frozen=True)
class PartColumn:
    """A part of an aggregate as a column of a fragment: equal parts are one, whatever they were asked for by, and have one name."""

    call: Aggregate
    place: int = 0

    @property
    def part(self) -> Part:
        """How rows become it, and how several become one."""
        return _parts(self.call)[self.place]

    @cached_property
    def name(self) -> str:
        """Its name, which is its meaning."""
        return f"{self.part.kind}_{hashlib.sha256(self.lift.encode()).hexdigest()[:32]}"

    @cached_property
    def lift(self) -> str:
        """The SQL that makes it of rows."""
        return self.part.lift(self._written)

    @cached_property
    def unit(self) -> str:
        """The SQL that makes it of a single row."""
        return self.part.unit(self._written)

    @property
    def combine(self) -> str:
        """The SQL that makes one of several."""
        return self.part.combine(f'"{self.name}"')

    @property
    def wide(self) -> str | None:
        """The type in which a unit must be weighed."""
        return self.part.wide(self._written)

    @cached_property
    def _written(self) -> Call:
        return _written(self.call, TIME, lambda e: e.sql)


@dataclass(frozen=True)
class PartWords:
    """A part for people: as it is made of rows, and of a single one."""

    lift: str
    unit: str


def part_columns(aggregate: Aggregate) -> tuple[PartColumn, ...]:
    """The partial-aggregate columns that a call needs, each of the first function that has it."""
    made, shaping = AGGREGATES[aggregate.function].made, AGGREGATES[aggregate.function].shaping
    if made is not None:
        shaped = replace(aggregate, params=aggregate.params[:shaping])
        return tuple(PartColumn(shaped, place) for place in range(len(_parts(shaped))))
    return tuple(
        PartColumn(Aggregate(function, aggregate.args, aggregate.where), place)
        for function, place in map(_OWNERS.__getitem__, AGGREGATES[aggregate.function].parts)
    )


def _parts(aggregate: Aggregate) -> tuple[Part, ...]:
    function = AGGREGATES[aggregate.function]
    return function.parts if function.made is None else function.made(aggregate.params)


def part_words(column: PartColumn, words: Callable[[Expr], str]) -> PartWords:
    """A part in words: `words` writes what it reads of a row."""
    call = _written(column.call, "event time", words)
    return PartWords(column.part.lift(call), column.part.unit(call))


def _written(aggregate: Aggregate, time: str, write: Callable[[Expr], str]) -> Call:
    where = None if aggregate.where is None else write(aggregate.where)
    return Call(tuple(map(write, aggregate.args)), time, where, _types(aggregate))


def _types(aggregate: Aggregate) -> tuple[str, ...]:
    return tuple(a.type for a in aggregate.args)


def lowered(aggregate: Aggregate) -> str:
    """The SQL that turns the combined parts of a whole window into the result of the call."""
    function = AGGREGATES[aggregate.function]
    names = tuple(f'"{c.name}"' for c in part_columns(aggregate))
    return function.lower(names, _types(aggregate), aggregate.params)
