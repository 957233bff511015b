"""The bits of query-sets: those that a pool has in the rows of a commons, and those that nobody has for now."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from thalweg.model.query import Chosen, Query


@dataclass(frozen=True)
class Room:
    """The bits of a commons that one pool has: so many from the first on, all in one word."""

    first: int
    size: int

    @property
    def word(self) -> int:
        """The word that they are in."""
        return self.first // 64

    def taken(self, sets: Iterable[Chosen]) -> list[Chosen]:
        """What the members of the pool take, by the bits that they have in the commons."""
        bits = range(self.first, self.first + self.size)
        return [c for c in sets if c.bit in bits]

    def own(self, sets: Iterable[Chosen]) -> tuple[Chosen, ...]:
        """The same by the bits that they have in the pool."""
        return tuple(replace(c, bit=c.bit - self.first) for c in self.taken(sets))


@dataclass(frozen=True)
class Resting:
    """A bit of a pool that no member has and rows may still carry: those before these event times, per input.

    What its `query` asked of tables and of joined rows is asked on until then: pairs must leave totals as they entered them.
    """

    bit: int
    starts: tuple[int | None, ...]
    query: Query | None = None
