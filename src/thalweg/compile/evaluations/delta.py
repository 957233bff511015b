"""Keep the totals of each group (IC): at every instant add the pairs that enter and subtract those that leave.

It takes aggregates that pairs can be taken out of again, without rounding. State: one row per group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from thalweg.compile.evaluations.base import (
    KEPT,
    SENT,
    Evaluation,
    Meetings,
    Moment,
    Sizes,
    Statements,
    Step,
    Work,
)
from thalweg.compile.evaluations.snapshot import is_expanded
from thalweg.compile.inputs import NEW, instant, joined, rows_of, same_instant, window_view
from thalweg.compile.join_tree import View
from thalweg.compile.views import (
    ONE_EACH,
    PAIRS,
    conditions,
    exposed,
    first_instant,
    key_columns,
    last_instant,
    part_sql,
    weighed,
    weight_sql,
)
from thalweg.model.aggregates import AGGREGATES
from thalweg.model.query import Query
from thalweg.optimizer.cost.join_engine import SECOND, CostedJoin, grouping
from thalweg.plan.ranges import LOWEST, Range
from thalweg.plan.shape import Shape
from thalweg.statistics.records import JoinStatistics

EXACT_SUMS = "COUNT, SUM and AVG of exact numbers"


def is_invertible(query: Query) -> bool:
    """Whether pairs can be taken out of all aggregates, exactly, and leave at the same instant for all members of a pool."""
    is_one_window = all(c.length == i.length for i in query.inputs for c in i.sets)
    return (
        query.every is not None
        and not query.attached
        and is_one_window
        and all(
            AGGREGATES[a.call.function].invertible and not {"FLOAT", "DOUBLE"} & {x.type for x in a.call.args}
            for a in query.aggregates
        )
    )


def _steps(shape: Shape, moment: Moment) -> Iterator[Step]:
    final = moment.final
    anew = moment.again and final[0] > LOWEST
    if anew:
        yield Step("base", _base_sql(shape, final[0] - 1, moment.sizes), "base", (final[0] - 1,))
    has_base = anew or moment.kept
    touched = {j for i in moment.alive for j in (i, i + 1) if j < final[1]}
    instants = tuple(sorted(touched | ({final[0]} if has_base and final[0] < final[1] else set())))
    if instants:
        changed = (instants[0], instants[-1] + 1)
        yield Step(
            "changes",
            _delta_sql(shape, changed, is_expanded(shape, instants), moment.sizes),
            "changes",
            instants,
        )
    kept = f'SELECT * RENAME ("slot" AS "i") FROM "{KEPT}"'
    base = ['SELECT * FROM "base"'] if anew else [kept] if moment.kept else []
    sources = [*(['SELECT * FROM "changes"'] if instants else []), *base]
    if not sources:
        return
    yield Step("totals", totals_sql(shape, sources), "totals")
    yield Step("last", last_totals_sql(shape, final[1] - 1), KEPT)
    if moment.shown:
        yield Step("standing", standing_sql(shape), SENT, moment.shown)


def _delta_sql(shape: Shape, instants: Range, expand: bool, sizes: Sizes) -> str:
    """What enters and leaves at every instant, by (keys, "i"): the telescoped difference of two joins."""
    terms = []
    for k in shape.streams:
        views = [
            _change_view(shape, n, instants, sizes)
            if n == k
            else window_view(shape, n, instants, expand, sizes, int(n < k), merge=False)
            for n in range(len(shape.sides))
        ]
        where = [*conditions(shape), *same_instant(shape)]
        terms.append(
            joined(
                [*key_columns(shape), f'"{k}.i" AS "i"', *_signed(shape, f'"{k}.sign"')],
                views,
                where,
                shape.order(k),
            )
        )
    return summed(shape, terms)


def _base_sql(shape: Shape, at: int, sizes: Sizes) -> str:
    """The totals of one instant from what the windows hold."""
    views = [window_view(shape, n, (at, at + 1), False, sizes, merge=False) for n in range(len(shape.sides))]
    where = [*conditions(shape), *same_instant(shape)]
    return summed(
        shape,
        [
            joined(
                [*key_columns(shape), instant(shape), *_signed(shape, "1")], views, where, shape.order(None)
            )
        ],
    )


def _totalled(shape: Shape) -> list[str]:
    """What is added up: parts, how many pairs have each of them, and all pairs."""
    return [*(f'"{p.name}"' for p in shape.parts), *(f'"has_{p.name}"' for p in shape.parts), '"pairs"']


def summed(shape: Shape, terms: Sequence[str]) -> str:
    keys = [*shape.keys, '"i"']
    places = ", ".join(str(i + 1) for i in range(len(keys)))
    sums = [*(f"sum({n}) AS {n}" for n in _totalled(shape)), f'{ONE_EACH} AS "{PAIRS}"']
    return f"SELECT {', '.join([*keys, *sums])}\nFROM ({' UNION ALL '.join(terms)})\nGROUP BY {places}"


def _signed(shape: Shape, sign: str) -> list[str]:
    columns = [f'{weighed(shape, p, sign)} AS "{p.name}"' for p in shape.parts]
    columns += [
        f'CASE WHEN {part_sql(p)} IS NULL THEN 0 ELSE {weight_sql(shape, p.input, sign)} END AS "has_{p.name}"'
        for p in shape.parts
    ]
    return [*columns, f'{weight_sql(shape, None, sign)} AS "pairs"']


def _change_view(shape: Shape, number: int, instants: Range, sizes: Sizes) -> View:
    """The rows that enter (+1) and leave (-1) an input's window at every instant."""
    side, step, span = shape.sides[number], shape.step, shape.span(number)
    table, seen, slot = f'"side_{side.id}"', shape.visible(number), '"slot"'
    enter = f'SELECT *, {first_instant(slot, step)} AS "i", 1 AS "sign" FROM {table} WHERE {seen}'
    leave = f'SELECT *, {last_instant(slot, step, span)} + 1 AS "i", -1 AS "sign" FROM {table} WHERE {seen}'
    rows = enter if span is None else f"{enter} UNION ALL {leave}"
    bounds = f'"i" >= {instants[0]} AND "i" < {instants[1]}'
    sql = f"SELECT {', '.join(exposed(shape, number, 'i', 'sign'))} FROM ({rows}) WHERE {bounds}"
    return View(sql, 2 * rows_of(sizes, side, NEW))


