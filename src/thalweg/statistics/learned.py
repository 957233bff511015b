"""What a batch teaches of streams and joins: rates, groups, distinct values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from thalweg.compile.lifts import MOST_HEAVY
from thalweg.optimizer.cost.join_engine import distinct
from thalweg.state.manifest import Seen
from thalweg.statistics.records import Heavy

Counts = Sequence[tuple[float, ...]]
Frequent = tuple[tuple[int, int, int], ...]
V = TypeVar("V")

LEAST_HEAVY = 8
"""Rows that a value must have to be told from one that is frequent by chance."""


def learned(
    before: Seen,
    spans: Iterable[tuple[str, int, int]],
    keys: Iterable[tuple[str, float]],
    sides: Mapping[str, Counts] | None = None,
    frequent: Mapping[str, Sequence[Frequent]] | None = None,
) -> Seen:
    """What is known after a batch: (stream, rows, microseconds of event time) and (group, keys per slot), half old, half new.

    `sides` are counts of distinct values, and `frequent` those that tasks found to be so, of which the last are the best known.
    """
    streams, groups = dict(before.streams), dict(before.keys)
    for stream, rows, micros in spans:
        if rows > 0 and micros > 0:
            rate, batch = rows * 1e6 / micros, float(micros)
            old = streams.get(stream, (rate, batch))
            streams[stream] = ((old[0] + rate) / 2, (old[1] + batch) / 2)
    for group, count in keys:
        groups[group] = (groups.get(group, count) + count) / 2
    found = sides or {}
    heavy = {
        name: heavy_values(values, largest(found[name])[3])
        for name, values in (frequent or {}).items()
        if name in found
    }
    looked = {name: counted(counts, heavy.get(name, ())) for name, counts in found.items()}
    return Seen(streams, groups, {**before.sides, **looked}, {**before.heavy, **heavy}, before.pairs)


WINDOWS = 8
"""Of so many windows' time what was joined is remembered; what is older counts half."""


@dataclass(frozen=True)
class Joined:
    """What a join made of a batch: joined rows, in so many milliseconds, of so many seconds of event time. Rates are those of its inputs
    that are kept as rows; `window` is the longest, in seconds."""

    name: str
    pairs: float
    millis: float
    seconds: float
    rates: float
    window: float


def joined(seen: Seen, made: Iterable[Joined]) -> Seen:
    """What is known after joins have made so much.

    >>> seen = joined(Seen(), [Joined("q", 100, 5, 10, 2, 60)])
    >>> joined(seen, [Joined("q", 50, 5, 10, 4, 60)]).pairs
    {'q': (150.0, 60.0, 10.0, 20.0)}
    """
    pairs = dict(seen.pairs)
    for one in made:
        before = pairs.get(one.name, (0.0, 0.0, 0.0, 0.0))
        kept = 0.5 if before[3] > WINDOWS * one.window else 1.0
        more = one.pairs, one.seconds * one.rates, one.millis, one.seconds
        pairs[one.name] = (
            before[0] * kept + more[0],
            before[1] * kept + more[1],
            before[2] * kept + more[2],
            before[3] * kept + more[3],
        )
    return replace(seen, pairs=pairs)


OTHERS = 64
"""Statistics that are kept of what no query needs any more, for those who may ask it again."""


def forgotten(seen: Seen, live: Collection[str]) -> Seen:
    """Without what is long gone: what is live stays, and of the rest what was learned last.

    >>> seen = Seen(keys={f"g{i}": 1.0 for i in range(100)})
    >>> sorted(seen.keys.keys() - forgotten(seen, ["g0", "g1"]).keys.keys())[:3]
    ['g10', 'g11', 'g12']
    """
    return Seen(
        seen.streams,
        _recent(seen.keys, live),
        _recent(seen.sides, live),
        _recent(seen.heavy, live),
        _recent(seen.pairs, live),
    )


def _recent(found: dict[str, V], live: Collection[str]) -> dict[str, V]:
    others = [name for name in found if name not in live]
    gone = set(others[: max(0, len(others) - OTHERS)])
    return {name: value for name, value in found.items() if name not in gone} if gone else found


def counted(counts: Counts, heavy: Heavy = ()) -> tuple[float, float, float]:
    """The share of rows that were chosen, and the distinct values there are, from (rows, chosen, values, keys) of each task. Values that
    are known to be frequent say nothing of how many others there are."""
    rows, chosen = sum(c[0] for c in counts), sum(c[1] for c in counts)
    _, most, values, keys = largest(counts)
    others = most * (1 - sum(share for _, share in heavy))
    share = chosen / rows if rows else 1.0
    return share, population(most, values), population(others, keys - len(heavy)) + len(heavy)


def largest(counts: Counts) -> tuple[float, ...]:
    """What the task with most rows counted."""
    return max(counts, key=lambda c: c[1])


def heavy_values(found: Sequence[Frequent], count: float) -> Heavy:
    """The values that are clearly more frequent than one of so many, each with its share of the rows, from (hash, rows that have it, rows)
    of each task.

    >>> heavy_values([((7, 300, 1000), (8, 9, 1000)), ((7, 320, 1000),)], 500)
    ((7, 0.31),)
    """
    total = float(sum(values[0][2] for values in found if values))
    rows: dict[int, int] = {}
    for value, times, _ in (v for values in found for v in values):
        rows[value] = rows.get(value, 0) + times
    usual = total / max(count, 1.0)
    clearly = {
        value: n / total for value, n in rows.items() if n >= max(2 * usual + 4 * usual**0.5, LEAST_HEAVY)
    }
    return tuple(sorted(clearly.items(), key=lambda v: (-v[1], v[0]))[:MOST_HEAVY])


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
