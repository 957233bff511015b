"""Which instants of a join a micro-batch makes final, and at which of them windows hold rows: arithmetic on frontiers."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg.model.attaching import inner_streams, is_full
from thalweg.model.nesting import frontier_of
from thalweg.model.query import Query
from thalweg.plan.nodes import Emission
from thalweg.plan.ranges import HIGHEST, LOWEST, Frontiers, Range
from thalweg.plan.shape import Shape


def next_instant(query: Query, frontiers: Frontiers) -> int:
    """The first instant that is not final yet.

    >>> query = Query("q", "", (), (), every=10)
    >>> next_instant(query, {})
    -2305843009213693952
    """
    frontier = frontier_of(query.streams, frontiers)
    return LOWEST if frontier is None or query.every is None else frontier // query.every + 1


def final_instants(query: Query, old: Frontiers, new: Frontiers) -> Range:
    """The instants [low, high) that become final when frontiers move from old to new."""
    return next_instant(query, old), next_instant(query, new)


def times(query: Query, asked: Query) -> int:
    """Of how many instants of a join that is asked for a query is given one: those of a pool are as close as its members need them.

    >>> times(Query("q", "", (), (), every=30), Query("", "", (), (), every=10))
    3
    """
    return (query.every or 1) // (asked.every or 1)


def is_emitted(emission: Emission, instant: int) -> bool:
    """Whether an emission gives out the results of an instant of its query."""
    return (emission.begin is None or instant >= emission.begin) and (
        emission.until is None or instant < emission.until
    )


def has_ended(emission: Emission, query: Query, frontiers: Frontiers) -> bool:
    """Whether an emission of a join that ends at an instant has given out all it ever will."""
    return emission.until is not None and next_instant(query, frontiers) >= emission.until


def alive_instants(shape: Shape, slots: Sequence[Sequence[int]], instants: Range) -> list[int]:
    """The instants of a range at which no stream's window is empty that must have a row; `slots` are those each stream input has, sorted."""
    ranges, needed = [instants], inner_streams(shape.query)
    lives = {n: _lives(shape, n, present) for n, present in zip(shape.streams, slots, strict=True)}
    if is_full(shape.query):
        found = {i for n in lives for low, high in _crossed(ranges, lives[n]) for i in range(low, high)}
        return sorted(found)
    for number in needed:
        ranges = _crossed(ranges, lives[number])
    return [i for low, high in ranges for i in range(low, high)]


def _lives(shape: Shape, number: int, slots: Sequence[int]) -> list[Range]:
    """The ranges of instants at which an input's window holds some of these slots."""
    step, span = shape.step, shape.span(number)
    if not slots:
        return []
    if span is None:
        return [(slots[0] // step + 1, HIGHEST)]
    lives: list[Range] = []
    for slot in slots:
        low, high = slot // step + 1, (slot + span) // step + 1
        if lives and low <= lives[-1][1]:
            lives[-1] = (lives[-1][0], max(high, lives[-1][1]))
        else:
            lives.append((low, high))
    return lives


def _crossed(a: Sequence[Range], b: Sequence[Range]) -> list[Range]:
    """The common part of two sorted lists of ranges."""
    found, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        low, high = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if low < high:
            found.append((low, high))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return found
