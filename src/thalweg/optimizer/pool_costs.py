"""What is known of the inputs of a join, alone or in a pool, and what a pool costs beside its join."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import gcd, log2, prod

from thalweg.compile.evaluations import EVALUATIONS
from thalweg.compile.sets import indexes
from thalweg.model.query import RANGE, TUMBLE, UNBOUNDED, Chosen, Query, QueryInput
from thalweg.optimizer.cost.sharing import LOOK_UP, MATERIALIZE, RESULT, SCAN, union
from thalweg.optimizer.joined import times_expected
from thalweg.plan.groups import group_of
from thalweg.plan.pool import often
from thalweg.plan.sides import sides_of
from thalweg.statistics.constants import join_constants
from thalweg.statistics.known import InputFigures, Known
from thalweg.statistics.records import Heavy, InputStatistics, JoinStatistics, Values

SECOND = 1e6
STATEMENTS = 4
"""Statements that the windows of a query take in a batch."""
LIFT = 20.0
"""Nanoseconds to add a row to its group."""
DEEPER = 12.0
"""Nanoseconds for one more halving of the constants that an expression is compared with."""
FEWER = 4
"""How many times less it takes to give out results of many queries in one file."""
SIDE = 2
"""Statements that it takes as long as to lift, bring and write a side, however few its rows are."""
CLEARLY = 0.8
"""What part of the time it must take for pools to be spread over partitions."""
FEWEST = 4
"""Pools per partition from which on they may be spread so: of few, one that is larger than expected would keep the others waiting."""
PASS_OVER = 2.0
"""Nanoseconds to pass over a row of a commons that a pool does not take."""
ENDLESS = 3_600.0
"""Seconds of a stream that a window without end is taken to have."""
SETS = 8
"""Query-sets that rows of one key are taken to have, at the most."""


def rounded(value: float) -> float:
    """To two digits, so that small changes make no other plan."""
    return float(f"{value:.1e}")


def join_statistics(known: Known, query: Query) -> JoinStatistics:
    """What is known of a join's inputs, or what is assumed of them."""
    inputs = tuple(
        input_statistics(known.input(side), side.static)
        for side in sides_of(query, (True,) * len(query.inputs))
    )
    groups, batch = known.groups(query).value, known.batch(query.streams).value
    expected = JoinStatistics(
        inputs, rounded(max(groups, 1)), rounded(batch), ranges=known.ranges, few=known.few
    )
    return replace(expected, measured=times_expected(query, known.joined(query), expected))


def input_statistics(figures: InputFigures, static: bool) -> InputStatistics:
    """An input of a join after its conditions."""
    sets, keys, chosen = (
        rounded(figures.sets.value),
        rounded(figures.keys.value),
        figures.rows.value * figures.share.value,
    )
    equated = tuple(
        (columns, Values(max(rounded(count.value), 1.0), _rounded(heavy)))
        for columns, count, heavy in figures.equated
    )
    if static:
        return InputStatistics(0.0, sets, keys, rounded(max(chosen, 1)), equated)
    return InputStatistics(rounded(max(chosen, 1e-6)), sets, keys, equated=equated)


def _rounded(heavy: Heavy) -> Heavy:
    return tuple((value, rounded(share)) for value, share in heavy)


def widest(queries: Sequence[Query]) -> Query:
    """A query of a pattern with the longest windows of some."""
    first = queries[0]
    is_rows = first.every is None
    return replace(
        first,
        every=often(queries),
        inputs=tuple(
            _widest(i, [q.inputs[n].length for q in queries], is_rows) for n, i in enumerate(first.inputs)
        ),
        grain=None if first.every is None else gcd(*(q.slot for q in queries)),
    )


def _widest(given: QueryInput, lengths: list[int | None], is_rows: bool) -> QueryInput:
    if given.kind not in ((RANGE, UNBOUNDED) if is_rows else (RANGE, UNBOUNDED, TUMBLE)):
        return given
    longest = None if None in lengths else max(n for n in lengths if n is not None)
    sets = tuple(Chosen(bit, length=length) for bit, length in enumerate(lengths))
    return replace(given, kind=UNBOUNDED if longest is None else RANGE, length=longest, sets=sets)


def pool_statistics(known: Known, queries: Sequence[Query]) -> JoinStatistics:
    """The inputs of a pool: rows that any member takes, each kept once, apart by query-set."""
    first, more = join_statistics(known, queries[0]), min(len(queries), SETS)
    inputs = []
    for n, (given, s) in enumerate(zip(queries[0].inputs, first.inputs, strict=True)):
        own = known.share_of(given.source, given.where).value
        grown = _taken(known, queries, n) / max(own, 1e-9)
        inputs.append(replace(s, rate=s.rate * grown, rows=s.rows * grown, sets=s.sets * more))
    return replace(first, inputs=tuple(inputs), groups=first.groups * more)


def alone_cost(known: Known, query: Query) -> float:
    """What a query costs beside its join: its conditions are asked of every row, and its results are given out."""
    return sum(_rate(known, i) * SCAN for i in query.inputs) + _results(known, query)


