"""The boxes of a drawn join: a stream, a side, the join, its results."""

from __future__ import annotations

from thalweg.explain.join_costs_text import millis
from thalweg.explain.join_model import InputView, JoinRun, JoinView, KeptState
from thalweg.explain.join_runs_text import run_title
from thalweg.explain.join_words import columns_text, condition_texts, joined_sql, kept_text
from thalweg.explain.layout import Point
from thalweg.explain.shapes import box, hinted, text
from thalweg.explain.words import cut, listed, number, plain_sql, short_duration
from thalweg.logical.join import window_text
from thalweg.logical.windows import duration_text
from thalweg.plan.nodes import Side

WIDE = 232.0
HEIGHTS = (46.0, 74.0)
"""Of streams and results, and of sides and the join."""

PADDING, LINE = 10.0, 16.0
FITS = 38
"""The characters of a small line that a box has room for."""


def input_box(view: InputView, x: float, y: float) -> str:
    """A stream or a table with its window and its rate."""
    given = view.given
    known = f"{number(view.statistics.rate)} rows/s" if given.is_stream else f"table of {number(view.statistics.rows)} rows"
    where = " and ".join(plain_sql(c.sql) for c in given.where)
    lines = [
        text(x + WIDE / 2, y + 19, cut(f"{given.source} {given.alias}", 28), "name on", "middle"),
        text(x + WIDE / 2, y + 35, cut(", ".join(filter(None, [window_text(given), known])), FITS), "small on", "middle"),
    ]
    return hinted(f"{given.source} where {where}" if where else given.source, [box(x, y, WIDE, HEIGHTS[0], "rows", 14), *lines])


def side_kind(run: JoinRun, side: Side) -> str:
    """How a side is drawn."""
    return "old" if run.join.until is not None else "set" if side.early else "kept"


def side_lines(view: JoinView, run: JoinRun, number: int) -> list[str]:
    """What a side is, by what, for whom, and what was measured of it."""
    side, others = run.sides[number].side, [q for q in run.sides[number].queries if q != view.query.name]
    per = "" if side.static else f" per {short_duration(side.slot)}"
    lines = ["aggregation set" if side.early else "rows", f"{'by ' if side.early else ''}({columns_text(side)}){per}"]
    lines.append(f"shared with {listed(others, FITS - 12)}" if others else "for this query alone")
    return [*lines, *_ran(run.sides[number].measured, "lift")]


def side_box(view: JoinView, run: JoinRun, number: int, at: Point, height: float) -> str:
    """What is kept of an input."""
    side = run.sides[number].side
    kind = side_kind(run, side)
    return hinted(kept_text(view.query, number, side), _box(at, (WIDE, height), kind, side_lines(view, run, number)))


def join_lines_of(view: JoinView, run: JoinRun) -> list[str]:
    """How a join is evaluated, on what, and what that is expected to take."""
    e = run.cost.estimate
    cost = f"{millis(e.nanos)} ms/s, {number(e.state_rows)} rows kept, {number(e.pairs)} pairs/s"
    return [run_title(run), " and ".join(condition_texts(view.query)) or "every pair", cost, *_ran(run.measured, run.join.evaluate)]


def join_box(view: JoinView, run: JoinRun, at: Point, height: float) -> str:
    """The join itself."""
    kind = "old" if run.join.until is not None else "asked"
    return hinted(" and ".join(condition_texts(view.query)), _box(at, (WIDE * 1.4, height), kind, join_lines_of(view, run), 56))


def result_text(view: JoinView) -> str:
    """When results are given out, and by what."""
    q = view.query
    if q.every is None:
        return "joined rows, in the batch of their last row"
    keys = ", ".join(joined_sql(k.sql) for k in q.keys)
    return f"every {duration_text(q.every)}{f' by {keys}' if keys else ''}{', changes' if q.changes else ''}"


def result_box(view: JoinView, x: float, y: float) -> str:
    """What users see."""
    middle, width = x + WIDE * 0.7, WIDE * 1.4
    lines = [
        text(middle, y + 19, cut(f"results of {view.query.name}", 40), "name on", "middle"),
        text(middle, y + 35, cut(result_text(view), 56), "small on", "middle"),
    ]
    return hinted(view.query.text, [box(x, y, width, HEIGHTS[0], "rows", 14), *lines])


def _box(at: Point, size: tuple[float, float], kind: str, said: list[str], fits: int = FITS) -> list[str]:
    """A filled box with a name and small lines."""
    on = "" if kind == "kept" else " on"
    (x, y), (name, *lines) = at, said
    parts = [box(x, y, *size, kind), text(x + PADDING, y + 20, cut(name, fits - 8), f"name{on}")]
    return parts + [text(x + PADDING, y + 38 + LINE * i, cut(words, fits), f"small{on}") for i, words in enumerate(lines)]


def _ran(state: KeptState | None, step: str) -> list[str]:
    """What was measured, in a line."""
    if state is None:
        return []
    rows = state.times.get(step, (0, 0.0))[0]
    kept = f", {number(state.rows)} kept" if state.rows else ""
    return [f"ran: {number(rows)} rows{kept}, {number(sum(ms for _, ms in state.times.values()))} ms"]