def totals_sql(shape: Shape, sources: Sequence[str]) -> str:
    """Running totals of changes on top of what was before, with the instant "next" at which each is replaced."""
    by = ", ".join(shape.keys) or "1"
    over = f'OVER (PARTITION BY {by} ORDER BY "i" ROWS UNBOUNDED PRECEDING)'
    sums = [f"sum({n}) {over} AS {n}" for n in _totalled(shape)]
    following = f'lead("i") OVER (PARTITION BY {by} ORDER BY "i") AS "next"'
    columns = ", ".join([*shape.keys, '"i"', *_totalled(shape)])
    rows = " UNION ALL BY NAME ".join(f"SELECT {columns} FROM ({s})" for s in sources)
    return f"SELECT {', '.join([*shape.keys, _I, *sums, following])}\nFROM ({rows})"


_I = '"i"'


def standing_sql(shape: Shape) -> str:
    """The totals that hold at every instant, where any pair is left."""
    parts = [f'CASE WHEN "has_{p.name}" > 0 THEN "{p.name}" END AS "{p.name}"' for p in shape.parts]
    keys = ", ".join([*shape.keys, '"inst"."i" AS "i"'])
    on = '"inst"."i" >= "totals"."i" AND ("next" IS NULL OR "inst"."i" < "next")'
    return f'SELECT {", ".join([keys, *parts])}\nFROM "totals", "inst" WHERE {on} AND "pairs" > 0'


def last_totals_sql(shape: Shape, last: int, *more: str) -> str:
    """The totals as they stand at the last instant."""
    columns = ", ".join([*shape.keys, f"{last}::BIGINT AS slot", *_totalled(shape), *more])
    return f'SELECT {columns} FROM "totals" WHERE "next" IS NULL AND "pairs" > 0'


def _meetings(join: CostedJoin, statistics: JoinStatistics) -> Meetings:
    apart = join.apart
    return {k: [h.step if n == k else apart[n] for n, h in enumerate(join.held)] for k in join.streams}


def _work(join: CostedJoin, statistics: JoinStatistics) -> Work:
    c, groups, met = join.constants, statistics.groups, _meetings(join, statistics)
    per_second = SECOND / (join.query.every or SECOND)
    new, cost = (
        sum(join.pairs(rows, k) for k, rows in met.items()),
        sum(join.cost(rows, k) for k, rows in met.items()),
    )
    found = [
        ("windows", join.viewed_apart),
        ("join", 2 * cost),
        ("results", grouping(2 * groups, 2 * groups, c)),
    ]
    return [(n, v * per_second) for n, v in found], groups, 2 * new * per_second


DELTA = Evaluation(
    name="delta",
    words="at every instant pairs that enter are added to the totals, those that leave subtracted; state: the totals of each group",
    statements=Statements(0, 7, 3),
    steps=_steps,
    meetings=_meetings,
    work=_work,
    serves=is_invertible,
    takes=EXACT_SUMS,
    keeps=1,
    wants_merged=True,
    row_bytes=lambda widths: widths.totals,
)
