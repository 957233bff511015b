"""Algorithm 1: the min-cost WCG."""

from __future__ import annotations

from collections.abc import Collection, Set
from fractions import Fraction

from thalweg.model.windows import Window
from thalweg.optimizer.cost.windows import instance_cost
from thalweg.optimizer.forest import Forest, Step
from thalweg.optimizer.window_graph import WindowCoverageGraph


def min_cost_graph(graph: WindowCoverageGraph, asked: Set[Window], eta: int | Fraction = 1) -> Forest:
    """Keep for each window the incoming edge of least cost, which leaves a forest (theorem 7).

    n_i is the same for every edge into W_i, so the least mu_i gives the least c_i. Windows that are neither asked for
    nor read by another (figure 8b) are left out, as is the virtual root S.

    >>> from thalweg.optimizer.coverage import covered_by
    >>> from thalweg.optimizer.window_graph import window_coverage_graph
    >>> windows = {Window(20, 20), Window(30, 30), Window(40, 40)}
    >>> [(s.window.range, s.source and s.source.range) for s in min_cost_graph(window_coverage_graph(windows, covered_by), windows)]
    [(20, None), (30, None), (40, 20)]
    """
    steps = [
        _cheapest(w, graph.upstream.get(w, ()), w not in asked, eta)
        for w in sorted(graph.windows, reverse=True)
    ]
    needed = set(asked)
    kept = []
    for step in steps:
        if step.window in needed:
            kept.append(step)
            needed.update({step.source} if step.source else ())
    return Forest(tuple(reversed(kept)))


def _cheapest(w: Window, upstream: Collection[Window], factor: bool, eta: int | Fraction) -> Step:
    mu, source = instance_cost(w, None, eta), None
    for other in upstream:
        if (multiplier := instance_cost(w, other)) < mu:
            mu, source = multiplier, other
    return Step(w, None, factor=factor) if source is None else Step(w, source, "all", int(mu), factor)
