"""Keep of each window only what may still be its least or greatest, so that an instant costs what windows have, however long they are.

A row of an aggregation set is beaten where a later one of the same columns is as low or as high: that is there as long, and longer. What is
not beaten goes down like stairs, a few rows of each columns in a window of thousands. At an instant the stairs of each window are merged, and
joined as in a snapshot. State: the rows that are not beaten.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log

from thalweg.compile.evaluations.base import KEPT, SENT, Evaluation, Meetings, Moment, Statements, Step, Work
from thalweg.compile.evaluations.snapshot import is_expanded, met_at_instants
from thalweg.compile.inputs import window_view
from thalweg.compile.pieces import combined
from thalweg.expr.quoting import identifier
from thalweg.model.aggregates import PartColumn
from thalweg.model.query import Query
from thalweg.optimizer.cost.join_engine import SECOND, CostedJoin, Held, grouping
from thalweg.plan.nodes import COUNTED
from thalweg.plan.ranges import LOWEST, Range
from thalweg.plan.shape import Shape
from thalweg.plan.sides import join_parts
from thalweg.statistics.records import JoinStatistics

BETTER = {"min": "<", "minpair": "<", "bool_and": "<", "max": ">", "maxpair": ">", "bool_or": ">"}
"""By the kind of a part how one that beats another stands to it."""
ONCE_MORE = 1.5
"""What putting a row in order takes, in rows that make a group."""
EULER = 0.577
OF, AT = '"of"', '"at"'


def serves(query: Query) -> bool:
    """Whether all that is asked of pairs is the least or greatest of them, in windows of one length for all members of a pool."""
    is_one_window = all(c.length == i.length for i in query.inputs for c in i.sets)
    ordered = all(p.part.kind in BETTER for p in join_parts(query))
    return query.every is not None and not query.attached and is_one_window and ordered


def edges(shape: Shape, number: int, final: Range) -> tuple[Range, ...]:
    """The slots of an input that enter its window at some instants: all that is read of it once stairs are kept."""
    return (((final[0] - 1) * shape.step, (final[1] - 1) * shape.step),)


def _steps(shape: Shape, moment: Moment) -> Iterator[Step]:
    if moment.final[1] <= LOWEST:
        return
    goes_on = moment.kept and not moment.again
    low = (moment.final[0] - 1) * shape.step if goes_on else LOWEST
    for n, slots in zip(shape.streams, moment.slots, strict=True):
        yield Step(
            f"held {n}", _held_sql(shape, n, (low, moment.final[1]), bool(slots), goes_on), f"held_{n}"
        )
    if moment.shown:
        expand = is_expanded(shape, moment.shown)
        views = [
            window_view(shape, n, moment.range, expand, moment.sizes, given=True, table=f'"held_{n}"')
            for n in range(len(shape.sides))
        ]
        yield Step("meet", met_at_instants(shape, views), SENT, moment.shown)
    yield Step("last", _last_sql(shape, moment.final[1] - 1), KEPT)


def _held_sql(shape: Shape, number: int, since: tuple[int, int], entering: bool, goes_on: bool) -> str:
    """The stairs of a window as they were kept, with the slots since then that enter it."""
    side, (low, behind) = shape.sides[number], since
    columns, found = _columns(shape, number), list[str]()
    if goes_on:
        names = ", ".join(f"{_kept(number, c)} AS {c}" for c in columns)
        at = f'{_kept(number, AT)} AS "slot"'
        found.append(f'SELECT {names}, {at} FROM "{KEPT}" WHERE {OF} = {number}')
    if entering or not goes_on:
        inside = f'"slot" >= {low} AND "slot" < {(behind - 1) * shape.step} AND {shape.visible(number)}'
        found.append(f'SELECT {", ".join(columns)}, "slot" FROM "side_{side.id}" WHERE {inside}')
    return "\nUNION ALL BY NAME ".join(found)


def _last_sql(shape: Shape, last: int) -> str:
    """What is left of all windows after an instant, as one table: so it has the columns of all, also where some are empty."""
    kept = []
    for n in shape.streams:
        names = ", ".join(f"{c} AS {_kept(n, c)}" for c in _columns(shape, n))
        rows = _merged_sql(shape, n) if shape.span(n) is None else _stairs_sql(shape, n, last)
        kept.append(
            f'SELECT {names}, "slot" AS {_kept(n, AT)}, {last}::BIGINT AS "slot", {n} AS {OF} FROM ({rows})'
        )
    return "\nUNION ALL BY NAME ".join(kept)


def _merged_sql(shape: Shape, number: int) -> str:
    """Of a window without end one row for each columns."""
    side = shape.sides[number]
    columns = [*side.keys, 'max("slot") AS "slot"', *combined(side.parts)]
    end = f"GROUP BY {', '.join(side.keys)}" if side.keys else "HAVING count(*) > 0"
    return f'SELECT {", ".join(columns)} FROM "held_{number}" {end}'


def _stairs_sql(shape: Shape, number: int, last: int) -> str:
    """The rows that are still there at the next instant and not beaten by later ones."""
    side, span = shape.sides[number], shape.span(number) or 0
    keys = [*side.keys, '"slot"']
    left = f'FROM "held_{number}" WHERE "slot" >= {(last + 1) * shape.step - span}'
    whole = f"SELECT {', '.join([*keys, *combined(side.parts)])} {left} GROUP BY {', '.join(keys)}"
    by = f"PARTITION BY {', '.join(side.keys)} " if side.keys else ""
    later = f'OVER ({by}ORDER BY "slot" DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)'
    wanted = [f"count(*) {later} = 0", *(_unbeaten(p, later) for p in side.parts if p.name != COUNTED.name)]
    return f"SELECT * FROM ({whole}) QUALIFY {' OR '.join(wanted)}"


def _unbeaten(part: PartColumn, later: str) -> str:
    """Whether a part is better than those of all later rows; NULL is better than nothing."""
    name = identifier(part.name)
    best = part.part.combine(name, f" {later}")
    return f"({name} IS NOT NULL AND ({best} IS NULL OR {name} {BETTER[part.part.kind]} {best}))"


def _columns(shape: Shape, number: int) -> Sequence[str]:
    side = shape.sides[number]
    return [*side.keys, *(identifier(p.name) for p in side.parts)]


def _kept(number: int, column: str) -> str:
    """The name of a column in state, where the stairs of all inputs are one table."""
    return identifier(f"{number}.{column[1:-1]}")


def _stairs(held: Held, query: Query) -> float:
    """Rows that are not beaten: of n in any order as many as there are records, which is about the logarithm of n."""
    each = max(held.apart(query) / max(held.window, 1e-9), 1.0)
    return held.window * (1.0 if held.endless else EULER + log(each) + 0.5 / each)


def _meetings(join: CostedJoin, statistics: JoinStatistics) -> Meetings:
    return {None: [h.window for h in join.held]}


def _work(join: CostedJoin, statistics: JoinStatistics) -> Work:
    c, every = join.constants, (join.query.every or SECOND) / SECOND
    instants, rows = max(1.0, statistics.batch / SECOND / every), [h.window for h in join.held]
    streams = [join.held[n] for n in join.streams]
    stairs = [_stairs(h, join.query) for h in streams]
    moved = [s + h.step * instants for s, h in zip(stairs, streams, strict=True)]
    found = [
        ("windows", sum(grouping(m, h.window, c) for m, h in zip(moved, streams, strict=True)) / every),
        ("join", join.cost(rows, None) / every),
        ("results", grouping(0.0, statistics.groups, c) / every),
        (
            "stairs",
            sum(m * c.group * ONCE_MORE + s * c.ship for m, s in zip(moved, stairs, strict=True))
            / (instants * every),
        ),
    ]
    return found, sum(stairs), join.pairs(rows, None) / every


STAIRS = Evaluation(
    name="stairs",
    words="at every instant what may be least or greatest in the windows is joined; state: of each window the rows of its aggregation set "
    "that no later one beats",
    statements=Statements(12, 3),
    steps=_steps,
    meetings=_meetings,
    work=_work,
    serves=serves,
    takes="MIN, MAX and the like",
    keeps=1,
    of_sets=True,
    edges=edges,
    row_bytes=lambda widths: widths.stairs,
)
