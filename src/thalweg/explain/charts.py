"""What plans cost, as bars beside each other, and why the one in force is."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap

from thalweg.explain.costs_text import in_force, no_choice, only_cost, period_text, reason
from thalweg.explain.join_costs_text import all_plans, join_reason, mark, millis, plan_text, times
from thalweg.explain.model import JoinView, WindowGroup
from thalweg.explain.shapes import Drawn, box, text
from thalweg.explain.words import number, ratio
from thalweg.optimizer.plan_windows import MODES

BAR, ROW, LINE, NAME = 130.0, 20.0, 17.0, 150.0
COLUMN = 290.0
"""From one column of bars to the next."""

SHOWN = 8
"""The plans of a join that have a bar."""


@dataclass(frozen=True)
class Bar:
    """A cost in figures, and in parts of the dearest."""

    part: float
    said: str


@dataclass(frozen=True)
class Chart:
    """Columns of bars with a head each, a row per plan, and the reason in words."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, bool, tuple[Bar, ...]], ...]
    said: str

    @property
    def width(self) -> float:
        """The room that it takes."""
        return NAME + COLUMN * max(len(self.heads), 1)

    @property
    def height(self) -> float:
        """The room that it takes."""
        return (18 + ROW * len(self.rows) + 4 if self.rows else 0.0) + LINE * len(self.lines) + 6

    @property
    def lines(self) -> list[str]:
        """The reason in lines."""
        return wrap(self.said, int(self.width / 6.2))


def mode_chart(view: WindowGroup, mode: str, papers: bool) -> Chart:
    """The modes of a group; only words where there is nothing to choose."""
    c, chosen = view.costs, in_force(view.costs, mode)
    if no_choice(c):
        return Chart((), (), only_cost(c, papers))
    costs = [c.engine, *([c.made] if papers else [])]
    heads = ("engine: updates a batch", *([f"paper: events in {period_text(c)}"] if papers else []))
    rows = tuple(
        (m, m == chosen, tuple(_bar(x[m], max(x.values()), x["naive"]) for x in costs)) for m in MODES
    )
    return Chart(heads, rows, reason(view, chosen))


def _bar(cost: float, most: float, naive: float) -> Bar:
    return Bar(float(ratio(cost, most)) if most else 0.0, f"{number(cost)} ({ratio(cost, naive)})")


def plans_chart(view: JoinView) -> Chart:
    """The cheapest plans of a join, and those in force."""
    plans = all_plans(view)
    shown = [p for i, p in enumerate(plans) if i < SHOWN or mark(view, p).strip()]
    most, least = max(p.estimate.nanos for p in shown) or 1.0, plans[0].estimate.nanos
    bars = [
        Bar(p.estimate.nanos / most, f"{millis(p.estimate.nanos)} ms ({times(p.estimate.nanos, least)})")
        for p in shown
    ]
    rows = tuple((plan_text(p), bool(mark(view, p).strip()), (b,)) for p, b in zip(shown, bars, strict=True))
    return Chart((f"work per second of stream, {len(shown)} of {len(plans)} plans",), rows, join_reason(view))


def drawn_chart(chart: Chart, x: float, y: float) -> Drawn:
    """A row per plan, the one in force standing out, and the reason below."""
    parts = [text(x + NAME + COLUMN * i, y + 10, head, "quiet small") for i, head in enumerate(chart.heads)]
    for i, (name, chosen, bars) in enumerate(chart.rows):
        top = y + 18 + ROW * i
        parts.append(text(x, top + 13, name, "strong" if chosen else ""))
        for n, b in enumerate(bars):
            at, length = x + NAME + COLUMN * n, max(BAR * b.part, 1)
            parts.append(box(at, top + 3, length, 12, "chosen" if chosen else "bar", 2))
            parts.append(text(at + length + 8, top + 13, b.said, "number strong" if chosen else "number"))
    foot = y + (18 + ROW * len(chart.rows) + 4 if chart.rows else 0) + 12
    parts += [text(x, foot + LINE * i, words, "quiet") for i, words in enumerate(chart.lines)]
    return Drawn(tuple(parts), x + chart.width, y + chart.height)
