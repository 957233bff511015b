"""Windows that are asked for stop being sources where that costs less than keeping their instances at hand for others."""

from __future__ import annotations

from collections.abc import Callable

from thalweg.model.windows import Window
from thalweg.optimizer.cost.edges import Edges, Weigh, priced
from thalweg.optimizer.forest import Forest, Step

Keep = Callable[[Window, float], float]
"""What it costs to keep the instances of a window for so long."""


def flatten(forest: Forest, weigh: Weigh, edges: Edges, opened: float, keep: Keep) -> Forest:
    """The forest with users of derived windows moved up to what those are derived from, where the sum gets smaller.

    `opened` is the cost of a derived window that others read, in a batch in which an instance ends: it runs as a step of its own and is
    kept for them.
    """
    for step in reversed(forest.steps):
        users = forest.users(step.window)
        if step.source is None or not users:
            continue
        moved = [_moved(u, step, weigh, edges) for u in users]
        longest, handed = (
            max(u.window.range for u in users),
            opened * min(1.0, weigh(step.window, step.factor).times),
        )
        present = (
            sum(priced(u, weigh) for u in users)
            + handed
            + (priced(step, weigh) if step.factor else 0.0)
            + keep(step.window, longest)
        )
        found = [m for m in moved if m is not None]
        kept = max(step.source.range, *(u.window.range for u in forest.users(step.source)))
        longer = keep(step.source, longest) - keep(step.source, kept) if longest > kept else 0.0
        if len(found) == len(users) and sum(priced(m, weigh) for m in found) + longer < present:
            forest = _replaced(forest, {m.window: m for m in found}, step if step.factor else None)
    return forest


def _moved(user: Step, step: Step, weigh: Weigh, edges: Edges) -> Step | None:
    """A user of a step computed from what the step itself is computed from, if that can be."""
    assert step.source is not None
    source, window = weigh(step.source, False), weigh(user.window, user.factor)
    return edges.step(window, source) if edges.cost(window, source) < float("inf") else None


def _replaced(forest: Forest, moved: dict[object, Step], dropped: Step | None) -> Forest:
    return Forest(tuple(moved.get(s.window, s) for s in forest if s is not dropped))
