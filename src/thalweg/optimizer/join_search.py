"""The cheapest plan of a join, found without looking at all of them: branch and bound over what is kept early, and how results are evaluated.

Plans that are evaluated alike are a part. The part that costs least at least (`cost/bounds.py`) is split by how one input more is kept, until
a whole plan costs less than all parts that are left: so what is found is the first of all plans (`consider`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import heapify, heappop, heappush

from thalweg.model.query import Query
from thalweg.once import cached_property
from thalweg.optimizer.cost.bounds import either, least_partners
from thalweg.optimizer.cost.calibration import JoinConstants
from thalweg.optimizer.cost.join_engine import SECOND, CostedJoin, Held, held_of
from thalweg.optimizer.estimate import estimated
from thalweg.optimizer.join_plans import Considered, JoinChoice, Plans, Wish, choices
from thalweg.statistics.records import JoinStatistics

FEW = 40
"""Up to so many plans all are looked at: two inputs have 13, three 25."""
ROUNDING = 1 - 1e-9
"""What is added up in another order differs by less."""

Part = tuple[tuple[int, JoinChoice], ...]
"""Plans that are evaluated alike, with their places among all."""


@lru_cache(256)
def cheapest(
    query: Query, statistics: JoinStatistics, wish: Wish, constants: JoinConstants, memory: int | None = None
) -> Considered | None:
    """The plan that costs least, of those that are expected to keep no more state than is allowed; None where there is none."""
    plans, listed = Plans(query, statistics, wish, constants), tuple(enumerate(choices(query, wish)))
    fits = (
        c for c in _Search(plans).cheapest_first(listed) if memory is None or c.estimate.state_bytes <= memory
    )
    return next(fits, None)


@dataclass(frozen=True)
class _Search:
    """What parts of the plans of a query cost at least."""

    plans: Plans

    def cheapest_first(self, listed: Part) -> Iterator[Considered]:
        """Plans as they are asked for, those of equal cost in the order in which they are listed."""
        if len(listed) <= FEW:
            yield from sorted((self.plans.considered(c) for _, c in listed), key=lambda c: c.estimate.nanos)
            return
        open_ = [self._bounded(part) for part in _alike(listed, self.plans.query)]
        heapify(open_)
        while open_:
            _, _, place, found = heappop(open_)
            if isinstance(found, Considered):
                yield found
            elif len(found) == 1:
                whole = self.plans.considered(found[0][1])
                heappush(open_, (whole.estimate.nanos, 1, place, whole))
            else:
                for part in _split(found):
                    heappush(open_, self._bounded(part))

    def _bounded(self, part: Part) -> tuple[float, int, int, Part | Considered]:
        return self._least(part) * ROUNDING, 0, part[0][0], part

    def _least(self, part: Part) -> float:
        """What the plans of a part cost at least."""
        s, first = self.plans.statistics, part[0][1]
        ways = [sorted({c.early[n] for _, c in part}) for n in range(len(first.early))]
        surely = any(True in w and self.plans.query.inputs[n].is_stream for n, w in enumerate(ways))
        held = [self._held(n, w, surely) for n, w in enumerate(ways)]
        sizes = [[self._each[n][early].window if early else None for early in w] for n, w in enumerate(ways)]
        times = min((t for _, t in s.measured), default=1.0) if len(part) > 1 else s.times(first.early)
        partners = least_partners(self.plans.partners[first.method], sizes, times)
        join = CostedJoin(self.plans.query, tuple(held), partners, self.plans.widths)
        return estimated(join, first.evaluate, s).nanos

    def _held(self, number: int, ways: Sequence[bool], surely: bool) -> Held:
        late, early = self._each[number]
        return either(late, early, surely) if len(ways) > 1 else self._each[number][ways[0]]

    @cached_property
    def _each(self) -> list[tuple[Held, Held]]:
        """Each input as rows, and aggregated early."""
        query, s = self.plans.query, self.plans.statistics
        return [
            (held_of(query, n, False, i, s.batch / SECOND), held_of(query, n, True, i, s.batch / SECOND))
            for n, i in enumerate(s.inputs)
        ]


def _alike(listed: Part, query: Query) -> Iterator[Part]:
    """Plans of each evaluation, those apart that aggregate no stream early."""
    found: dict[tuple[str, str, bool], list[tuple[int, JoinChoice]]] = {}
    for place, c in listed:
        sets = any(early and i.is_stream for early, i in zip(c.early, query.inputs, strict=True))
        found.setdefault((c.evaluate, c.method, sets), []).append((place, c))
    return map(tuple, found.values())


def _split(part: Part) -> tuple[Part, Part]:
    """The plans of a part by how the first input is kept in which they differ."""
    n = next(n for n in range(len(part[0][1].early)) if len({c.early[n] for _, c in part}) > 1)
    return tuple(p for p in part if not p[1].early[n]), tuple(p for p in part if p[1].early[n])
