"""Keep one aggregation set of each whole window, as figure 5 of the early-aggregation paper does: what enters is added, what leaves is
taken out, and only this change is joined, with the sets of the other windows. So an instant costs what changes at it, however long windows are.

A change is a row of an aggregation set with the instant "i" at which it counts; what leaves has negative numbers, so products of parts and
counts of rows add up to what is true. State: one row per group, and one per columns of each window's set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

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
from thalweg.compile.evaluations.delta import (
    EXACT_SUMS,
    is_invertible,
    last_totals_sql,
    standing_sql,
    summed,
    totals_sql,
)
from thalweg.compile.inputs import ALL, NEW, joined, rows_of, static_view
from thalweg.compile.join_tree import Clause, View
from thalweg.compile.views import (
    conditions,
    exposed,
    first_instant,
    key_columns,
    last_instant,
    part_sql,
    weighed,
    weight_sql,
)
from thalweg.expr.quoting import identifier
from thalweg.optimizer.cost.join_engine import SECOND, CostedJoin, grouping
from thalweg.plan.nodes import COUNTED
from thalweg.plan.ranges import LOWEST, Range
from thalweg.plan.shape import Shape
from thalweg.plan.sides import JoinPart
from thalweg.statistics.records import JoinStatistics

# Instants whose changes meet each other in one statement: they are compared in pairs.
TOGETHER = 64
# What a row of state is of: the totals, or else the set of an input.
OF, TOTALS = '"of"', -1
_I, _SLOT = '"i"', '"slot"'
_KEPT_TOTALS = f'SELECT * RENAME ("slot" AS "i") FROM "{KEPT}" WHERE {OF} = {TOTALS}'

Held = Mapping[int, str]
"""What the windows of the streams hold at an instant, as statements."""


def edges(shape: Shape, number: int, final: Range) -> tuple[Range, ...]:
    """The slots of an input that enter or leave its window at some instants: all that is read of it once sets are kept."""
    low, high = (final[0] - 1) * shape.step, (final[1] - 1) * shape.step
    span = shape.span(number)
    return ((low, high),) if span is None else ((low, high), (low - span, high - span))


def _steps(shape: Shape, moment: Moment) -> Iterator[Step]:
    first, behind = moment.final
    anew = (moment.again or not moment.kept) and first > LOWEST
    base = ['SELECT * FROM "base"'] if anew else [_KEPT_TOTALS] if moment.kept else []
    held = {n: _held_sql(shape, n, first - 1, anew, bool(base)) for n in shape.streams}
    if anew:
        yield Step("base", _base_sql(shape, first - 1, held, moment.sizes), "base")
    made: list[str] = []
    for instants in _chunks(_changing(shape, moment)):
        made.append(f"changes_{len(made)}")
        yield from _changed(shape, instants, made[-1], held, moment)
        held = {n: _hold_sql(shape, n) for n in shape.streams}
    if not (made or base):
        return
    yield Step("totals", totals_sql(shape, [*base, *(f'SELECT * FROM "{m}"' for m in made)]), "totals")
    yield Step("last", _last_sql(shape, behind - 1, held), KEPT)
    if moment.shown:
        yield Step("standing", standing_sql(shape), SENT, moment.shown)


def _changing(shape: Shape, moment: Moment) -> list[int]:
    """The instants at which something enters or leaves."""
    found: set[int] = set()
    for n, slots in zip(shape.streams, moment.slots, strict=True):
        span = shape.span(n)
        found |= {s // shape.step + 1 for s in slots}
        found |= set() if span is None else {(s + span) // shape.step + 1 for s in slots}
    return sorted(i for i in found if moment.final[0] <= i < moment.final[1])


def _chunks(instants: Sequence[int]) -> Iterator[Range]:
    for n in range(0, len(instants), TOGETHER):
        some = instants[n : n + TOGETHER]
        yield some[0], some[-1] + 1


def _changed(shape: Shape, instants: Range, to: str, held: Held, moment: Moment) -> Iterator[Step]:
    """The changes of some instants: put beside what each window held, and joined."""
    fresh = [n for n, slots in zip(shape.streams, moment.slots, strict=True) if slots]
    for n in shape.streams:
        yield Step(f"moved {n}", _moved_sql(shape, n, instants, held[n], n in fresh), f"moved_{n}")
    yield Step("changes", _changes_sql(shape, fresh, moment.sizes), to)


def _numbers(shape: Shape, number: int) -> list[str]:
    """What is added up in a set: its parts with the number of rows, and of how many rows each part is not NULL."""
    side = shape.sides[number]
    return [*(identifier(p.name) for p in side.parts), *(_has(p.name) for p in side.parts)]


def _has(part: str) -> str:
    return identifier(f"has_{part}")


def _columns(shape: Shape, number: int) -> list[str]:
    return [*shape.sides[number].keys, *_numbers(shape, number)]


def _added(shape: Shape, number: int, sign: str = "1") -> list[str]:
    """Rows of an aggregation set by slot as numbers that can be added up, those of a negative sign taken out."""
    found = []
    for p in shape.sides[number].parts:
        name = identifier(p.name)
        found.append(
            f"{_total(f'CASE WHEN {sign} < 0 THEN -coalesce({name}, 0) ELSE coalesce({name}, 0) END', p.name)}"
        )
    found += [
        f"sum(CASE WHEN {identifier(p.name)} IS NULL THEN 0 ELSE {sign} END)::BIGINT AS {_has(p.name)}"
        for p in shape.sides[number].parts
    ]
    return found


def _total(value: str, name: str) -> str:
    return f"sum({value}){'::BIGINT' if name == COUNTED.name else ''} AS {identifier(name)}"


def _again(shape: Shape, number: int) -> list[str]:
    """Numbers that were added up before, with more of them."""
    side = shape.sides[number]
    return [
        *(_total(identifier(p.name), p.name) for p in side.parts),
        *(f"sum({_has(p.name)})::BIGINT AS {_has(p.name)}" for p in side.parts),
    ]


def _grouped(keys: Sequence[str], numbers: Sequence[str], rows: str, having: str = "") -> str:
    by = f" GROUP BY {', '.join(keys)}" if keys else " HAVING count(*) > 0"
    asked = f"{' HAVING' if keys else ' AND'} {having}" if having else ""
    return f"SELECT {', '.join([*keys, *numbers])} FROM ({rows}){by}{asked}"


def _held_sql(shape: Shape, number: int, at: int, anew: bool, held: bool) -> str:
    """The set of a window as it stood at an instant: as it was kept, or made from all its slots."""
    side, span = shape.sides[number], shape.span(number)
    if held and not anew:
        names = ", ".join(f"{_kept(number, c)} AS {c}" for c in _columns(shape, number))
        return f'SELECT {names} FROM "{KEPT}" WHERE {OF} = {number}'
    low = "" if span is None else f' AND "slot" >= {at * shape.step - span}'
    inside = f'"slot" < {at * shape.step}{low}' if anew else "FALSE"
    rows = f'SELECT * FROM "side_{side.id}" WHERE {inside} AND {shape.visible(number)}'
    return _grouped(side.keys, _added(shape, number), rows)


def _kept(number: int, column: str) -> str:
    """The name of a set's column in state, where the sets of all inputs are one table."""
    return identifier(f"{number}.{column[1:-1]}")


