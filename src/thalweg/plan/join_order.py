"""In which order the inputs of a join meet, and whether at every instant or once for several."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod

Links = Collection[frozenset[int]]


def join_order(rows: Sequence[float], links: Links) -> tuple[int, ...]:
    """The inputs from the smallest on; each next one is linked with those before it, where any is, and the smallest of these.

    >>> join_order([9, 1, 5], [frozenset({0, 1}), frozenset({0, 2})])
    (1, 0, 2)
    >>> join_order([9, 1, 5], [])
    (1, 2, 0)
    """
    order: list[int] = []
    while len(order) < len(rows):
        rest = [n for n in range(len(rows)) if n not in order]
        linked = [n for n in rest if any(n in link and link <= {*order, n} for link in links)]
        order.append(min(linked or rest, key=lambda n: rows[n]))
    return tuple(order)


def meet_once(windows: Sequence[float], ahead: float, instants: float) -> bool:
    """Whether rows make fewer pairs if they meet once for some instants than if windows meet at each; `ahead` is how far the windows move.

    >>> meet_once([1000, 1000], 100, 100), meet_once([10, 10], 100, 10)
    (True, False)
    """
    return prod((w + ahead) / w for w in windows) < instants
