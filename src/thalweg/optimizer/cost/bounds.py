"""What plans of a join cost at least of which some inputs are not decided yet: by the lesser of both ways to keep each, and in no order.

Whatever an evaluation adds up grows with the rows of inputs and with the pairs that they make, so of less rows and pairs it costs less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from thalweg.model.query import Query
from thalweg.once import cached_property
from thalweg.optimizer.cost.calibration import JoinConstants
from thalweg.optimizer.cost.join_engine import Held
from thalweg.optimizer.cost.matching import least_share
from thalweg.optimizer.cost.partners import Partners


@dataclass(frozen=True)
class Either(Held):
    """An input that may be kept as rows or as an aggregation set: of each figure the less. `early` says what is surely paid for."""

    ways: tuple[Held, ...] = ()

    @property
    def is_set(self) -> bool:
        """That is not decided."""
        return False

    @property
    def may_be_set(self) -> bool:
        """It may."""
        return True

    def taken(self, c: JoinConstants) -> float:
        """What it takes at least to take its rows in."""
        return min(h.taken(c) for h in self.ways)

    def viewed(self, rows: float, c: JoinConstants) -> float:
        """What it takes at least to put what is kept into windows."""
        return min(h.viewed(rows, c) for h in self.ways)

    def apart(self, query: Query) -> float:
        """The least rows of the window where every step keeps its own."""
        return min(h.apart(query) for h in self.ways)


def either(late: Held, early: Held, surely: bool) -> Either:
    """An input that is not decided; `surely` if some input is aggregated early in any case."""
    figures = ("rate", "pieces", "slot", "window", "step", "lifetime")
    least = {f: min(getattr(late, f), getattr(early, f)) for f in figures}
    return Either(**least, early=surely, endless=late.endless or early.endless, ways=(late, early))


@dataclass(frozen=True)
class LeastPartners(Partners):
    """Partners of inputs that some may keep in either of two ways, which `sizes` says (None for rows as they are), whatever the order."""

    sizes: tuple[tuple[float | None, ...], ...] = ()

    def pairs(self, rows: Sequence[float], order: Sequence[int]) -> float:
        """The least joined rows of so many of each input."""
        return self._left(prod(rows) * self._share)

    def found(self, rows: Sequence[float], order: Sequence[int]) -> tuple[float, float]:
        """The least nanoseconds to find partners, and joined rows."""
        return self.cost(rows, order), self.pairs(rows, order)

    def cost(self, rows: Sequence[float], order: Sequence[int]) -> float:
        """The least nanoseconds to find partners."""
        return self.least_found(rows)

    @cached_property
    def _share(self) -> float:
        """Which part of all combinations is joined at least."""
        if not self.skewed:
            return prod(c.share(frozenset(c.values)) for c in self.classes)
        return prod(least_share(c, self.sizes) for c in self.classes)


def least_partners(of: Partners, sizes: Sequence[Sequence[float | None]], times: float) -> LeastPartners:
    """The least partners of inputs that may be kept in some ways each, and have at least so many times the pairs that are expected."""
    plain = {f: getattr(of, f) for f in ("inputs", "classes", "others", "loops", "constants")}
    return LeastPartners(**plain, times=times, sizes=tuple(map(tuple, sizes)))