def _moved_sql(shape: Shape, number: int, instants: Range, before: str, changes: bool) -> str:
    """What a window held before some instants ("i" the lowest), and what enters and leaves at each of them."""
    side, step, span = shape.sides[number], shape.step, shape.span(number)
    held = f'SELECT *, {LOWEST}::BIGINT AS "i" FROM ({before})'
    if not changes:
        return held
    table, seen = f'"side_{side.id}"', shape.visible(number)
    enter = f'SELECT *, {first_instant(_SLOT, step)} AS "i", 1 AS "sign" FROM {table} WHERE {seen}'
    leave = f'SELECT *, {last_instant(_SLOT, step, span)} + 1 AS "i", -1 AS "sign" FROM {table} WHERE {seen}'
    rows = enter if span is None else f"{enter} UNION ALL {leave}"
    bounds = f'SELECT * FROM ({rows}) WHERE "i" >= {instants[0]} AND "i" < {instants[1]}'
    changed = _grouped([*side.keys, _I], _added(shape, number, '"sign"'), bounds)
    return f"{held} UNION ALL BY NAME ({changed})"


def _hold_sql(shape: Shape, number: int) -> str:
    """The set of a window after some instants."""
    return _grouped(
        shape.sides[number].keys,
        _again(shape, number),
        f'SELECT * FROM "moved_{number}"',
        f"sum({identifier(COUNTED.name)}) > 0",
    )


def _last_sql(shape: Shape, last: int, held: Held) -> str:
    """The totals and the sets as they stand at the last instant, as one table: so it has the columns of all, also where some are empty."""
    kept = [last_totals_sql(shape, last, f"{TOTALS} AS {OF}")]
    for n in shape.streams:
        names = ", ".join(f"{c} AS {_kept(n, c)}" for c in _columns(shape, n))
        kept.append(f'SELECT {names}, {last}::BIGINT AS "slot", {n} AS {OF} FROM ({held[n]})')
    return "\nUNION ALL BY NAME ".join(kept)


