"""The boxes of the picture: the rows of a stream, and windows."""

from __future__ import annotations

from thalweg.explain.layout import Size
from thalweg.explain.model import WindowGroup, WindowStep
from thalweg.explain.shapes import box, hinted, text
from thalweg.explain.words import cut, listed, number, window_text

BOX: Size = (216.0, 78.0)
LINE = 16.0
PADDING = 10.0
ROWS_HEIGHT = 46.0
FITS = 34
"""The characters of a small line that a box has room for."""


def kind_of(step: WindowStep) -> str:
    """How a window is drawn."""
    return "factor" if step.factor else "old" if step.ending else "asked"


def rows_box(view: WindowGroup, x: float, y: float, size: Size) -> str:
    """Where everything comes from, at the foot of the room that a box has."""
    v = view.statistics.values
    middle, top = x + size[0] / 2, y + size[1] - ROWS_HEIGHT
    lines = [
        text(middle, top + 19, cut(f"rows of {view.group.stream}", 24), "name on", "middle"),
        text(middle, top + 35, f"{number(v.rate * v.batch / 1e6)} a batch", "small on", "middle"),
    ]
    return hinted(f"rows of {view.group.stream}", [box(x, top, size[0], ROWS_HEIGHT, "rows", 14), *lines])


def step_box(step: WindowStep, x: float, y: float, size: Size, most: float) -> str:
    """A window: its rows, its cost, whom it is for; the bar at its foot is its cost beside that of the dearest."""
    on = "" if step.factor else " on"
    lines = [text(x + PADDING, y + 20, name_of(step), f"name{on}")]
    for i, said in enumerate(_facts(step)):
        lines.append(text(x + PADDING, y + 38 + LINE * i, cut(said, FITS), f"small{on}"))
    share = (size[0] - 2 * PADDING) * step.expected.cost / most
    foot = box(x + PADDING, y + size[1] - 9, max(share, 1), 3, "share", 1.5)
    return hinted(hint(step), [box(x, y, *size, kind_of(step)), *lines, foot])


def name_of(step: WindowStep) -> str:
    """A window in the room that a box has."""
    return str(step.window) if len(str(step.window)) <= 23 else cut(window_text(step.window), 25)


def _facts(step: WindowStep) -> list[str]:
    e = step.expected
    kept = f", {number(e.state_rows)} kept" if e.state_rows else ""
    facts = [f"{number(e.rows_out)} rows{kept}, cost {number(e.cost)}"]
    if step.measured is not None:
        facts.append(_measured(step))
    return [*facts, "factor window" if step.factor else listed(step.queries, FITS)]


def _measured(step: WindowStep) -> str:
    m = step.measured
    if m is None or m.rows is None or m.millis is None:
        return "ran with the results"
    kept = f", {number(m.state_rows)} kept" if m.state_rows else ""
    return f"ran: {number(m.rows)} rows{kept}, {number(m.millis)} ms"


def hint(step: WindowStep) -> str:
    """Everything about a window, for whoever points at it."""
    users = f"for {', '.join(step.queries)}" if step.queries else "factor window"
    how = "from the rows" if step.source is None else f"{step.combined:,} instances combined ({step.how})"
    return f"{step.window}: {how}; reads {number(step.expected.rows_in)} rows a batch; {users}"
