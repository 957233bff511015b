"""The queries of AJoin's evaluation: the template of its figure 14, drawn so that they are similar to a pattern by its equation 3.

A query joins streams in a chain. Streams 0, 1, ... are those of the pattern; others, as many again, stand in for those that a query
has not in common with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from random import Random

ATTRIBUTES, VALUES = 6, 500
WINDOWS = (1, 2, 3)
COMPARISONS = ("=", ">", "<", ">=", "<=")
ALL = tuple(range(ATTRIBUTES))


@dataclass(frozen=True)
class Condition:
    """An attribute compared with a constant."""

    attribute: int
    comparison: str
    value: int


@dataclass(frozen=True)
class Part:
    """A stream of a query: the attributes that join it with the one before and the one after, its conditions, the columns shown."""

    stream: int
    before: int | None
    after: int | None
    conditions: tuple[Condition, ...] = ()
    columns: tuple[int, ...] = ALL

    @property
    def keys(self) -> tuple[int | None, int | None]:
        """Its join attributes."""
        return self.before, self.after


@dataclass(frozen=True)
class Asked:
    """A join of streams in windows of so many seconds."""

    parts: tuple[Part, ...]
    window: int

    @property
    def sql(self) -> str:
        """The query as a user of Thalweg writes it.

        >>> Asked((Part(0, None, 2, (Condition(1, "<", 7),), (0,)), Part(1, 3, None, (), (5,))), 2).sql
        'SELECT s0.a0 AS s0_a0, s1.a5 AS s1_a5 FROM s0 [RANGE 2 SECONDS], s1 [RANGE 2 SECONDS] WHERE s0.a2 = s1.a3 AND s0.a1 < 7'
        """
        sources = ", ".join(f"s{p.stream} [RANGE {self.window} SECONDS]" for p in self.parts)
        return f"SELECT {self._shown} FROM {sources} WHERE {' AND '.join(self._conditions)}"

    @property
    def spark_sql(self) -> str:
        """The same for Spark, where a window is a condition on every two event times."""
        names = [f"s{p.stream}" for p in self.parts]
        near = [
            f"{b}.ts > {a}.ts - INTERVAL {self.window} SECONDS AND {b}.ts < {a}.ts + INTERVAL {self.window} SECONDS"
            for i, a in enumerate(names)
            for b in names[i + 1 :]
        ]
        return f"SELECT {self._shown} FROM {' JOIN '.join(names)} WHERE {' AND '.join([*self._conditions, *near])}"

    @property
    def _shown(self) -> str:
        return ", ".join(f"s{p.stream}.a{c} AS s{p.stream}_a{c}" for p in self.parts for c in p.columns)

    @property
    def _conditions(self) -> list[str]:
        pairs = zip(self.parts, self.parts[1:], strict=False)
        equal = [f"s{a.stream}.a{a.after} = s{b.stream}.a{b.before}" for a, b in pairs]
        return equal + [
            f"s{p.stream}.a{c.attribute} {c.comparison} {c.value}" for p in self.parts for c in p.conditions
        ]


Conditions = Callable[[Random], tuple[Condition, ...]]
"""Draws what a query asks of a stream."""


def no_conditions(random: Random) -> tuple[Condition, ...]:
    """All rows, as in figure 15."""
    return ()


def one_comparison(random: Random) -> tuple[Condition, ...]:
    """One of figure 14: any attribute, comparison and constant; four in five take half of the rows in the mean."""
    return (Condition(random.randrange(ATTRIBUTES), random.choice(COMPARISONS), random.randrange(VALUES)),)


def share(part: float) -> Conditions:
    """A range of any attribute that takes such a part of the rows, so that a row belongs to that part of the queries (figure 22a)."""

    def drawn(random: Random) -> tuple[Condition, ...]:
        attribute, width = random.randrange(ATTRIBUTES), round(part * VALUES)
        low = random.randrange(VALUES - width + 1)
        return Condition(attribute, ">=", low), Condition(attribute, "<", low + width)

    return drawn


def similarity(query: Asked, pattern: Asked) -> Fraction:
    """Equation 3: streams in common, times those of them with the same join attributes, over the square of the pattern's streams."""
    keys = {p.stream: p.keys for p in pattern.parts}
    common = [p for p in query.parts if p.stream in keys]
    same = [p for p in common if p.keys == keys[p.stream]]
    return Fraction(len(common) * len(same), len(pattern.parts) ** 2)


def pattern_of(ways: int, random: Random) -> Asked:
    """A pattern over streams 0, 1, ..."""
    return Asked(tuple(Part(place, *_keys(place, ways, random)) for place in range(ways)), WINDOWS[-1])


def queries_of(
    count: int, pattern: Asked, wanted: Fraction, conditions: Conditions, random: Random
) -> tuple[Asked, ...]:
    """Queries that are so similar to a pattern in the mean; half show all columns, half two of each stream.

    With the same seed the first of many queries are those of a few.
    """
    counts = _counts(count, len(pattern.parts), wanted, random)
    return tuple(_query(pattern, common, same, conditions, random) for common, same in counts)


def _counts(count: int, ways: int, wanted: Fraction, random: Random) -> Iterator[tuple[int, int]]:
    """ComS and ComSJA of each query by the paper's steps 1 and 2; what rounding leaves, the next query makes up for."""
    owed = Fraction(0)
    for _ in range(count):
        owed += wanted
        common = random.randint(1, ways)
        while owed * ways**2 > common**2 and common < ways:
            common += 1
        same = min(common, max(0, round(owed * ways**2 / common)))
        owed -= Fraction(common * same, ways**2)
        yield common, same


def _query(pattern: Asked, common: int, same: int, conditions: Conditions, random: Random) -> Asked:
    """Step 3: neighbours of the pattern in common, some of them with their join attributes."""
    ways = len(pattern.parts)
    first = random.randint(0, ways - common)
    kept = range(first, first + common)
    alike = random.sample(kept, same)
    others = iter(random.sample(range(ways, 2 * ways), ways - common))
    all_columns = random.random() < 0.5
    parts = []
    for place, known in enumerate(pattern.parts):
        keys = known.keys
        while place not in alike and keys == known.keys:
            keys = _keys(place, ways, random)
        columns = ALL if all_columns else tuple(sorted(random.sample(ALL, 2)))
        parts.append(Part(place if place in kept else next(others), *keys, conditions(random), columns))
    return Asked(tuple(parts), random.choice(WINDOWS))


def _keys(place: int, ways: int, random: Random) -> tuple[int | None, int | None]:
    before, after = random.randrange(ATTRIBUTES), random.randrange(ATTRIBUTES)
    return (before if place else None), (after if place < ways - 1 else None)
