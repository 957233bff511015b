"""Which factor windows to consider beyond the paper's.

*Slots* are tumbling windows. The widest slots that several windows have in common are as good as any narrower ones, so
those from greatest common divisors suffice. *Hops* are hopping windows over such slots, which several windows read.
*Links* stand between one window and its source and make a chain of one long step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from math import gcd

from thalweg.logical.windows import Window
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


def hops(asked: Collection[Window], finest: float = 0) -> set[Window]:
    """Hopping windows that two or more of the windows asked for, or slots, could be combined from."""
    if all(w.tumbling for w in asked):
        return set()
    longest = max(w.range for w in asked)
    lattices = _common((w.slide, w.offset) for w in asked) + _common((w.grain, w.offset % w.grain) for w in asked)
    return {Window(k * g, g, o) for g, o in lattices if g >= finest for k in MULTIPLES if k * g < longest}


def links(w: Window, source: Window, traits: Traits) -> Iterator[Window]:
    """Windows between a window and its source.

    >>> sorted({(f.range, f.slide) for f in links(Window(12, 1), Window(1, 1), Traits())})
    [(2, 1), (3, 1), (4, 1), (6, 1)]
    """
    if w.range % source.range == 0:
        for d in divisors(w.range // source.range)[1:-1]:
            r = d * source.range
            yield Window(r, gcd(r, w.slide), w.offset)
    if traits.may_overlap:
        least = w.range % w.slide
        for k in range(2, 8):
            r = least + w.slide * -(-(w.range // w.slide) // k)
            if source.range < r < w.range:
                yield Window(r, w.slide, w.offset)


def links_of_links(windows: Iterable[Window], sources: Collection[Window], traits: Traits, most: int) -> set[Window]:
    """Links between windows and sources, links between these and sources, and so on until there are `most`."""
    found: set[Window] = set()
    frontier = list(windows)
    while frontier and len(found) < most:
        new = {f for w in frontier for p in sources if p.range < w.range for f in links(w, p, traits)} - found
        found |= new
        frontier = sorted(new)
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
