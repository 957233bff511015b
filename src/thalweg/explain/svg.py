"""EXPLAIN as a picture: for each group the tree of its windows, from the rows on top, and what each mode would cost; then joins."""

from __future__ import annotations

from thalweg.explain.join_boxes import side_kind
from thalweg.explain.join_svg import join_picture
from thalweg.explain.layout import Block, Size, Wire, laid_out
from thalweg.explain.model import PlanView, WindowGroup, WindowStep
from thalweg.explain.shapes import box, document, line, text, wire
from thalweg.explain.svg_boxes import BOX, LINE, ROWS_HEIGHT, kind_of, rows_box, step_box
from thalweg.explain.svg_costs import COSTS_WIDTH, cost_chart, costs_height
from thalweg.explain.svg_page import MARGIN, WIDTH, Drawn
from thalweg.explain.text import heading, statistics_text, title
from thalweg.explain.words import cut

TOP, HEAD, GAP = 56.0, 84.0, 28.0
ROWS = ""
"""The key of the box that stands for the rows."""

LEGEND = {
    "asked": "window that queries ask for",
    "factor": "factor window, computed for other windows only",
    "kept": "input of a join kept as rows",
    "set": "input of a join aggregated early",
    "old": "until the switch is over",
}
EXPECTED = "rows, kept: (key, instance) rows expected per batch, and between batches; bar: cost beside the dearest window's"
JOINS = "a join's ms/s: work per second of stream; pairs: joined rows made"
RAN = "; ran: the last batch"


def picture(view: PlanView) -> str:
    """The whole plan as SVG text."""
    drawn: list[Drawn] = []
    for group in view.groups:
        drawn.append(_group(group, view, drawn[-1].bottom + GAP if drawn else TOP))
    for join in view.joins:
        drawn.append(join_picture(join, drawn[-1].bottom + GAP if drawn else TOP))
    right = max((d.right for d in drawn), default=MARGIN + COSTS_WIDTH)
    rules = [TOP, *(d.bottom + GAP for d in drawn)]
    parts = [text(MARGIN, 36, title(view), "title"), *(line(MARGIN, right, y) for y in rules), *(p for d in drawn for p in d.parts)]
    return document(right + MARGIN, rules[-1] + 62, title(view), [*parts, *_legend(view, rules[-1] + 8)])


def _group(view: WindowGroup, plan: PlanView, y: float) -> Drawn:
    """A heading, the tree, and the costs beside it where there is room, else below."""
    size = (BOX[0], BOX[1] + (LINE if plan.batch is not None else 0))
    tree = laid_out(ROWS, lambda id: [s.id for s in view.children(id or None)], size, WIDTH - 2 * MARGIN)
    top = y + HEAD - size[1] + ROWS_HEIGHT
    x, below = tree.width + 3 * MARGIN, top + tree.height
    at = (x, y + HEAD) if x + COSTS_WIDTH <= WIDTH else (MARGIN, below + MARGIN)
    right = max(MARGIN + tree.width, at[0] + COSTS_WIDTH)
    costs = cost_chart(view, plan.mode, *at)
    parts = (*_head(view, y, right - MARGIN), *_tree(view, tree.moved(MARGIN, top), size), *costs)
    return Drawn(parts, right, max(below, at[1] + costs_height(view, plan.mode)))


def _head(view: WindowGroup, y: float, width: float) -> list[str]:
    """What the group is, who asks, and what is known of its stream."""
    return [
        text(MARGIN, y + 26, cut(heading(view), int(width / 8.5)), "group"),
        text(MARGIN, y + 46, cut(f"{', '.join(view.aggregates) or 'groups'} for {', '.join(view.queries)}", int(width / 6.5))),
        text(MARGIN, y + 64, cut(statistics_text(view.statistics), int(width / 6.5)), "quiet"),
    ]


def _tree(view: WindowGroup, block: Block, size: Size) -> list[str]:
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
    return text(x + 6, y + 16, edge_label(step), "label")


def edge_label(step: WindowStep) -> str:
    """How a window comes from what it is computed from."""
    if step.source is None:
        return "each row"
    if step.how == "prefix":
        return f"{step.combined} running totals"
    return f"{step.combined:,} combined{', sparse' if step.how == 'sparse' else ''}"


def _legend(view: PlanView, y: float) -> list[str]:
    """What the boxes that there are mean."""
    said = [EXPECTED] if view.groups or not view.joins else []
    said = [*said, *([JOINS] if view.joins else [])]
    parts, x = [text(MARGIN, y + 14, "; ".join(said) + (RAN if view.batch is not None else ""), "quiet small")], MARGIN
    for kind, words in LEGEND.items():
        if kind in _kinds(view):
            parts += [box(x, y + 26, 22, 12, kind, 3), text(x + 30, y + 36, words, "quiet small")]
            x += 64 + 6 * len(words)
    return parts


def _kinds(view: PlanView) -> set[str]:
    """The sorts of boxes that there are."""
    kinds = {kind_of(s) for g in view.groups for s in g.steps}
    return kinds | {side_kind(r, s.side) for j in view.joins for r in j.runs for s in r.sides}
