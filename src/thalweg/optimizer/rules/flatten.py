"""Windows that are asked for stop being sources where that costs less than keeping their instances at hand for others."""

from __future__ import annotations

from thalweg.optimizer.cost.edges import Edges, Weigh, priced
from thalweg.optimizer.forest import Forest, Step


def flatten(forest: Forest, weigh: Weigh, edges: Edges, opened: float) -> Forest:
    """The forest with users of derived windows moved up to what those are derived from, where the sum gets smaller.

    `opened` is the cost of a derived window that others read: it runs as a step of its own and is kept for them.
    """
    for step in reversed(forest.steps):
        users = forest.users(step.window)
        if step.source is None or not users:
            continue
        moved = [_moved(u, step, weigh, edges) for u in users]
        present = sum(priced(u, weigh) for u in users) + opened + (priced(step, weigh) if step.factor else 0.0)
        found = [m for m in moved if m is not None]
        if len(found) == len(users) and sum(priced(m, weigh) for m in found) < present:
            forest = _replaced(forest, {m.window: m for m in found}, step if step.factor else None)
    return forest


def _moved(user: Step, step: Step, weigh: Weigh, edges: Edges) -> Step | None:
    """A user of a step computed from what the step itself is computed from, if that can be."""
    assert step.source is not None
    source, window = weigh(step.source, False), weigh(user.window, user.factor)
    return edges.step(window, source) if edges.cost(window, source) < float("inf") else None


def _replaced(forest: Forest, moved: dict[object, Step], dropped: Step | None) -> Forest:
    return Forest(tuple(moved.get(s.window, s) for s in forest if s is not dropped))
