"""A join as a picture: streams, what is kept of them, the join, its results; beside them what its cheapest plans cost."""

from __future__ import annotations

from textwrap import wrap

from thalweg.explain.join_boxes import HEIGHTS, WIDE, input_box, join_box, result_box, side_box
from thalweg.explain.join_costs_text import all_plans, join_reason, mark, millis, plan_text, times
from thalweg.explain.join_model import JoinRun, JoinView
from thalweg.explain.join_runs_text import partitions_text, span_text
from thalweg.explain.join_text import join_heading
from thalweg.explain.shapes import box, text, wire
from thalweg.explain.svg_page import MARGIN, WIDTH, Drawn
from thalweg.explain.words import cut

HEAD, GAP, DROP = 74.0, 24.0, 34.0
BAR, ROW, NAME, LINE, COSTS = 190.0, 20.0, 150.0, 17.0, 460.0
SHOWN = 8
"""The plans that have a bar."""


def join_picture(view: JoinView, y: float) -> Drawn:
    """A heading, a drawing for each plan that runs, and the costs beside where there is room, else below."""
    drawn: list[Drawn] = []
    for run in view.runs:
        drawn.append(_run(view, run, drawn[-1].bottom + GAP if drawn else y + HEAD))
    right, below = max(d.right for d in drawn), drawn[-1].bottom
    at = (right + 2 * MARGIN, y + HEAD) if right + 2 * MARGIN + COSTS <= WIDTH else (MARGIN, below + MARGIN)
    costs = _costs(view, *at)
    parts = (*_head(view, y), *(p for d in drawn for p in d.parts), *costs.parts)
    return Drawn(parts, max(right, costs.right), max(below, costs.bottom))


def _head(view: JoinView, y: float) -> list[str]:
    aliases = [i.given.alias for i in view.inputs]
    return [
        text(MARGIN, y + 26, cut(join_heading(view), 120), "group"),
        text(MARGIN, y + 46, cut(f"partitions: {partitions_text(view.run, aliases)}", 150), "quiet"),
    ]


def _run(view: JoinView, run: JoinRun, y: float) -> Drawn:
    """Four storeys with wires between them; which instants it is for stands above where not all are."""
    if said := span_text(view, run).strip(" ()"):
        return _storeys(view, run, y + LINE, [text(MARGIN, y + 8, said, "label")])
    return _storeys(view, run, y, [])


def _storeys(view: JoinView, run: JoinRun, y: float, above: list[str]) -> Drawn:
    tall = HEIGHTS[1] + (LINE if view.is_measured else 0)
    tops = [y, y + HEIGHTS[0] + DROP]
    tops += [tops[1] + tall + DROP * 1.5]
    tops += [tops[2] + tall + DROP]
    places = [MARGIN + n * (WIDE + GAP) for n in range(len(run.sides))]
    right = places[-1] + WIDE
    middle = (MARGIN + right) / 2
    parts = list(above)
    for n, x in enumerate(places):
        parts += [wire([(x + WIDE / 2, tops[0] + HEIGHTS[0]), (x + WIDE / 2, tops[1])], True), input_box(view.inputs[n], x, tops[0])]
        parts += [side_box(view, run, n, (x, tops[1]), tall), _into(x + WIDE / 2, middle, tops[1] + tall, tops[2])]
    parts += [wire([(middle, tops[2] - DROP), (middle, tops[2])], True), join_box(view, run, (middle - WIDE * 0.7, tops[2]), tall)]
    parts += [wire([(middle, tops[2] + tall), (middle, tops[3])], True), result_box(view, middle - WIDE * 0.7, tops[3])]
    return Drawn(tuple(parts), right, tops[3] + HEIGHTS[0])


def _into(x: float, middle: float, top: float, bottom: float) -> str:
    """From a side down to the wire above the join, and along it."""
    return wire([(x, top), (x, bottom - DROP), (middle, bottom - DROP)])


def _costs(view: JoinView, x: float, y: float) -> Drawn:
    """A bar for each of the cheapest plans, those in force standing out, and the reason."""
    plans = all_plans(view)
    shown = [p for i, p in enumerate(plans) if i < SHOWN or mark(view, p).strip()]
    most = max(p.estimate.nanos for p in shown) or 1.0
    parts = [text(x, y + 10, f"work per second of stream, {len(shown)} of {len(plans)} plans", "quiet small")]
    for i, p in enumerate(shown):
        top, runs = y + 18 + ROW * i, bool(mark(view, p).strip())
        length = max(BAR * p.estimate.nanos / most, 1)
        said = f"{millis(p.estimate.nanos)} ms ({times(p.estimate.nanos, plans[0].estimate.nanos)})"
        parts += [
            text(x, top + 13, plan_text(p), "strong" if runs else ""),
            box(x + NAME, top + 3, length, 12, "chosen" if runs else "bar", 2),
        ]
        parts.append(text(x + NAME + length + 8, top + 13, said, "number strong" if runs else "number"))
    foot = y + 18 + ROW * len(shown)
    lines = wrap(join_reason(view), 70)
    parts += [text(x, foot + 16 + LINE * i, words, "quiet") for i, words in enumerate(lines)]
    return Drawn(tuple(parts), x + COSTS, foot + 6 + LINE * len(lines))
