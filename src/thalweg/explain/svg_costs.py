"""The costs of the four modes as bars, the engine's beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap

from thalweg.explain.costs_text import in_force, no_choice, only_cost, period_text, reason
from thalweg.explain.model import WindowGroup
from thalweg.explain.shapes import box, text
from thalweg.explain.words import number, ratio
from thalweg.optimizer.plan_windows import MODES

COSTS_WIDTH = 570.0
BAR, ROW, LINE = 130.0, 20.0, 17.0
ENGINE, PAPER = 60.0, 320.0
"""Where the two columns of bars begin."""


def cost_chart(view: WindowGroup, mode: str, x: float, y: float) -> list[str]:
    """A row per mode, the one in force standing out, and the reasons; only a line where there is nothing to choose."""
    said = [text(x, y + 16 + _rows(view) + LINE * i, words, "quiet") for i, words in enumerate(_said(view, mode))]
    if no_choice(view.costs):
        return said
    chosen = in_force(view.costs, mode)
    heads = ("cost of", "engine: updates a batch", f"paper: events in {period_text(view.costs)}")
    parts = [text(x + at, y + 10, head, "quiet small") for at, head in zip((0, ENGINE, PAPER), heads, strict=True)]
    for i, m in enumerate(MODES):
        top = y + 18 + ROW * i
        parts.append(text(x, top + 13, m, "strong" if m == chosen else ""))
        parts += _bar(view.costs.engine, m, m == chosen, x + ENGINE, top)
        parts += _bar(view.costs.paper, m, m == chosen, x + PAPER, top)
    return parts + said


def costs_height(view: WindowGroup, mode: str) -> float:
    """The room that the chart takes."""
    return _rows(view) + LINE * len(_said(view, mode)) + 6


def _rows(view: WindowGroup) -> float:
    return 0.0 if no_choice(view.costs) else 18 + ROW * len(MODES) + 4


def _said(view: WindowGroup, mode: str) -> list[str]:
    if no_choice(view.costs):
        return wrap(only_cost(view.costs), 85)
    return wrap(reason(view, in_force(view.costs, mode)), 85)


def _bar(costs: Mapping[str, float], mode: str, chosen: bool, x: float, y: float) -> list[str]:
    """A cost as a bar beside the dearest, as a number and as a part of naive."""
    length = max(BAR * costs[mode] / (max(costs.values()) or 1), 1)
    said = f"{number(costs[mode])} ({ratio(costs[mode], costs['naive'])})"
    kind = ("chosen", "number strong") if chosen else ("bar", "number")
    return [box(x, y + 3, length, 12, kind[0], 2), text(x + length + 8, y + 13, said, kind[1])]