def pool_cost(known: Known, queries: Sequence[Query]) -> float:
    """What a pool costs beside its join: the query-set of every row, and the results of each member."""
    asked = sum(_rate(known, i) * _look_up(queries, n) for n, i in enumerate(queries[0].inputs))
    return asked + sum(_results(known, q) for q in queries)


def gathering_pays(
    known: Known,
    pools: Sequence[Sequence[Query]],
    cost: Callable[[Sequence[Query]], float],
    partitions: int,
    stays_one: bool = False,
) -> bool:
    """Whether the partition with most to do is ready sooner where each pool is in one of them, than where each has a part of all pools.

    The statements of a pool, and what is to be done for its sides beside its rows, are there once instead of once in every partition. In
    exchange each pool passes over the rows that others take. Where one partition `stays_one` it has all pools in any case, and keeps
    rows once.
    """
    if len(pools) < (2 if stays_one else FEWEST * partitions):
        return False
    steps, batch = join_constants().step, max(known.batch(pools[0][0].streams).value, 1.0) / SECOND
    join, side = EVALUATIONS["rows"].statements.any * steps / batch, SIDE * steps / batch
    rows = [max(cost(some) - join * known.ranges, 0.0) for some in pools]
    spread = sum(r / partitions + join + side * len(p[0].streams) for r, p in zip(rows, pools, strict=True))
    loads = [0.0] * min(partitions, len(pools))
    strange = _passed_over(known, pools, batch)
    for row, more in sorted(zip(rows, strange, strict=True), reverse=True):
        loads[loads.index(min(loads))] += row + join + more
    streams = {s for p in pools for s in p[0].streams}
    return max(loads) + side * len(streams) < (1.0 if stays_one else CLEARLY) * spread


def _passed_over(known: Known, pools: Sequence[Sequence[Query]], batch: float) -> list[float]:
    """For each pool nanoseconds per second of stream to pass over the rows of a commons that others take."""
    takers: dict[str, list[float]] = {}
    taken = [{i.source: _taken(known, some, n) for n, i in _streams(some)} for some in pools]
    for shares in taken:
        for source, share in shares.items():
            takers.setdefault(source, []).append(share)
    kept = {source: union(shares) for source, shares in takers.items()}
    found = []
    for some, shares in zip(pools, taken, strict=True):
        rows = (
            known.rate(i.source).value * (kept[i.source] - shares[i.source]) * _held(some, n, batch)
            for n, i in _streams(some)
        )
        found.append(PASS_OVER * sum(rows) / batch)
    return found


def _streams(queries: Sequence[Query]) -> list[tuple[int, QueryInput]]:
    return [(n, i) for n, i in enumerate(queries[0].inputs) if i.is_stream]


def _taken(known: Known, queries: Sequence[Query], number: int) -> float:
    """The part of an input's rows that any of some queries takes."""
    source = queries[0].inputs[number].source
    return union(known.share_of(source, where).value for where in {q.inputs[number].where for q in queries})


def _held(queries: Sequence[Query], number: int, batch: float) -> float:
    """Seconds of a stream that a pool looks at in a batch: what it keeps and what is new."""
    inputs = [q.inputs[number] for q in queries]
    return batch + max(ENDLESS if i.kind == UNBOUNDED else (i.length or 0) / SECOND for i in inputs)


def _look_up(queries: Sequence[Query], number: int) -> float:
    """Nanoseconds to make the query-set of a row."""
    indexed, alone = indexes([Chosen(b, q.inputs[number].where) for b, q in enumerate(queries)])
    return MATERIALIZE + LOOK_UP * (len(indexed) + len(alone))


def _rate(known: Known, given: QueryInput) -> float:
    return known.rate(given.source).value if given.is_stream else 0.0


def _results(known: Known, query: Query) -> float:
    return RESULT * SECOND / max(known.batch(query.streams).value, 1.0)


def windows_alone_cost(known: Known, query: Query) -> float:
    """What a windowed query costs: its conditions are asked of every row, those that it takes are aggregated, its results are given out."""
    share = known.share_of(query.stream, query.where).value
    steps = STATEMENTS * join_constants().step * SECOND / max(known.batch(query.streams).value, 1.0)
    return known.rate(query.stream).value * (SCAN + share * LIFT) + steps + _results(known, query)


def windows_pool_cost(known: Known, queries: Sequence[Query]) -> float:
    """What a pool of windows costs: every row falls into a cell, cells have members, and members have results."""
    first, constants = queries[0], join_constants()
    indexed, alone = indexes([Chosen(b, q.where) for b, q in enumerate(queries)])
    rate, batch = known.rate(first.stream).value, max(known.batch(first.streams).value, 1.0) / SECOND
    look_up = sum(LOOK_UP + DEEPER * log2(len(i.cuts) + 1) for i in indexed) + LOOK_UP * len(alone)
    keys = max(known.group(group_of(first)).keys.value, 1.0)
    cells = min(prod(2 * len(i.cuts) + 2 for i in indexed) * 2.0 ** len(alone) * keys, rate * batch)
    taken = sum(known.share_of(q.stream, q.where).value for q in queries)
    expanded = cells * (constants.group + taken * constants.lift) / batch
    return (
        rate * (look_up + LIFT)
        + expanded
        + 2 * STATEMENTS * constants.step / batch
        + sum(_results(known, q) for q in queries) / FEWER
    )
