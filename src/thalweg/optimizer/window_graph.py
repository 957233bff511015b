"""The window coverage graph (WCG): which windows of a set can be computed from which."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from thalweg.model.windows import Window
from thalweg.once import cached_property
from thalweg.optimizer.coverage import Relation

S = Window(1, 1)
"""The virtual root of the augmented graph: one instance for every time unit."""

Edge = tuple[Window, Window]
"""(W2, W1): W1 can be computed from W2."""


@dataclass(frozen=True)
class WindowCoverageGraph:
    """G = (W, E) over windows in whole units, without the edges from a window to itself."""

    windows: tuple[Window, ...]
    edges: tuple[Edge, ...]

    @cached_property
    def upstream(self) -> Mapping[Window, tuple[Window, ...]]:
        """For each window, those that it can be computed from."""
        return _neighbours((w1, w2) for w2, w1 in self.edges)

    @cached_property
    def downstream(self) -> Mapping[Window, tuple[Window, ...]]:
        """For each window, those that can be computed from it."""
        return _neighbours(self.edges)

    def expanded(self, windows: Iterable[Window], edges: Iterable[Edge]) -> WindowCoverageGraph:
        """The graph with more windows and the edges to and from them."""
        return WindowCoverageGraph((*self.windows, *windows), (*self.edges, *edges))


def window_coverage_graph(windows: Iterable[Window], related: Relation) -> WindowCoverageGraph:
    """The WCG of a window set under `covered_by` or `partitioned_by`.

    >>> from thalweg.optimizer.coverage import covered_by
    >>> window_coverage_graph([Window(20, 20), Window(30, 30), Window(40, 40)], covered_by).edges
    ((Window(range=20, slide=20, offset=0), Window(range=40, slide=40, offset=0)),)
    """
    ordered = sorted(set(windows))
    edges = tuple((w2, w1) for i, w1 in enumerate(ordered) for w2 in ordered[:i] if related(w1, w2))
    return WindowCoverageGraph(tuple(ordered), edges)


def augmented(graph: WindowCoverageGraph) -> WindowCoverageGraph:
    """The graph with S as the source of every window that has no other, unless S is one of its windows."""
    if S in graph.windows:
        return graph
    roots = (w for w in graph.windows if w not in graph.upstream)
    return graph.expanded([S], ((S, w) for w in roots))


def _neighbours(pairs: Iterable[Edge]) -> dict[Window, tuple[Window, ...]]:
    found: defaultdict[Window, list[Window]] = defaultdict(list)
    for one, other in pairs:
        found[one].append(other)
    return {w: tuple(others) for w, others in found.items()}
