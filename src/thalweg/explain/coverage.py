"""The window coverage graph before any choice, in few lines."""

from __future__ import annotations

from collections.abc import Iterator

from thalweg.explain.model import WindowGroup
from thalweg.explain.words import counted, cut, listed
from thalweg.model.windows import Window

MOST = 12
"""Lines that are shown unless all are asked for."""


def coverage_lines(view: WindowGroup, width: int, every: bool = False) -> Iterator[str]:
    """For each window, those that it could be computed from; where one of them leads to another, only the nearer."""
    word = "covered by" if view.traits.may_overlap else "partitioned by"
    inner = [w for w in view.graph.windows if w in view.graph.upstream]
    shown = inner if every or len(inner) <= MOST else inner[: MOST - 1]
    names = max((len(str(w)) for w in shown), default=0)
    for w in shown:
        nearest = [str(u) for u in nearest_upstream(view, w)]
        yield f"{str(w).ljust(names)}  {word} {listed(nearest, width - names - len(word) - 3)}"
    if len(shown) < len(inner):
        yield f"... and {counted(len(inner) - len(shown), 'more window')}"
    if roots := [str(w) for w in view.graph.windows if w not in view.graph.upstream]:
        yield cut(f"{listed(roots, width - 25)}: only from the rows", width)


def nearest_upstream(view: WindowGroup, window: Window) -> list[Window]:
    """The windows that cover a window, without those that cover another one of them."""
    up = view.graph.upstream.get(window, ())
    farther = {v for u in up for v in view.graph.upstream.get(u, ())}
    return [u for u in reversed(up) if u not in farther]
