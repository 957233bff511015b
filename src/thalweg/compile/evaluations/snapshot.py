"""At every instant join what the windows hold and aggregate; or join once for all instants of a batch."""

from __future__ import annotations

from collections.abc import Iterator

from thalweg.compile.evaluations.base import SENT, Evaluation, Moment, Sizes, Step, Work
from thalweg.compile.inputs import ALL, instant, joined, merged_lives, pairs_of, same_instant, standing, window_view
from thalweg.compile.views import conditions, grouped, key_columns, weighed_parts
from thalweg.optimizer.cost.join_engine import SECOND, CostedJoin, grouping, viewed
from thalweg.plan.join_order import meet_once
from thalweg.plan.ranges import LOWEST, Range
from thalweg.plan.shape import Shape
from thalweg.statistics.records import JoinStatistics


def _steps(shape: Shape, moment: Moment) -> Iterator[Step]:
    if moment.shown:
        yield Step("snapshot", _snapshot_sql(shape, moment.range, is_expanded(shape, moment.shown), moment.sizes), SENT, moment.shown)


def _snapshot_sql(shape: Shape, instants: Range, expand: bool, sizes: Sizes) -> str:
    """Each instant by itself, or all at once where windows overlap so much that this makes fewer pairs."""
    if meets_once(shape, instants):
        last = instants[1] - 1
        pairs = pairs_of(shape, [[ALL] * len(shape.sides)], (LOWEST, last * shape.step), instants[0], sizes)
        return standing(shape, merged_lives(shape, pairs, instants))
    views = [window_view(shape, n, instants, expand, sizes) for n in range(len(shape.sides))]
    rows = joined([*key_columns(shape), instant(shape), *weighed_parts(shape)], views, [*conditions(shape), *same_instant(shape)])
    return grouped(shape, ['"i"'], rows)


def meets_once(shape: Shape, instants: Range) -> bool:
    """Whether rows meet once for all instants: at each there are as many pairs as windows hold, once as many as all rows between have."""
    if any(s.early for s in shape.sides if not s.static):
        return False
    count, spans = instants[1] - instants[0], [s for n in shape.streams if (s := shape.span(n)) is not None]
    return meet_once(spans, count * shape.step, count)


def is_expanded(shape: Shape, instants: tuple[int, ...]) -> bool:
    """Whether it is less to put every row into all of its instants than to look for its rows at every instant."""
    spans = [s for n in shape.streams if (s := shape.span(n)) is not None]
    return bool(spans) and len(instants) * shape.step >= max(spans)


def _work(join: CostedJoin, statistics: JoinStatistics) -> Work:
    if (once := _met_once(join, statistics)) is not None:
        return once
    c, per_second = join.constants, SECOND / (join.query.every or SECOND)
    whole = [h.window for h in join.held]
    view = sum(viewed(h, h.window, c) for h in join.held)
    found = [("windows", view), ("join", join.cost(whole)), ("results", grouping(0.0, statistics.groups, c))]
    return [(n, v * per_second) for n, v in found], 0.0, join.pairs(whole) * per_second


def _met_once(join: CostedJoin, statistics: JoinStatistics) -> Work | None:
    """The pairs are made once for all instants of a batch: where rows are kept, and windows overlap much."""
    query, held, c, groups = join.query, join.held, join.constants, statistics.groups
    every, batch = (query.every or SECOND) / SECOND, statistics.batch / SECOND
    instants = max(1.0, batch / every)
    windows = {n: length / SECOND for n in join.streams if (length := query.inputs[n].length) is not None}
    ahead = instants * every
    if any(held[n].early for n in join.streams) or not meet_once(list(windows.values()), ahead, instants):
        return None
    rows = [h.window * (1 + ahead / windows[n]) if n in windows else h.window for n, h in enumerate(held)]
    pairs, per_second = join.pairs(rows), 1 / (instants * every)
    results = pairs * c.lift + groups * instants * instants * c.lift + grouping(0.0, groups * instants, c)
    found = [("windows", sum(rows) * c.copy), ("join", join.cost(rows)), ("results", results)]
    return [(n, v * per_second) for n, v in found], 0.0, pairs * per_second


SNAPSHOT = Evaluation(
    name="snapshot",
    words="the windows are joined anew, at every instant or once for all instants of a batch; no state but the inputs'",
    statements=8,
    steps=_steps,
    work=_work,
)
