"""Approximate aggregates as parts of bounded size that are a function of the rows alone: no split into batches changes them.

*Distinct values*: of the hashes of values the least k are kept. Fewer than k are all that there are; else the k-th of them says how densely
they lie. *Percentiles*: how many rows have each value, while these are few; then how many have a value of each bucket, buckets being as
wide as a part of the value itself.
"""

from __future__ import annotations

from functools import cache
from math import ceil, log2

from thalweg.model.parts import Call, Part

_HASHES = 2**64


def hashes_for(deviation: float) -> int:
    """How many hashes give a relative standard deviation.

    >>> hashes_for(0.05), hashes_for(0.01)
    (402, 10002)
    """
    return ceil(1 / deviation**2) + 2


@cache
def least(params: tuple[str, ...]) -> tuple[Part, ...]:
    """The least hashes of the values of an argument, in order; so many of them."""
    (size,) = params
    part = Part(
        "least_hashes",
        lambda c: c.of("min", f"DISTINCT {_hash(c)}, {size}", c.complete),
        lambda column, over="": (
            f"list_sort(list_distinct(flatten(list({column}) FILTER (WHERE {column} IS NOT NULL){over})))[1:{size}]"
        ),
        unit=lambda c: c.one(f"[{_hash(c)}]", c.complete),
    )
    return (part,)


def _hash(call: Call) -> str:
    return f"hash({call.args[0]})"


def distinct_estimate(parts: tuple[str, ...], types: tuple[str, ...], params: tuple[str, ...]) -> str:
    """How many different values there are, of their least hashes."""
    (hashes,), (size, *_) = parts, params
    estimate = f"round({int(size) - 1} * ({_HASHES}::DOUBLE / {hashes}[{size}]))"
    return f"(CASE WHEN len({hashes}) = {size} THEN {estimate} ELSE coalesce(len({hashes}), 0) END)::BIGINT"


def buckets_for(values: int) -> int:
    """How many buckets there are from a value to its double, where so many different values are kept apart: a power of two.

    >>> buckets_for(10_000), buckets_for(1_000)
    (1024, 64)
    """
    return int(2 ** max(0, ceil(log2(values / 16))))


@cache
def counts(params: tuple[str, ...]) -> tuple[Part, ...]:
    """How many rows have each value, or a value of each bucket: `c` says that `v` is the middle of a bucket, and then all are."""
    (values,) = params
    part = Part(
        "counts",
        lambda c: _merged(_fitting(_histogram(c), int(values))),
        lambda column, over="": _combined(column, over, int(values)),
        unit=lambda c: c.one(f"[{{'c': FALSE, 'v': {_number(c)}, 'n': 1::BIGINT}}]", c.complete),
        weigh=lambda part, weight: (
            f"list_transform({part}, lambda __z: {{'c': __z.c, 'v': __z.v, 'n': (__z.n * {weight})::BIGINT}})"
        ),
    )
    return (part,)


def _combined(column: str, over: str, values: int) -> str:
    """Counts of several pieces; in a window over rows, where no statement can stand, equal values are left apart."""
    all_counts = f"flatten(list({column}) FILTER (WHERE {column} IS NOT NULL){over})"
    return _fitting(all_counts, values) if over else _merged(_fitting(all_counts, values))


def _number(call: Call) -> str:
    """A value as a DOUBLE; -0 is 0."""
    return f"(({call.args[0]})::DOUBLE + 0)"


def _histogram(call: Call) -> str:
    counts = f"map_entries({call.of('histogram', _number(call), call.complete)})"
    return f"list_transform({counts}, lambda __z: {{'c': FALSE, 'v': __z.key, 'n': __z.value::BIGINT}})"


def _fitting(counts: str, values: int) -> str:
    """Values as they are while there are few of them, else each as the middle of its bucket."""
    coarse = "coalesce(list_aggregate(list_transform(__r.e, lambda __z: __z.c), 'bool_or'), FALSE)"
    many = f"list_unique(list_transform(__r.e, lambda __z: __z.v)) > {values}"
    middle = f"CASE WHEN __z.c THEN __z.v ELSE {bucketed('__z.v', values)} END"
    buckets = f"list_transform(__r.e, lambda __z: {{'c': TRUE, 'v': {middle}, 'n': __z.n}})"
    return f"list_transform([{{'e': {counts}}}], lambda __r: CASE WHEN {coarse} OR {many} THEN {buckets} ELSE __r.e END)[1]"


def bucketed(value: str, values: int) -> str:
    """The middle of the bucket that a DOUBLE falls into: 0, infinities and what is no number have one each."""
    count = buckets_for(values)
    middle = f"sign({value}) * pow(2, (floor(log2(abs({value})) * {count}) + 0.5) / {count})"
    return f"CASE WHEN {value} = 0 OR NOT isfinite({value}) THEN {value} ELSE {middle} END"


def _merged(counts: str) -> str:
    """Counts of equal values, or buckets, as one."""
    each = f"SELECT e.c AS c, e.v AS v, sum(e.n)::BIGINT AS n FROM unnest({counts}) AS u(e) GROUP BY e.c, e.v"
    return f"(SELECT list({{'c': c, 'v': v, 'n': n}}) FROM ({each}))"


def quantile(parts: tuple[str, ...], types: tuple[str, ...], params: tuple[str, ...]) -> str:
    """The least value that the fraction of the rows does not exceed, as the argument's type has it."""
    total = f"list_sum(list_transform({parts[0]}, lambda __z: __z.n))"
    rank = f"greatest(1, ceil({params[1]} * {total}))"
    step = (
        "{'c': __a.c, 'v': CASE WHEN __a.n >= __r.rank THEN __a.v ELSE __z.v END, "
        "'n': CASE WHEN __a.n >= __r.rank THEN __a.n ELSE __a.n + __z.n END}"
    )
    reached = f"list_reduce(__r.e, lambda __a, __z: {step}).v"
    value = f"list_transform([{{'e': list_sort({parts[0]}), 'rank': {rank}}}], lambda __r: CASE WHEN len(__r.e) > 0 THEN {reached} END)[1]"
    return f"TRY_CAST({value} AS {types[0]})"
