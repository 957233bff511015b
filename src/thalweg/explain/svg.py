"""EXPLAIN as a picture: a diagram for each group of windows and each join, and beside it what its plans would cost."""

from __future__ import annotations

from thalweg.explain.charts import Chart, drawn_chart, mode_chart, plans_chart
from thalweg.explain.diagrams import Box, Diagram, diagrams
from thalweg.explain.layout import Block, Placed, Size, laid_out
from thalweg.explain.model import PlanView
from thalweg.explain.shapes import MARGIN, WIDTH, Drawn, box, document, hinted, line, text, wire
from thalweg.explain.summary import title
from thalweg.explain.words import cut

TOP, GAP, NAME, LINE, PADDING = 56.0, 28.0, 30.0, 16.0, 10.0
WIDE, JOIN_WIDE, ROWS = 216.0, 276.0, 46.0
LEGEND = {
    "asked": "window that queries ask for, or join",
    "factor": "factor window, computed for other windows only",
    "kept": "input of a join kept as rows",
    "set": "input of a join partially aggregated before the shuffle",
    "old": "until the switch is over",
    "shared": "shared by so many queries",
}
EXPECTED = "rows, kept: rows expected per batch, and between batches; bar: cost beside the dearest window's"
JOINS = "a join's ms/s: work per second of stream; pairs: joined rows made"
RAN = "ran: the last batch"


def picture(view: PlanView, papers: bool = False) -> str:
    """The whole plan as SVG text."""
    shown, drawn = list(diagrams(view)), list[Drawn]()
    charts = [
        *(mode_chart(g, view.mode, papers) for g in view.groups),
        *(plans_chart(j) for j in view.distinct_joins),
    ]
    for diagram, chart in zip(shown, charts, strict=True):
        drawn.append(_section(diagram, chart, drawn[-1].bottom + GAP if drawn else TOP))
    right = max((d.right for d in drawn), default=600.0)
    rules = [TOP, *(d.bottom + GAP for d in drawn)]
    parts = [
        text(MARGIN, 36, title(view), "title"),
        *(line(MARGIN, right, y) for y in rules),
        *(p for d in drawn for p in d.parts),
    ]
    legend = _legend(
        view,
        {k for d in shown for b in d.boxes for k in (b.kind, *(["shared"] if b.shared > 1 else []))},
        rules[-1] + 8,
    )
    return document(max(right, legend.right) + MARGIN, legend.bottom, title(view), [*parts, *legend.parts])


def _section(diagram: Diagram, chart: Chart, y: float) -> Drawn:
    """A heading, the boxes, and the costs beside them where there is room, else below."""
    size = (
        JOIN_WIDE if diagram.into_root else WIDE,
        NAME + LINE * max(len(b.lines) for b in diagram.boxes) + 14,
    )
    block = _placed(diagram, size)
    top = y + 30 + 18 * len(diagram.notes) + 16 - (size[1] - ROWS)
    block, x = block.moved(MARGIN, top), block.width + 3 * MARGIN
    below = top + block.height - (size[1] - ROWS if diagram.into_root else 0)
    at = (x, y + 30 + 18 * len(diagram.notes) + 16) if x + chart.width <= WIDTH else (MARGIN, below + MARGIN)
    costs = drawn_chart(chart, *at)
    right = max(MARGIN + block.width, costs.right)
    head = [text(MARGIN, y + 26, cut(diagram.title, int(right / 8.5)), "group")]
    head += [
        text(MARGIN, y + 46 + 18 * i, cut(note, int(right / 6.3)), "quiet")
        for i, note in enumerate(diagram.notes)
    ]
    return Drawn((*head, *_tree(diagram, block, size), *costs.parts), right, max(below, costs.bottom))


def _placed(diagram: Diagram, size: Size) -> Block:
    """Where the boxes stand: what is read above what reads it."""
    following: dict[str, list[str]] = {}
    for e in diagram.edges:
        near, far = (e.target, e.source) if diagram.into_root else (e.source, e.target)
        following.setdefault(near, []).append(far)
    block = laid_out(diagram.root, lambda key: following.get(key, []), size, WIDTH - 2 * MARGIN)
    return block.upside_down(size) if diagram.into_root else block


def _tree(diagram: Diagram, block: Block, size: Size) -> list[str]:
    boxes = {b.key: b for b in diagram.boxes}
    labels = {e.target: e.label for e in diagram.edges}
    parts = [wire(w.points, w.into is not None) for w in block.wires]
    parts += [
        text(w.points[0][0] + 6, w.points[0][1] + 16, labels[w.into], "label")
        for w in block.wires
        if w.into and labels.get(w.into)
    ]
    return parts + [_box(boxes[p.key], p, size) for p in block.boxes]


def _box(b: Box, at: Placed, size: Size) -> str:
    """A box in the room that there is for one: rows at its foot, where their wire begins, results at its head, all else filling it."""
    on = "" if b.kind in ("factor", "kept") else " on"
    if b.kind in ("rows", "results"):
        y = at.y + size[1] - ROWS if b.kind == "rows" else at.y
        middle = at.x + size[0] / 2
        said = [text(middle, y + 19, b.name, "name on", "middle")]
        said += [
            text(middle, y + 35 + LINE * i, words, "small on", "middle") for i, words in enumerate(b.lines)
        ]
        return hinted(b.hint, b.queries, [box(at.x, y, size[0], ROWS, b.kind, 14), *said])
    said = [text(at.x + PADDING, at.y + 20, b.name, f"name{on}")]
    said += [
        text(at.x + PADDING, at.y + 38 + LINE * i, words, f"small{on}") for i, words in enumerate(b.lines)
    ]
    if b.part is not None:
        said.append(
            box(at.x + PADDING, at.y + size[1] - 9, max((size[0] - 2 * PADDING) * b.part, 1), 3, "share", 1.5)
        )
    return hinted(b.hint, b.queries, [box(at.x, at.y, *size, b.kind), *said, *_badge(b, at, size)])


def _badge(b: Box, at: Placed, size: Size) -> list[str]:
    """By how many queries a box is shared."""
    if b.shared < 2:
        return []
    x, y = at.x + size[0] - 36, at.y + 7
    return [box(x, y, 28, 16, "shared", 8), text(x + 14, y + 12, f"{b.shared}", "count", "middle")]


def _legend(view: PlanView, kinds: set[str], y: float) -> Drawn:
    """What the boxes that there are mean."""
    said = [*([EXPECTED] if view.groups or not view.joins else []), *([JOINS] if view.joins else [])]
    parts, x, right = (
        [text(MARGIN, y + 14, "; ".join([*said, *([RAN] if view.batch is not None else [])]), "quiet small")],
        MARGIN,
        0.0,
    )
    top = y + 26
    for kind, words in LEGEND.items():
        if kind in kinds:
            width = 64 + 5.6 * len(words)
            if x + width > WIDTH:
                x, top = MARGIN, top + 20
            parts += [box(x, top, 22, 12, kind, 3), text(x + 30, top + 10, words, "quiet small")]
            x, right = x + width, max(right, x + width)
    return Drawn(tuple(parts), right, top + 36)
