"""Slicing: time is cut at the edges of all windows, and every window is combined from the slices within it (Scotty, Cutty).

A row is added to one slice, whatever the number of windows, and nothing is combined twice on the way; but each window reads all slices, and
with many lengths that have little in common there are nearly as many slices as rows.
"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm

from thalweg.model.windows import Window
from thalweg.optimizer.coverage import covering_multiplier
from thalweg.optimizer.forest import Forest, Step

COUNTED = 5_000
"""Instances of the shortest window in whose time slices are counted, where windows repeat together only after more."""

Edges = tuple[int, int]


def sliced(asked: Collection[Window]) -> Forest:
    """Slices, and every window from them. A tumbling window that is all of the slices itself is computed from the rows.

    >>> [f"{s.window.range} from {s.source.range if s.source else 'rows'}" for s in sliced([Window(4, 4), Window(6, 6)])]
    ['2 from rows', '4 from 2', '6 from 2']
    >>> sliced([Window(4, 4), Window(6, 6)]).steps[0].window.edges
    ((4, 0), (6, 0))
    """
    if not asked:
        return Forest(())
    slices = slices_of(asked)
    steps = [Step(w, slices, "all", covering_multiplier(w, slices)) for w in sorted(asked) if w != slices]
    return Forest((Step(slices, factor=slices not in asked), *steps))


def slices_of(asked: Collection[Window]) -> Window:
    """The slices of time between all edges of some windows.

    >>> slices_of([Window(3, 3), Window(6, 6)]), slices_of([Window(5, 4)])
    (Window(range=3, slide=3, offset=0), Window(range=1, slide=1, offset=0, edges=((4, 0), (4, 1))))
    """
    every = {(w.slide, (w.offset + end) % w.slide) for w in asked for end in (0, w.range)}
    edges = tuple(sorted(e for e in every if not any(_within(e, other) for other in every - {e})))
    base = edges[0][1]
    grain = gcd(*(slide for slide, _ in edges), *(offset - base for _, offset in edges))
    return Window(grain, grain, base, edges=() if grain == edges[0][0] else edges)


def _within(edges: Edges, other: Edges) -> bool:
    """Whether each of some edges is one of others."""
    return edges[0] % other[0] == 0 and (edges[1] - other[1]) % other[0] == 0


@lru_cache(maxsize=1024)
def share(slices: Window) -> Fraction:
    """How many slices begin in a slot: counted over the time in which windows repeat, or over some of it.

    >>> share(slices_of([Window(4, 4), Window(6, 6)])), share(Window(10, 10))
    (Fraction(2, 3), Fraction(1, 1))
    """
    if not slices.edges:
        return Fraction(1)
    every = [
        (slide // slices.slide, (offset - slices.offset) // slices.slide) for slide, offset in slices.edges
    ]
    stretch = min(lcm(*(slide for slide, _ in every)), COUNTED * min(slide for slide, _ in every))
    found = {at for slide, offset in every for at in range(offset % slide, stretch, slide)}
    return Fraction(len(found), stretch)
