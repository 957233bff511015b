"""EXPLAIN as a picture: for each group the tree of its windows, from the rows on top, and what each mode would cost."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.explain.layout import Block, Wire, laid_out
from thalweg.explain.model import PlanView, WindowGroup, WindowStep
from thalweg.explain.shapes import box, document, text, wire
from thalweg.explain.svg_boxes import BOX, LINE, rows_box, step_box
from thalweg.explain.svg_costs import COSTS_HEIGHT, COSTS_WIDTH, cost_chart
from thalweg.explain.text import heading, statistics_text, title
from thalweg.explain.words import cut

WIDTH = 1320.0
MARGIN = 24.0
ROWS = ""
"""The key of the box that stands for the rows."""


@dataclass(frozen=True)
class Drawn:
    """A piece of the picture and where it ends."""

    parts: tuple[str, ...]
    right: float
    bottom: float


def picture(view: PlanView) -> str:
    """The whole plan as SVG text."""
    parts = [text(MARGIN, 36, title(view), "title")]
    right, y = COSTS_WIDTH + MARGIN, 56.0
    for group in view.groups:
        drawn = _group(group, view, y)
        parts += drawn.parts
        right, y = max(right, drawn.right), drawn.bottom + 36
    parts += _legend(y)
    return document(right + MARGIN, y + 44, title(view), parts)


def _group(view: WindowGroup, plan: PlanView, y: float) -> Drawn:
    """A heading, the tree, the costs."""
    size = (BOX[0], BOX[1] + (LINE if plan.batch is not None else 0))
    block = laid_out(ROWS, lambda id: [s.id for s in view.children(id or None)], size, WIDTH - 2 * MARGIN)
    right = MARGIN + max(block.width, COSTS_WIDTH)
    fits = int((right - MARGIN) / 6.2)
    head = [
        f'<line x1="{MARGIN}" x2="{right:.0f}" y1="{y:.0f}" y2="{y:.0f}" class="line"/>',
        text(MARGIN, y + 26, cut(heading(view), int(fits * 0.75)), "group"),
        text(MARGIN, y + 46, cut(f"{', '.join(view.aggregates)} for {', '.join(view.queries)}", fits), ""),
        text(MARGIN, y + 64, cut(statistics_text(view.statistics), fits), "quiet"),
    ]
    placed = block.moved(MARGIN, y + 82)
    bottom = y + 82 + block.height + 24
    costs = cost_chart(view, plan.mode, MARGIN, bottom)
    return Drawn((*head, *_tree(view, placed, size), *costs), right, bottom + COSTS_HEIGHT)


def _tree(view: WindowGroup, block: Block, size: tuple[float, float]) -> list[str]:
    steps = {s.id: s for s in view.steps}
    most = max((s.expected.cost for s in view.steps), default=1.0)
    parts = [wire(w.points, w.into is not None) for w in block.wires]
    parts += [_label(w, steps[w.into]) for w in block.wires if w.into is not None]
    for b in block.boxes:
        parts.append(rows_box(view, b.x, b.y, size) if b.key == ROWS else step_box(steps[b.key], b.x, b.y, size, most))
    return parts


def _label(w: Wire, step: WindowStep) -> str:
    """How many instances are combined, beside the arrow into a window."""
    (x, y), _ = w.points
    said = "each row" if step.source is None else "difference of 2 totals" if step.how == "prefix" else f"{step.combined:,} combined"
    return text(x + 6, y + 16, f"{said}, sparse" if step.how == "sparse" else said, "label")


def _legend(y: float) -> list[str]:
    parts, x = [text(MARGIN, y + 12, "rows, kept: expected (key, instance) rows per batch, and between batches; bar: cost beside the dearest window's", "quiet small")], MARGIN
    for kind, said in (("asked", "window that queries ask for"), ("factor", "factor window, computed for others only"), ("old", "until a switch is over")):
        parts += [box(x, y + 24, 22, 12, kind, 3), text(x + 30, y + 34, said, "quiet small")]
        x += 60 + 6 * len(said)
    return parts
