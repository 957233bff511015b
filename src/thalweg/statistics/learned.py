"""What a batch teaches of streams and joins: rates, groups, distinct values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from thalweg.optimizer.cost.join_engine import distinct
from thalweg.state.manifest import Seen

Counts = Sequence[tuple[float, ...]]


def learned(
    before: Seen, spans: Iterable[tuple[str, int, int]], keys: Iterable[tuple[str, float]], sides: Mapping[str, Counts] | None = None
) -> Seen:
    """What is known after a batch: (stream, rows, microseconds of event time) and (group, keys per slot), half old, half new.

    `sides` are counts of distinct values, of which the last are the best known.
    """
    streams, groups = dict(before.streams), dict(before.keys)
    for stream, rows, micros in spans:
        if rows > 0 and micros > 0:
            rate, batch = rows * 1e6 / micros, float(micros)
            old = streams.get(stream, (rate, batch))
            streams[stream] = ((old[0] + rate) / 2, (old[1] + batch) / 2)
    for group, count in keys:
        groups[group] = (groups.get(group, count) + count) / 2
    looked = {name: counted(counts) for name, counts in (sides or {}).items()}
    return Seen(streams, groups, {**before.sides, **looked})


def counted(counts: Counts) -> tuple[float, float, float]:
    """The share of rows that were chosen, and the distinct values there are, from (rows, chosen, values, keys) of each task."""
    rows, chosen = sum(c[0] for c in counts), sum(c[1] for c in counts)
    largest = max(counts, key=lambda c: c[1])
    share = chosen / rows if rows else 1.0
    return share, population(largest[1], largest[2]), population(largest[1], largest[3])


def population(rows: float, values: float) -> float:
    """How many values there are, if so many rows had so many distinct ones: the inverse of `distinct`.

    >>> round(population(1000, distinct(1000, 500)))
    500
    """
    if rows <= 0 or values <= 1:
        return 1.0
    low, high = values, rows * 1e3
    if distinct(rows, high) <= values:
        return high
    for _ in range(60):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if distinct(rows, middle) < values else (low, middle)
    return low
