"""Algorithm 3: the min-cost WCG when factor windows are allowed."""

from __future__ import annotations

from collections.abc import Set
from fractions import Fraction

from thalweg.model.windows import Window
from thalweg.optimizer.cost.windows import period
from thalweg.optimizer.coverage import Relation, partitioned_by
from thalweg.optimizer.forest import Forest
from thalweg.optimizer.rules.factor_window_covered import factor_window_covered
from thalweg.optimizer.rules.factor_window_partitioned import factor_window_partitioned
from thalweg.optimizer.rules.min_cost_graph import min_cost_graph
from thalweg.optimizer.window_graph import Edge, augmented, window_coverage_graph


def min_cost_graph_with_factors(windows: Set[Window], related: Relation, eta: int | Fraction = 1) -> Forest:
    """Put the best factor window between each window and its downstream windows, then run algorithm 1.

    The paper prints its algorithms for one event in a unit. For eta of them the virtual root has as many instances in a unit, and the
    window of one unit, the smallest that there is, may be a factor window below it.

    >>> forest = min_cost_graph_with_factors({Window(20, 20), Window(30, 30), Window(40, 40)}, partitioned_by)
    >>> [(s.window.range, s.source and s.source.range, s.factor) for s in forest]
    [(10, None, True), (20, 10, False), (30, 10, False), (40, 20, False)]
    """
    r = period(windows)
    find_best_factor_window = (
        factor_window_partitioned if related is partitioned_by else factor_window_covered
    )
    graph = window_coverage_graph(windows, related)
    with_root = augmented(graph)
    edges: set[Edge] = set()
    for w in with_root.windows:
        downstream = with_root.downstream.get(w, ())
        events = Fraction(1) if w in windows else Fraction(eta)
        wf = find_best_factor_window(w, downstream, r, events) if downstream else None
        if wf is not None and wf not in windows:
            edges.update((wf, wj) for wj in downstream)
            edges.update([(w, wf)] if w in windows else [])
    factors = {wf for edge in edges for wf in edge} - set(windows)
    return min_cost_graph(graph.expanded(factors, edges), windows, eta)
