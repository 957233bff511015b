"""What enters at each instant is told once: groups that never lose a row are added up where they are finished, and change where rows come.

For EMIT CHANGES over windows without end alone, and over those of GROUP BY, whose groups are of one instance each. An instant at which
nothing enters is not looked at. State: one row per group, where groups are finished.
"""

from __future__ import annotations

from collections.abc import Iterator

from thalweg.compile.evaluations.base import SENT, Evaluation, Moment, Statements, Step, Work
from thalweg.compile.evaluations.expiry import fresh_inputs, new_rows
from thalweg.compile.inputs import pairs_of, turns
from thalweg.compile.told import entering_sql
from thalweg.compile.views import ONE_EACH, grouped
from thalweg.optimizer.cost.join_engine import SECOND, CostedJoin, grouping
from thalweg.plan.ranges import LOWEST
from thalweg.plan.shape import Shape
from thalweg.statistics.records import JoinStatistics


def _steps(shape: Shape, moment: Moment) -> Iterator[Step]:
    low = LOWEST if moment.final[0] == LOWEST else (moment.final[0] - 1) * shape.step
    slots = low, (moment.final[1] - 1) * shape.step
    fresh = fresh_inputs(shape, moment, slots)
    if fresh and shape.query.told:
        yield Step("entering", entering_sql(shape, slots), SENT)
    elif fresh:
        pairs = pairs_of(shape, turns(shape, fresh), slots, moment.final[0], moment.sizes)
        entering = f'SELECT * EXCLUDE ("d") RENAME ("b" AS "i") FROM ({pairs})'
        yield Step("entering", grouped(shape, ['"i"'], entering, ONE_EACH), SENT)


def _work(join: CostedJoin, statistics: JoinStatistics) -> Work:
    c, groups, met = join.constants, statistics.groups, new_rows(join, statistics)
    instants = max(1.0, statistics.batch / (join.query.every or SECOND))
    per_second = 1 / (instants * (join.query.every or SECOND) / SECOND)
    new = sum(join.pairs(rows, k) for k, rows in met.items())
    cost = sum(join.cost(rows, k) for k, rows in met.items())
    results = grouping(new, min(new, groups * instants), c) + groups * c.copy
    found = [("windows", join.viewed_apart), ("join", cost), ("results", results)]
    return [(n, v * per_second) for n, v in found], groups, new * per_second


LANDMARK = Evaluation(
    name="landmark",
    words="what enters at each instant is told to its group once; no state but the inputs'",
    statements=Statements(4),
    steps=_steps,
    meetings=new_rows,
    work=_work,
    serves=lambda query: query.accumulates,
    stands=False,
)
