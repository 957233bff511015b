"""The order in which inputs meet at the least cost: branch and bound over the sets of inputs that have met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from heapq import heappop, heappush
from typing import NamedTuple, Protocol

WIDTH = 12
"""So many sets of inputs of one size, the most promising, are gone on with: of up to five inputs all that there are."""


class Path(NamedTuple):
    """Some inputs that have met in an order: what that cost, which they are (a bit each), and the rows that they made."""

    cost: float
    order: tuple[int, ...]
    met: int
    rows: float


class Meets(Protocol):
    """How inputs meet."""

    def joined(self, path: Path, number: int, more: float) -> Path:
        """A path that goes on with so many rows of another input."""

    def following(self, met: int) -> Collection[int]:
        """The inputs that may come next."""

    def least_found(self, rows: Sequence[float]) -> float:
        """What it costs at least to find partners of so many rows."""


def cheapest_path(meets: Meets, rows: Sequence[float]) -> Path:
    """The order that costs least. Whatever inputs have made, the rows are as many in every order, so of each set only the cheapest way to it
    counts; sets are gone on with by what they cost and what the inputs that are left cost at least."""
    least = [meets.least_found([r]) for r in rows]
    whole, (total, best), sizes = (1 << len(rows)) - 1, (sum(least), dict[int, float]()), Counter[int]()
    open_ = [(total, Path(0.0, (n,), 1 << n, r), total) for n, r in enumerate(rows)]
    open_.sort()
    while True:
        _, path, left = heappop(open_)
        size = len(path.order)
        if path.met == whole:
            return path
        if sizes[size] >= WIDTH or best.get(path.met, path.cost) < path.cost:
            continue
        sizes[size] += 1
        for n in meets.following(path.met):
            found = meets.joined(path, n, rows[n])
            if found.cost < best.get(found.met, float("inf")):
                best[found.met] = found.cost
                rest = left - least[n] - (least[path.order[0]] if size == 1 else 0.0)
                heappush(open_, (found.cost + rest, found, rest))