def _changes_sql(shape: Shape, fresh: Sequence[int], sizes: Sizes) -> str:
    """What changes in the join at every instant, by (keys, "i"): the change of each input with the sets of those before it as they were at
    the instant before, and of those after it as they are."""
    terms = []
    for k in fresh:
        views = [_moved_view(shape, n, k, sizes) for n in range(len(shape.sides))]
        when = [
            Clause(f'"{n}.i" {"<" if n < k else "<="} "{k}.i"', frozenset((n, k)))
            for n in shape.streams
            if n != k
        ]
        columns = [*key_columns(shape), f'"{k}.i" AS "i"', *_products(shape)]
        terms.append(joined(columns, views, [*conditions(shape), *when], shape.order(k)))
    return summed(shape, terms)


def _moved_view(shape: Shape, number: int, fresh: int, sizes: Sizes) -> View:
    """The changes of the fresh input, and of another one what it held with its changes."""
    side = shape.sides[number]
    if side.static:
        return static_view(shape, number, sizes)
    changed, table = 2 * rows_of(sizes, side, NEW), f'"moved_{number}"'
    if number == fresh:
        return _view(shape, number, f'{table} WHERE "i" > {LOWEST}', changed, "i")
    return _view(shape, number, table, changed + sizes.get((ALL, KEPT), rows_of(sizes, side)), "i")


def _base_sql(shape: Shape, at: int, held: Held, sizes: Sizes) -> str:
    """The totals of one instant from the sets of the windows."""
    views = [
        static_view(shape, n, sizes) if side.static else _view(shape, n, f"({held[n]})", rows_of(sizes, side))
        for n, side in enumerate(shape.sides)
    ]
    columns = [*key_columns(shape), f'{at}::BIGINT AS "i"', *_products(shape)]
    return summed(shape, [joined(columns, views, conditions(shape), shape.order(None))])


def _view(shape: Shape, number: int, rows: str, count: int, *more: str) -> View:
    """An input as its set, or as what changes of it."""
    has = [f"has_{p.name}" for p in shape.sides[number].parts]
    return View(f"SELECT {', '.join(exposed(shape, number, *more, *has))} FROM {rows}", count)


def _products(shape: Shape) -> list[str]:
    """Of a joined row of sets: its parts, how many pairs have each of them, and all pairs; of what leaves they are negative."""
    columns = [f'{weighed(shape, p)} AS "{p.name}"' for p in shape.parts]
    columns += [f'{_having(shape, p)} AS "has_{p.name}"' for p in shape.parts]
    return [*columns, f'{weight_sql(shape, None) or "1"} AS "pairs"']


def _having(shape: Shape, part: JoinPart) -> str:
    """How many pairs of a joined row have a part."""
    weight = weight_sql(shape, part.input, factors=1) or "1"
    if part.input is not None and not shape.sides[part.input].static:
        return f'"{part.input}.has_{part.column.name}" * {weight}'
    return f"CASE WHEN {part_sql(part)} IS NULL THEN 0 ELSE {weight_sql(shape, part.input) or '1'} END"


def _changed_rows(join: CostedJoin, statistics: JoinStatistics) -> list[float]:
    """Rows that enter or leave in a batch: those of every step once each."""
    instants = max(1.0, statistics.batch / (join.query.every or SECOND))
    return [(1.0 if h.endless else 2.0) * h.step * instants for h in join.held]


def _meetings(join: CostedJoin, statistics: JoinStatistics) -> Meetings:
    changed = _changed_rows(join, statistics)
    return {
        k: [changed[n] if n == k else h.window + changed[n] / 2 for n, h in enumerate(join.held)]
        for k in join.streams
    }


def _work(join: CostedJoin, statistics: JoinStatistics) -> Work:
    c, groups, met = join.constants, statistics.groups, _meetings(join, statistics)
    changed, sets = _changed_rows(join, statistics), [join.held[n].window for n in join.streams]
    every = (join.query.every or SECOND) / SECOND
    per_second = 1 / max(every, statistics.batch / SECOND)
    moved = sum(changed[n] for n in join.streams)
    pairs = sum(join.pairs(rows, k) for k, rows in met.items())
    found = [
        ("windows", 2 * grouping(moved, moved, c) + sum(s * (c.copy + c.lift + c.ship) for s in sets)),
        ("join", sum(join.cost(rows, k) for k, rows in met.items())),
        ("results", grouping(2 * groups, 2 * groups, c) / (per_second * every)),
    ]
    return [(n, v * per_second) for n, v in found], groups + sum(sets), pairs * per_second


WIDE = Evaluation(
    name="wide",
    words="what enters and leaves windows is joined with sets of the whole other windows, and added to or taken from the totals; "
    "state: the totals of each group, and one aggregation set of each window",
    statements=Statements(2, 14),
    steps=_steps,
    meetings=_meetings,
    work=_work,
    serves=is_invertible,
    takes=EXACT_SUMS,
    keeps=1,
    wants_merged=True,
    of_sets=True,
    edges=edges,
    row_bytes=lambda widths: widths.sets,
)
