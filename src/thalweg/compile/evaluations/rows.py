"""The joined rows themselves: each combination is made in the batch in which its last row arrives."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from thalweg.compile.evaluations.base import SHOWN, Evaluation, Meetings, Moment, Sizes, Step, Work
from thalweg.compile.inputs import ALL, joined, rows_of, static_view, turns
from thalweg.compile.join_tree import Clause, View
from thalweg.compile.sets import mask_of
from thalweg.compile.views import conditions, exposed
from thalweg.compile.windows import output_columns, outputs_sql
from thalweg.expr.quoting import identifier
from thalweg.model.query import RANGE, TUMBLE
from thalweg.optimizer.cost.join_engine import SECOND, CostedJoin
from thalweg.plan.arithmetic import floor_div
from thalweg.plan.pool import SET, TYPE
from thalweg.plan.shape import Shape
from thalweg.statistics.records import JoinStatistics


def _steps(shape: Shape, moment: Moment) -> Iterator[Step]:
    """The combinations that have at least one new row, as result rows."""
    wanted = [*conditions(shape), *_together(shape)]
    terms = [
        joined(["*"], [_row_view(shape, n, which, moment.sizes) for n, which in enumerate(turn)], wanted, shape.order(fresh))
        for fresh, turn in turns(shape, moment.fresh).items()
    ]
    yield Step("rows", "\nUNION ALL ".join(_shown(shape, t) for t in terms), SHOWN)


def _shown(shape: Shape, rows: str) -> str:
    """Joined rows as results; those of a pool have their query-set, without the members whose own windows don't hold them."""
    if not shape.join.pool:
        return f"SELECT {outputs_sql(shape.query)}\nFROM ({rows})"
    *_, whole = shape.query.outputs
    bits = " & ".join([f"({whole.sql})", *_near(shape)])
    made = f"SELECT {', '.join([*output_columns(shape.query.outputs[:-1]), f'{bits} AS {identifier(SET)}'])}\nFROM ({rows})"
    return f"SELECT *\nFROM ({made}) WHERE {identifier(SET)} <> 0"


def _near(shape: Shape) -> list[str]:
    """Per shorter window of some members of a pool, a mask without these where a row has left it."""
    inputs, streams = shape.query.inputs, shape.streams
    full = mask_of(c.bit for c in shape.sides[0].sets)
    found = []
    for n in streams:
        shorter: dict[int, int] = {}
        for chosen in shape.sides[n].sets:
            if chosen.length is not None and inputs[n].kind != TUMBLE and chosen.length != inputs[n].length:
                shorter[chosen.length] = shorter.get(chosen.length, 0) | 1 << chosen.bit
        for length, bits in sorted(shorter.items()):
            inside = " AND ".join(f'"{o}.slot" - "{n}.slot" < {length}' for o in streams if o != n)
            found.append(f"CASE WHEN {inside} THEN {full}::{TYPE} ELSE {full & ~bits}::{TYPE} END")
    return found


def _row_view(shape: Shape, number: int, which: str, sizes: Sizes) -> View:
    side = shape.sides[number]
    if side.static:
        return static_view(shape, number, sizes)
    table = f'"{"side" if which == ALL else which}_{side.id}"'
    sql = f"SELECT {', '.join(exposed(shape, number, 'slot'))} FROM {table} WHERE {shape.visible(number)}"
    return View(sql, rows_of(sizes, side, which))


def _together(shape: Shape) -> list[Clause]:
    """No row may have left its window when the last one comes."""
    inputs, streams = shape.query.inputs, shape.streams
    tumbling = {n: floor_div(f'"{n}.slot"', inputs[n].length or 1) for n in streams if inputs[n].kind == TUMBLE}
    same = [Clause(f"{tumbling[a]} = {tumbling[b]}", frozenset((a, b)), same="window") for a, b in combinations(tumbling, 2)]
    ranges = [(n, other) for n in streams if inputs[n].kind == RANGE for other in streams if other != n]
    return same + [Clause(f'"{other}.slot" - "{n}.slot" < {inputs[n].length}', frozenset((n, other))) for n, other in ranges]


def _meetings(join: CostedJoin, statistics: JoinStatistics) -> Meetings:
    batch = statistics.batch / SECOND
    return {k: [h.rate * batch if n == k else h.window for n, h in enumerate(join.held)] for k in join.streams}


def _work(join: CostedJoin, statistics: JoinStatistics) -> Work:
    batch, met = statistics.batch / SECOND, _meetings(join, statistics)
    pairs = sum(join.pairs(rows, k) for k, rows in met.items()) / batch
    return [("join", sum(join.cost(rows, k) for k, rows in met.items()) / batch)], 0.0, pairs


ROWS = Evaluation(
    name="rows",
    words="each combination of rows is made once, when its last row comes; no state but the inputs'",
    statements=6,
    steps=_steps,
    meetings=_meetings,
    work=_work,
    serves=lambda query: query.every is None,
)
