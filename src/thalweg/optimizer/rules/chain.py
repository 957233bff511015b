"""Chains: one long step split into several, through factor windows of factor windows."""

from __future__ import annotations

from collections.abc import Callable

from thalweg.model.windows import Window
from thalweg.optimizer.cost.edges import Edges, Vertex, Weigh
from thalweg.optimizer.rules.candidates import links

Worthwhile = Callable[[Window], bool]
"""Whether a factor window is worth considering at all."""


def chain(
    w: Window, source: Window | None, weigh: Weigh, worthwhile: Worthwhile, edges: Edges
) -> list[Window]:
    """The factor windows that make one step, from a source or from the rows, cheapest by itself: the best one, and between again.

    W<3600,1> from W<1,1> combines 3600 instances; through seven links it takes 24:

    >>> from thalweg.optimizer.cost.windows import paper_weights
    >>> from thalweg.optimizer.traits import Features, Traits
    >>> weigh, edges = paper_weights(36_000_000, Traits()), Edges(Traits(), Features())
    >>> sorted(f.range for f in chain(Window(3600, 1), Window(1, 1), weigh, lambda f: True, edges))
    [2, 6, 12, 60, 120, 360, 720]
    """
    w1, w2 = weigh(w, False), None if source is None else weigh(source, False)
    least, best = _cost(w1, w2, edges), None
    for f in dict.fromkeys(links(w, source or Window(w.grain, w.grain, w.offset), edges.traits)):
        if worthwhile(f) and (cost := edges.cost(w1, wf := weigh(f, True)) + _cost(wf, w2, edges)) < least * (
            1 - 1e-9
        ):
            least, best = cost, f
    if best is None:
        return []
    return [best, *chain(w, best, weigh, worthwhile, edges), *chain(best, source, weigh, worthwhile, edges)]


def _cost(w1: Vertex, w2: Vertex | None, edges: Edges) -> float:
    return w1.root if w2 is None else edges.cost(w1, w2)
