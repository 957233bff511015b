"""The costs of the four modes as bars, the engine's beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping

from thalweg.explain.costs_text import in_force, period_text, reason
from thalweg.explain.model import WindowGroup
from thalweg.explain.shapes import box, text
from thalweg.explain.words import cut, number, ratio
from thalweg.optimizer.plan_windows import MODES

COSTS_WIDTH, COSTS_HEIGHT = 720.0, 140.0
BAR, ROW = 170.0, 20.0


def cost_chart(view: WindowGroup, mode: str, x: float, y: float) -> list[str]:
    """A row per mode; the one in force stands out."""
    c, chosen = view.costs, in_force(view.costs, mode)
    paper = f"paper: events in {period_text(c)}"
    parts = [text(x, y + 14, "cost of", "quiet small"), text(x + 80, y + 14, "engine: updates a batch", "quiet small")]
    parts.append(text(x + 410, y + 14, paper, "quiet small"))
    for i, m in enumerate(MODES):
        top = y + 22 + ROW * i
        strong = "strong" if m == chosen else ""
        parts.append(text(x, top + 13, m, strong))
        parts += _bar(c.engine, m, m == chosen, x + 80, top) + _bar(c.paper, m, m == chosen, x + 410, top)
    parts.append(text(x, y + 22 + ROW * 4 + 18, cut(reason(view, chosen), 150), "quiet"))
    return parts


def _bar(costs: Mapping[str, float], mode: str, chosen: bool, x: float, y: float) -> list[str]:
    """A cost as a bar beside the dearest, as a number and as a part of naive."""
    most = max(costs.values()) or 1
    length = max(BAR * costs[mode] / most, 1)
    said = f"{number(costs[mode])}  ({ratio(costs[mode], costs['naive'])})"
    return [box(x, y + 3, length, 12, "chosen" if chosen else "bar", 2), text(x + length + 8, y + 13, said, "number strong" if chosen else "number")]
