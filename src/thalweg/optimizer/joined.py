"""How what plans of a join have made stands to what was expected of them."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from thalweg.model.query import Query
from thalweg.optimizer.estimate import estimate
from thalweg.statistics.constants import join_constants
from thalweg.statistics.known import JoinedBy
from thalweg.statistics.records import JoinStatistics

SECOND = 1e6
WITHIN = 2.0
"""How many times more or less than expected there may be before it says anything."""
MOST = 1e3
FULL = 2.0
"""Windows' time after which it may be said that there is less than expected: before, windows were not full."""


def times_expected(
    query: Query, made: Iterable[JoinedBy], expected: JoinStatistics
) -> tuple[tuple[tuple[bool, ...], float], ...]:
    """By which inputs are aggregated early, how many times as many joined rows there were as expected; of plans that differ in no input,
    what ran longer counts."""
    found = {
        m.early: _times(query, m, expected)
        for m in sorted(made, key=lambda m: m.seconds)
        if len(m.early) == len(query.inputs)
    }
    return tuple((early, times) for early, times in found.items() if times is not None)


def _times(query: Query, made: JoinedBy, expected: JoinStatistics) -> float | None:
    """To one digit, so that small changes make no other plan; None where it is not known yet."""
    if made.exposure <= 0:
        return None
    cost = estimate(query, made.early, made.evaluate, made.method, expected, join_constants())
    rates = prod(
        i.rate
        for i, g, e in zip(expected.inputs, query.inputs, made.early, strict=True)
        if g.is_stream and not e
    )
    times = min(max(made.pairs / made.exposure * rates / max(cost.pairs, 1e-9), 1 / MOST), MOST)
    if 1 / WITHIN <= times <= WITHIN:
        return 1.0
    return float(f"{times:.0e}") if times > 1 or made.seconds >= FULL * _longest(query) else None


def _longest(query: Query) -> float:
    """Seconds of the longest window; one without end is never full."""
    return max(float("inf") if i.length is None else i.length / SECOND for i in query.inputs if i.is_stream)
