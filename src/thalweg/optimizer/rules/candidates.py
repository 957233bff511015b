"""Which factor windows to consider beyond the paper's.

*Slots* are tumbling windows. The widest slots that several windows have in common are as good as any narrower ones, so
those from greatest common divisors suffice. *Hops* are hopping windows over such slots, which several windows read.
*Links* stand between one window and its source and make a chain of one long step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from math import gcd

from thalweg.model.windows import Window
from thalweg.optimizer.divisors import divisors
from thalweg.optimizer.traits import Traits

Lattice = tuple[int, int]
"""Where instances may begin: (g, o) for the instants o, o + g, o + 2g, ..."""

MULTIPLES = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64)
MOST_LATTICES = 96


def slots(asked: Collection[Window]) -> set[Window]:
    """Tumbling windows that one or more of the windows asked for are whole numbers of.

    >>> sorted(w.range for w in slots([Window(20, 20), Window(30, 30), Window(40, 8)]))
    [2, 4, 8, 10, 20, 30]
    """
    return {Window(g, g, o) for g, o in _common((w.grain, w.offset % w.grain) for w in asked)}


def hops(asked: Collection[Window]) -> set[Window]:
    """Hopping windows over what several of the windows asked for have in common, where any of them is hopping."""
    if all(w.tumbling for w in asked):
        return set()
    longest = max(w.range for w in asked)
    lattices = _common((w.slide, w.offset) for w in asked) + _common(
        (w.grain, w.offset % w.grain) for w in asked
    )
    return {Window(k * g, g, o) for g, o in lattices for k in MULTIPLES if k * g <= longest}


def links(w: Window, source: Window | None, traits: Traits) -> Iterator[Window]:
    """Windows between a window and its source: of tiles if they can be, and where it is safe of overlapping pieces.

    >>> sorted((f.range, f.slide) for f in links(Window(12, 1), Window(1, 1), Traits()))
    [(2, 1), (3, 1), (4, 1), (6, 1)]
    """
    if source is not None and w.range % source.range == 0:
        for d in divisors(w.range // source.range)[1:-1]:
            r = d * source.range
            yield Window(r, gcd(r, w.slide), w.offset)
    if traits.may_overlap:
        count, rest = divmod(w.range, w.slide)
        for k in range(2, min(count, 7) + 1):
            r = rest + w.slide * -(-count // k)
            if source is None or source.range < r:
                yield Window(r, w.slide, w.offset)


def links_of_links(
    windows: Collection[Window], sources: Collection[Window], traits: Traits, most: int
) -> set[Window]:
    """Links between windows and sources, links between these and sources, and so on, about `most` of them."""
    found: set[Window] = set()
    frontier = windows
    while frontier and len(found) < most and len(frontier) * len(sources) < 8 * most:
        new = {
            f
            for w in frontier
            for p in (None, *sources)
            if p is None or p.range < w.range
            for f in links(w, p, traits)
        }
        frontier = new - found
        found |= frontier
    return found


def _common(lattices: Iterable[Lattice]) -> list[Lattice]:
    """Lattices that hold one or more of the given ones, those of most of them first."""
    given = sorted(set(lattices))
    found: Counter[Lattice] = Counter(given)
    frontier = given
    while frontier and len(found) < 4 * MOST_LATTICES:
        met = Counter(_meet(a, b) for a in frontier for b in given if a != b)
        frontier = [lattice for lattice, _ in met.most_common(MOST_LATTICES) if lattice not in found]
        found.update(met)
    return [lattice for lattice, _ in found.most_common(MOST_LATTICES)]


def _meet(a: Lattice, b: Lattice) -> Lattice:
    g = gcd(a[0], b[0], a[1] - b[1])
    return g, a[1] % g
