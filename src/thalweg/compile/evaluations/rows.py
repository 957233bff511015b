"""The joined rows themselves: each combination is made in the batch in which its last row arrives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from thalweg.compile.attached_rows import attached_rows
from thalweg.compile.evaluations.base import (
    MET,
    SHOWN,
    Evaluation,
    Meetings,
    Moment,
    Sizes,
    Statements,
    Step,
    Work,
)
from thalweg.compile.inputs import ALL, NEW, OLD, joined, turns
from thalweg.compile.join_tree import Clause, View
from thalweg.compile.lengths import shorter
from thalweg.compile.row_views import row_view, together
from thalweg.compile.sets import mask_of
from thalweg.compile.views import conditions, met_columns, set_of
from thalweg.compile.windows import output_columns
from thalweg.expr.quoting import identifier
from thalweg.model.query import Output, Query
from thalweg.optimizer.cost.join_engine import SECOND, CostedJoin
from thalweg.plan.pool import SET, TYPE
from thalweg.plan.shape import Shape
from thalweg.statistics.records import JoinStatistics

MET_BEFORE = 0.5
"""The part of all combinations that may have been met in batches before, for all rows to meet in one go."""


def _steps(shape: Shape, moment: Moment) -> Iterator[Step]:
    """The combinations that have at least one new row, and rows that are to have no partner: first by the numbers of their rows, then what
    is shown of them."""
    if met := _numbers(shape, moment):
        yield Step("rows", met, MET, pairs=True)
        yield Step("show", _shown(shape), SHOWN)


def _numbers(shape: Shape, moment: Moment) -> str:
    """The numbers of the rows that come out; nothing where none can."""
    if shape.query.attached:
        return attached_rows(shape, moment.fresh, moment.sizes, moment.waited, at_once(shape, moment))
    wanted = [*conditions(shape), *together(shape)]
    if at_once(shape, moment):
        some = " OR ".join(f'"{n}.new"' for n in shape.streams)
        met = [
            _met(
                shape,
                ALL,
                None,
                [ALL] * len(shape.sides),
                [*wanted, Clause(f"({some})", frozenset(shape.streams))],
                moment,
            )
        ]
    else:
        met = [
            _met(shape, NEW, fresh, turn, wanted, moment)
            for fresh, turn in turns(shape, moment.fresh).items()
        ]
    return "\nUNION ALL ".join(met)


def _shown(shape: Shape) -> str:
    """What is shown of rows that have met, or have no partner, of those that satisfy the conditions on both."""
    shown = [*output_columns(shown_outputs(shape.query)), *([identifier(SET)] if shape.join.pool else [])]
    kept = " AND ".join(f"({t.sql})" for t in shape.query.kept)
    return f"SELECT {', '.join(shown)}\nFROM {MET}{f' WHERE {kept}' if kept else ''}"


def at_once(shape: Shape, moment: Moment) -> bool:
    """Whether all rows meet in one go, and those that have met before are left out: it is one statement of fewer parts, and pays as long as
    not too many have."""
    sides = [shape.sides[n] for n in shape.streams]
    old = prod(moment.sizes.get((OLD, s.id), 1) / max(moment.sizes.get((ALL, s.id), 1), 1) for s in sides)
    return len(moment.fresh) > 1 and old <= MET_BEFORE


def _met(
    shape: Shape, which: str, fresh: int | None, turn: Sequence[str], wanted: Sequence[Clause], moment: Moment
) -> str:
    """The numbers of the rows of each combination; of a pool with its query-set, without the members whose own windows don't hold it."""
    views = [row_view(shape, n, rows, moment.sizes, which == ALL) for n, rows in enumerate(turn)]
    rows = [f'"{n}.row"' for n in range(len(shape.sides))]
    order, met = shape.order(fresh), shape.join.met if which == ALL else ()
    if met:
        views[met[0]] = _met_view(shape, met, moment.sizes)
        order, wanted = (
            (met[0], *(n for n in order if n not in met)),
            [c for c in wanted if not _holds(shape, c)],
        )
    if not shape.join.pool:
        return joined(rows, views, wanted, order)
    *_, whole = shape.query.outputs
    bits = " & ".join([f"({whole.sql})", *_near(shape)])
    made = joined([*rows, f"{bits} AS {identifier(SET)}"], views, wanted, order, met)
    return f"SELECT *\nFROM ({made}) WHERE {identifier(SET)} <> 0"


def _met_view(shape: Shape, met: Sequence[int], sizes: Sizes) -> View:
    """Inputs that have met, as one."""
    columns = [c for place, n in enumerate(met) for c in met_columns(shape, n, place)]
    bounds = [
        f"{set_of(shape)} <> 0",
        *(
            f'"{place}.slot" >= {at}'
            for place, n in enumerate(met)
            if (at := shape.join.begins[n]) is not None
        ),
    ]
    return View(
        f'SELECT {", ".join(columns)} FROM "{shape.join.sub}" WHERE {" AND ".join(bounds)}',
        sizes.get((ALL, shape.join.sub), 10),
    )


def _holds(shape: Shape, clause: Clause) -> bool:
    """Whether inputs that have met satisfy an equality already."""
    return (
        clause.inputs <= {*shape.join.met}
        and len(clause.inputs) == 2
        and clause in conditions(shape)[: len(shape.query.equalities)]
    )


def shown_outputs(query: Query) -> tuple[Output, ...]:
    """What is shown of joined rows; the query-set of a pool's is there already."""
    return query.outputs[:-1] if query.inputs[0].pool else query.outputs


def _near(shape: Shape) -> list[str]:
    """Per shorter window of some members of a pool, a mask without these where a row has left it."""
    full = mask_of(c.bit for c in shape.sides[0].sets)
    found = []
    for n in shape.streams:
        for length, bits in shorter(shape, n).items():
            inside = " AND ".join(f'"{o}.slot" - "{n}.slot" < {length}' for o in shape.streams if o != n)
            found.append(f"CASE WHEN {inside} THEN {full}::{TYPE} ELSE {full & ~bits}::{TYPE} END")
    return found


def _meetings(join: CostedJoin, statistics: JoinStatistics) -> Meetings:
    batch = statistics.batch / SECOND
    return {
        k: [h.rate * batch if n == k else h.window for n, h in enumerate(join.held)] for k in join.streams
    }


def _work(join: CostedJoin, statistics: JoinStatistics) -> Work:
    batch, met = statistics.batch / SECOND, _meetings(join, statistics)
    pairs = sum(join.pairs(rows, k) for k, rows in met.items()) / batch
    return [("join", sum(join.cost(rows, k) for k, rows in met.items()) / batch)], 0.0, pairs


ROWS = Evaluation(
    name="rows",
    words="each combination of rows is made once, when its last row comes; no state but the inputs'",
    statements=Statements(6),
    steps=_steps,
    meetings=_meetings,
    work=_work,
    serves=lambda query: query.every is None and query.running is None,
)
