"""At every instant join what the windows hold and aggregate; or join once for all instants of a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from thalweg.compile.evaluations.base import SENT, Evaluation, Meetings, Moment, Sizes, Statements, Step, Work
from thalweg.compile.inputs import (
    ALL,
    instant,
    joined,
    merged_lives,
    one_each,
    pairs_of,
    same_instant,
    standing,
    window_view,
)
from thalweg.compile.join_tree import View, attached
from thalweg.compile.views import AS_SAID, ONE_EACH, conditions, grouped, key_columns, weighed_parts
from thalweg.model.attaching import inner_inputs, inner_streams
from thalweg.optimizer.cost.join_engine import SECOND, CostedJoin, grouping
from thalweg.plan.join_order import meet_once
from thalweg.plan.ranges import LOWEST, Range
from thalweg.plan.shape import Shape
from thalweg.statistics.records import JoinStatistics


def _steps(shape: Shape, moment: Moment) -> Iterator[Step]:
    if moment.shown:
        yield Step(
            "snapshot",
            _snapshot_sql(shape, moment.range, is_expanded(shape, moment.shown), moment.sizes),
            SENT,
            moment.shown,
        )


def _snapshot_sql(shape: Shape, instants: Range, expand: bool, sizes: Sizes) -> str:
    """Each instant by itself, or all at once where windows overlap so much that this makes fewer pairs."""
    if meets_once(shape, instants):
        last = instants[1] - 1
        pairs = pairs_of(
            shape, {None: [ALL] * len(shape.sides)}, (LOWEST, last * shape.step), instants[0], sizes
        )
        return standing(
            shape,
            merged_lives(shape, pairs, instants, one_each(shape)),
            f'{AS_SAID} FILTER (WHERE "b" = "i")',
        )
    views = [window_view(shape, n, instants, expand, sizes, given=True) for n in range(len(shape.sides))]
    return met_at_instants(shape, views)


def met_at_instants(shape: Shape, views: Sequence[View]) -> str:
    """What inputs hold at each instant, joined and aggregated."""
    columns = [*key_columns(shape), instant(shape), *weighed_parts(shape)]
    rows = (
        _attached(shape, views, columns)
        if shape.query.attached
        else joined(columns, views, [*conditions(shape), *same_instant(shape)], shape.order(None))
    )
    return grouped(shape, ['"i"'], rows, ONE_EACH)


def _attached(shape: Shape, views: Sequence[View], columns: Sequence[str]) -> str:
    """What the windows of inner inputs hold, with those that are attached one after another."""
    query, met = shape.query, {*inner_inputs(shape.query)}
    same = [c for c in same_instant(shape) if c.inputs <= met]
    order = [n for n in shape.order(None) if n in met]
    tree = f"({joined(['*'], views, [*conditions(shape), *same], order)})"
    first = inner_streams(query)[0]
    for one in query.attached:
        on = [c for c in same_instant(shape) if c.inputs == {first, one.input}]
        tree = attached(tree, one.kind.upper(), views[one.input], [*conditions(shape, one), *on])
    kept = " AND ".join(f"({t.sql})" for t in query.kept)
    return f"SELECT {', '.join(columns)}\nFROM {tree}{f' WHERE {kept}' if kept else ''}"


def meets_once(shape: Shape, instants: Range) -> bool:
    """Whether rows meet once for all instants: at each there are as many pairs as windows hold, once as many as all rows between have."""
    if shape.query.attached or any(s.early for s in shape.sides if not s.static):
        return False
    count, spans = instants[1] - instants[0], [s for n in shape.streams if (s := shape.span(n)) is not None]
    return meet_once(spans, count * shape.step, count)


def is_expanded(shape: Shape, instants: tuple[int, ...]) -> bool:
    """Whether it is less to put every row into all of its instants than to look for its rows at every instant."""
    spans = [s for n in shape.streams if (s := shape.span(n)) is not None]
    return bool(spans) and len(instants) * shape.step >= max(spans)


def _meetings(join: CostedJoin, statistics: JoinStatistics) -> Meetings:
    return {None: _met_once(join, statistics) or [h.window for h in join.held]}


def _met_once(join: CostedJoin, statistics: JoinStatistics) -> list[float] | None:
    """What meets once for all instants of a batch: where rows are kept, and windows overlap much."""
    query, held, ahead = join.query, join.held, _ahead(join, statistics)
    windows = {n: length / SECOND for n in join.streams if (length := query.inputs[n].length) is not None}
    instants = ahead * SECOND / (query.every or SECOND)
    if (
        query.attached
        or any(held[n].early for n in join.streams)
        or not meet_once(list(windows.values()), ahead, instants)
    ):
        return None
    return [h.window * (1 + ahead / windows[n]) if n in windows else h.window for n, h in enumerate(held)]


def _ahead(join: CostedJoin, statistics: JoinStatistics) -> float:
    """How many seconds windows move in a batch that has an instant."""
    return max(join.query.every or SECOND, statistics.batch) / SECOND


def _work(join: CostedJoin, statistics: JoinStatistics) -> Work:
    c, groups, once = join.constants, statistics.groups, _met_once(join, statistics)
    rows = once or [h.window for h in join.held]
    pairs, cost = join.pairs(rows, None), join.cost(rows, None)
    if once is None:
        per_second, view = (
            SECOND / (join.query.every or SECOND),
            sum(h.viewed(h.window, c) for h in join.held),
        )
        results = grouping(0.0, groups, c)
    else:
        instants = _ahead(join, statistics) * SECOND / (join.query.every or SECOND)
        per_second, view = 1 / _ahead(join, statistics), sum(rows) * c.copy
        results = pairs * c.lift + groups * instants * instants * c.lift + grouping(0.0, groups * instants, c)
    found = [("windows", view), ("join", cost), ("results", results)]
    return [(n, v * per_second) for n, v in found], 0.0, pairs * per_second


SNAPSHOT = Evaluation(
    name="snapshot",
    words="the windows are joined anew, at every instant or once for all instants of a batch; no state but the inputs'",
    statements=Statements(4, 2),
    steps=_steps,
    meetings=_meetings,
    work=_work,
    serves=lambda query: query.every is not None,
)
