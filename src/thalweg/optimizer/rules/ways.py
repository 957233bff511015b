"""The graph that the search works on: every way to compute each window, asked for or candidate, with its cost."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from thalweg.once import cached_property
from thalweg.optimizer.cost.edges import Edges, Vertex
from thalweg.optimizer.forest import Forest

Option = tuple[float, int]
"""The cost of a way and the number of its source, ROWS for none."""

ROWS = -1


@dataclass(frozen=True, eq=False)
class Ways:
    """Windows in order, so that a source has a lower number than its users, and for each its options, cheapest first."""

    vertices: tuple[Vertex, ...]
    options: tuple[tuple[Option, ...], ...]

    @cached_property
    def asked(self) -> frozenset[int]:
        """The windows that queries ask for."""
        return frozenset(i for i, v in enumerate(self.vertices) if not v.factor)

    @cached_property
    def users(self) -> tuple[tuple[tuple[int, float], ...], ...]:
        """For each window those that could be computed from it, with the cost."""
        found: list[list[tuple[int, float]]] = [[] for _ in self.vertices]
        for i, options in enumerate(self.options):
            for cost, source in options:
                if source != ROWS:
                    found[source].append((i, cost))
        return tuple(map(tuple, found))

    def cheapest(self, i: int, chosen: Collection[int]) -> Option:
        """The cheapest option of a window whose source is among the chosen ones."""
        return next(option for option in self.options[i] if option[1] == ROWS or option[1] in chosen)

    def cost(self, chosen: Collection[int]) -> float:
        """The cost of the plan that computes the chosen windows."""
        return sum(self.cheapest(i, chosen)[0] for i in chosen)

    def forest(self, chosen: Collection[int], edges: Edges) -> Forest:
        """The plan that computes the chosen windows."""
        sources = {i: self.cheapest(i, chosen)[1] for i in sorted(chosen)}
        return Forest(
            tuple(
                edges.step(self.vertices[i], None if j == ROWS else self.vertices[j])
                for i, j in sources.items()
            )
        )


def ways(vertices: Iterable[Vertex], edges: Edges) -> Ways:
    """Every way that is cheaper than computing a window from the rows, and that one."""
    ordered = sorted(vertices, key=lambda v: v.window)
    return Ways(tuple(ordered), tuple(_options(w, ordered[:i], edges) for i, w in enumerate(ordered)))


def _options(w: Vertex, sources: Iterable[Vertex], edges: Edges) -> tuple[Option, ...]:
    found = [(cost, j) for j, p in enumerate(sources) if (cost := edges.cost(w, p)) < w.root]
    return (*sorted(found), (w.root, ROWS))
