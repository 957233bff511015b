"""The SQL of a join's evaluations: the pairs of a batch, and aggregates at instants by snapshot, delta or expiry.

Tables: `side_S` is all that is known of side S, `inst` the instants ("i") that matter in this batch, `base` the totals of
the last instant, `alive` the partial results that have not expired. Instants are numbered: i stands for i * every.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from thalweg.logical.join import RANGE, TUMBLE
from thalweg.optimizer.join_order import meet_once
from thalweg.plan.arithmetic import floor_div
from thalweg.plan.join_tree import Clause, View, from_sql
from thalweg.plan.join_views import (
    Shape,
    combined_parts,
    conditions,
    exposed,
    first_instant,
    grouped,
    key_columns,
    last_instant,
    merged_parts,
    part_sql,
    weighed,
    weighed_parts,
    weight_sql,
)
from thalweg.plan.nodes import Side
from thalweg.plan.ranges import LOWEST, Range

OLD, NEW, ALL = "old", "new", "all"


# How many rows of a side there are (whether all, the old or the new ones); where that is not known, UNKNOWN.
Sizes = Mapping[tuple[str, str], int]
# Lives up to which pairs are merged by them; beyond that most pairs would have one of their own.
FEW_LIVES = 10_000
UNKNOWN = {OLD: 10, NEW: 1, ALL: 10}


def _joined(columns: Sequence[str], views: Sequence[View], clauses: Sequence[Clause]) -> str:
    return f"SELECT {', '.join(columns) or '1'} {from_sql(views, clauses)}"


def _rows(sizes: Sizes, side: Side, which: str = ALL) -> int:
    return sizes.get((which, side.id), UNKNOWN[which])


def _static_view(shape: Shape, number: int, sizes: Sizes) -> View:
    side = shape.sides[number]
    return View(f'SELECT {", ".join(exposed(shape, number)) or "1"} FROM "side_{side.id}"', _rows(sizes, side))


def _turns(shape: Shape, fresh: Sequence[int]) -> list[list[str]]:
    """Per input with new rows, which rows of each input it is joined with, so that every new pair is met once."""
    return [[ALL if s.static or n > k else OLD if n < k else NEW for n, s in enumerate(shape.sides)] for k in fresh]


# ---- rows ----


def rows_sql(shape: Shape, fresh: Sequence[int], sizes: Sizes) -> str:
    """The combinations that have at least one new row, as result rows; `fresh` are the inputs that have new ones."""
    wanted = [*conditions(shape), *_together(shape)]
    terms = [_joined(["*"], [_row_view(shape, n, which, sizes) for n, which in enumerate(turn)], wanted) for turn in _turns(shape, fresh)]
    outputs = ", ".join(f'CAST({o.sql} AS {o.type}) AS "{_escaped(o.name)}"' for o in shape.query.outputs)
    return " UNION ALL ".join(f"SELECT {outputs} FROM ({t})" for t in terms)


def _row_view(shape: Shape, number: int, which: str, sizes: Sizes) -> View:
    side = shape.sides[number]
    if side.static:
        return _static_view(shape, number, sizes)
    table = f'"{"side" if which == ALL else which}_{side.id}"'
    sql = f"SELECT {', '.join(exposed(shape, number, 'slot'))} FROM {table} WHERE {shape.visible(number)}"
    return View(sql, _rows(sizes, side, which))


def _together(shape: Shape) -> list[Clause]:
    """No row may have left its window when the last one comes."""
    inputs, streams = shape.query.inputs, shape.streams
    tumbling = {n: floor_div(f'"{n}.slot"', inputs[n].length or 1) for n in streams if inputs[n].kind == TUMBLE}
    same = [Clause(f"{tumbling[a]} = {tumbling[b]}", frozenset((a, b)), same="window") for a, b in combinations(tumbling, 2)]
    ranges = [(n, other) for n in streams if inputs[n].kind == RANGE for other in streams if other != n]
    return same + [Clause(f'"{other}.slot" - "{n}.slot" < {inputs[n].length}', frozenset((n, other))) for n, other in ranges]


# ---- snapshot ----


def snapshot_sql(shape: Shape, instants: Range, expand: bool, sizes: Sizes) -> str:
    """At every instant, join what the windows hold and aggregate; or join once for all instants, where windows overlap so much that this
    makes fewer pairs."""
    if meets_once(shape, instants):
        last = instants[1] - 1
        pairs = _pairs_of(shape, [[ALL] * len(shape.sides)], (LOWEST, last * shape.step), instants[0], sizes)
        return _standing(shape, _merged_lives(shape, pairs, instants))
    views = [_window_view(shape, n, instants, expand, sizes) for n in range(len(shape.sides))]
    rows = _joined([*key_columns(shape), _instant(shape), *weighed_parts(shape)], views, [*conditions(shape), *_same_instant(shape)])
    return grouped(shape, ['"i"'], rows)


def meets_once(shape: Shape, instants: Range) -> bool:
    """Whether rows meet once for all instants: at each there are as many pairs as windows hold, once as many as all rows between have."""
    if any(s.early for s in shape.sides if not s.static):
        return False
    count, spans = instants[1] - instants[0], [s for n in shape.streams if (s := shape.span(n)) is not None]
    return meet_once(spans, count * shape.step, count)


def _instant(shape: Shape) -> str:
    return f'"{shape.streams[0]}.i" AS "i"'


def _same_instant(shape: Shape) -> list[Clause]:
    return [Clause(f'"{a}.i" = "{b}.i"', frozenset((a, b)), same="instant") for a, b in combinations(shape.streams, 2)]


def _window_view(shape: Shape, number: int, instants: Range, expand: bool, sizes: Sizes, shift: int = 0, merge: bool = True) -> View:
    """An input's rows once per instant at which its window holds them; `shift` 1 means the window of the instant before."""
    side, span = shape.sides[number], shape.span(number)
    if side.static:
        return _static_view(shape, number, sizes)
    rows = _at_instants(shape, number, instants, expand, shift)
    if side.early and merge:
        keys = [*(f'"c{i}"' for i in range(len(side.columns))), '"i"']
        rows = f"SELECT {', '.join([*keys, *merged_parts(side)])} FROM ({rows}) GROUP BY {', '.join(keys)}"
    shown = instants[1] - instants[0]
    copies = shown if span is None else min(shown, -(-span // shape.step))
    return View(f"SELECT {', '.join(exposed(shape, number, 'i'))} FROM ({rows})", _rows(sizes, side) * copies)


def _at_instants(shape: Shape, number: int, instants: Range, expand: bool, shift: int) -> str:
    side, step, span = shape.sides[number], shape.step, shape.span(number)
    table, seen = f'"side_{side.id}"', shape.visible(number)
    if span is None or not expand:
        end = f'("i" - {shift}) * {step}' if shift else f'"i" * {step}'
        low = "" if span is None else f' AND "slot" >= {end} - {span}'
        return f'SELECT * FROM {table}, "inst" WHERE "slot" < {end}{low} AND {seen}'
    overlap = -(-span // step)
    first = first_instant('"slot"', step) + (f" + {shift}" if shift else "")
    back, source = (' + "back"', f'{table}, range({overlap}) AS back("back")') if overlap > 1 else ("", table)
    inside = "" if span % step == 0 else f' AND "slot" >= ("i" - {shift}) * {step} - {span}'
    rows = f'SELECT *, {first}{back} AS "i" FROM {source} WHERE {seen}'
    return f'SELECT * FROM ({rows}) WHERE "i" >= {instants[0]} AND "i" < {instants[1]}{inside}'


# ---- expiry and materialize ----


def born_sql(shape: Shape, slots: Range, first: int, fresh: Sequence[int], sizes: Sizes, shown: Range) -> str:
    """New pairs, those with a slot in `slots`: by (keys, last instant "d") for what is kept of them, and by (keys, "b", "e"), the first and
    last of the instants `shown` that they live through.

    Where there are few lives, pairs of the same one are merged first, so that each is looked at once.
    """
    rows = pairs_sql(shape, slots, first, fresh, sizes)
    rows = grouped(shape, ['"b"', '"d"'], rows) if _lives(shape, shown) <= FEW_LIVES else rows
    lives = f'SELECT * RENAME ("b" AS "born"), {_clipped("b", "d", shown)} FROM ({rows})'
    keys = "".join(f"{k}, " for k in shape.keys)
    names = [*shape.keys, '"d"', '"b"', '"e"', *combined_parts(shape)]
    return f'SELECT {", ".join(names)} FROM ({lives}) GROUP BY GROUPING SETS (({keys}"d"), ({keys}"b", "e"))'


def _lives(shape: Shape, shown: Range) -> int:
    """How many lives (from one instant to another) the pairs of a batch may have."""
    spans = [s for n in shape.streams if (s := shape.span(n)) is not None]
    return (shown[1] - shown[0]) * (min(spans) // shape.step + 1 if spans else 1)


def pairs_sql(shape: Shape, slots: Range, first: int, fresh: Sequence[int], sizes: Sizes) -> str:
    """New pairs, each by itself, from the first instant "b" of their life to the last, "d"."""
    return _pairs_of(shape, _turns(shape, fresh), slots, first, sizes)


def _pairs_of(shape: Shape, turns: Sequence[Sequence[str]], slots: Range, first: int, sizes: Sizes) -> str:
    terms = []
    for turn in turns:
        views = [_life_view(shape, n, which, slots, first, sizes) for n, which in enumerate(turn)]
        terms.append(_joined([*key_columns(shape), *_life(shape), *weighed_parts(shape)], views, conditions(shape)))
    return f'SELECT * FROM ({" UNION ALL ".join(terms)}) WHERE "b" <= "d"'


def _clipped(born: str, dies: str, shown: Range) -> str:
    """The first and the last of some instants in a life; a life between them has none, and the first is after the last."""
    return f'greatest("{born}", {shown[0]}) AS "b", least("{dies}", {shown[1] - 1}) AS "e"'


def _life(shape: Shape) -> list[str]:
    def of(end: str) -> str:
        return ", ".join(f'"{n}.{end}"' for n in shape.streams)

    return [f'greatest({of("b")}) AS "b"', f'least({of("d")}) AS "d"']


def _life_view(shape: Shape, number: int, which: str, slots: Range, first: int, sizes: Sizes) -> View:
    """An input's rows with the instants between which its window holds them."""
    side, step, span = shape.sides[number], shape.step, shape.span(number)
    if side.static:
        return _static_view(shape, number, sizes)
    low = slots[0] if which == NEW else None if span is None or first == LOWEST else first * step - span
    high = slots[0] if which == OLD else slots[1]
    bounds = [shape.visible(number), f'"slot" < {high}', *([] if low is None else [f'"slot" >= {low}'])]
    keys = [f'"c{i}"' for i in range(len(side.columns))]
    life = [f'{first_instant(_SLOT, step)} AS "b"', f'{last_instant(_SLOT, step, span)} AS "d"']
    where = " AND ".join(bounds)
    if side.early:
        places = ", ".join(str(i + 1) for i in range(len(keys) + 2))
        rows = f'SELECT {", ".join([*keys, *life, *merged_parts(side)])} FROM "side_{side.id}" WHERE {where} GROUP BY {places}'
    else:
        rows = f'SELECT *, {", ".join(life)} FROM "side_{side.id}" WHERE {where}'
    return View(f"SELECT {', '.join(exposed(shape, number, 'b', 'd'))} FROM ({rows})", _rows(sizes, side, which))


_SLOT = '"slot"'


def alive_sql(shape: Shape, shown: Range, sources: Sequence[str]) -> str:
    """At every instant, merge the partial results that were born and have not expired.

    Those that live through the same instants are merged first: most of `alive` have been there before the first and outlive the last.
    """
    parts = [f'"{p.name}"' for p in shape.parts]
    found = {
        "alive": _merged_lives(shape, 'SELECT * FROM "alive"', shown),
        "born": f'SELECT {", ".join([*shape.keys, _B, _E, *parts])} FROM "born" WHERE "e" IS NOT NULL',
    }
    return _standing(shape, " UNION ALL BY NAME ".join(f"({found[s]})" for s in sources))


def _merged_lives(shape: Shape, lives: str, shown: Range) -> str:
    """Partial results from "b" to "d" as one for all that live through the same of some instants, from "b" to "e"."""
    names = [*shape.keys, _clipped("b", "d", shown), *(f'"{p.name}"' for p in shape.parts)]
    return grouped(shape, ['"b"', '"e"'], f"SELECT {', '.join(names)} FROM ({lives})")


def _standing(shape: Shape, lives: str) -> str:
    return grouped(shape, ['"i"'], f'SELECT * FROM ({lives}), "inst" WHERE "b" <= "i" AND "i" <= "e"')


_B, _E = '"b"', '"e"'


def remaining_sql(shape: Shape, last: int) -> str:
    """What outlives an instant, by the last instant of its life."""
    names = [*shape.keys, '"d" AS "slot"', *(f'"{p.name}"' for p in shape.parts)]
    return f'SELECT {", ".join(names)} FROM "born" WHERE "d" > {last}'


# ---- delta ----


def delta_sql(shape: Shape, instants: Range, expand: bool, sizes: Sizes) -> str:
    """What enters and leaves at every instant, by (keys, "i"): the telescoped difference of two joins."""
    terms = []
    for k in shape.streams:
        views = [
            _change_view(shape, n, instants, sizes) if n == k else _window_view(shape, n, instants, expand, sizes, int(n < k), merge=False)
            for n in range(len(shape.sides))
        ]
        where = [*conditions(shape), *_same_instant(shape)]
        terms.append(_joined([*key_columns(shape), f'"{k}.i" AS "i"', *_signed(shape, f'"{k}.sign"')], views, where))
    return _summed(shape, terms)


def base_sql(shape: Shape, instant: int, sizes: Sizes) -> str:
    """The totals of one instant from what the windows hold."""
    views = [_window_view(shape, n, (instant, instant + 1), False, sizes, merge=False) for n in range(len(shape.sides))]
    where = [*conditions(shape), *_same_instant(shape)]
    rows = _joined([*key_columns(shape), _instant(shape), *_signed(shape, "1")], views, where)
    return _summed(shape, [rows])


def _summed(shape: Shape, terms: Sequence[str]) -> str:
    names = [*(f'"{p.name}"' for p in shape.parts), *(f'"has_{p.name}"' for p in shape.parts), '"pairs"']
    keys = [*shape.keys, '"i"']
    places = ", ".join(str(i + 1) for i in range(len(keys)))
    return f"SELECT {', '.join([*keys, *(f'sum({n}) AS {n}' for n in names)])} FROM ({' UNION ALL '.join(terms)}) GROUP BY {places}"


def _signed(shape: Shape, sign: str) -> list[str]:
    columns = [f'{weighed(shape, p, sign)} AS "{p.name}"' for p in shape.parts]
    columns += [
        f'CASE WHEN {part_sql(p)} IS NULL THEN 0 ELSE {weight_sql(shape, p.input, sign)} END AS "has_{p.name}"' for p in shape.parts
    ]
    return [*columns, f'{weight_sql(shape, None, sign)} AS "pairs"']


def _change_view(shape: Shape, number: int, instants: Range, sizes: Sizes) -> View:
    """The rows that enter (+1) and leave (-1) an input's window at every instant."""
    side, step, span = shape.sides[number], shape.step, shape.span(number)
    table, seen = f'"side_{side.id}"', shape.visible(number)
    enter = f'SELECT *, {first_instant(_SLOT, step)} AS "i", 1 AS "sign" FROM {table} WHERE {seen}'
    leave = f'SELECT *, {last_instant(_SLOT, step, span)} + 1 AS "i", -1 AS "sign" FROM {table} WHERE {seen}'
    rows = enter if span is None else f"{enter} UNION ALL {leave}"
    bounds = f'"i" >= {instants[0]} AND "i" < {instants[1]}'
    sql = f"SELECT {', '.join(exposed(shape, number, 'i', 'sign'))} FROM ({rows}) WHERE {bounds}"
    return View(sql, 2 * _rows(sizes, side, NEW))


def totals_sql(shape: Shape, sources: Sequence[str]) -> str:
    """Running totals of `changes` on top of `base`, with the instant "next" at which each is replaced."""
    names = [*(f'"{p.name}"' for p in shape.parts), *(f'"has_{p.name}"' for p in shape.parts), '"pairs"']
    by = ", ".join(shape.keys) or "1"
    over = f'OVER (PARTITION BY {by} ORDER BY "i" ROWS UNBOUNDED PRECEDING)'
    sums = [f"sum({n}) {over} AS {n}" for n in names]
    following = f'lead("i") OVER (PARTITION BY {by} ORDER BY "i") AS "next"'
    columns = [*shape.keys, '"i"', *names]
    rows = " UNION ALL BY NAME ".join(f'SELECT {", ".join(columns)} FROM "{source}"' for source in sources)
    return f"SELECT {', '.join([*shape.keys, _I, *sums, following])} FROM ({rows})"


_I = '"i"'


def standing_sql(shape: Shape) -> str:
    """The totals that hold at every instant, where any pair is left."""
    parts = [f'CASE WHEN "has_{p.name}" > 0 THEN "{p.name}" END AS "{p.name}"' for p in shape.parts]
    keys = ", ".join([*shape.keys, '"inst"."i" AS "i"'])
    on = '"inst"."i" >= "totals"."i" AND ("next" IS NULL OR "inst"."i" < "next")'
    return f'SELECT {", ".join([keys, *parts])} FROM "totals", "inst" WHERE {on} AND "pairs" > 0'


def last_totals_sql(shape: Shape, last: int) -> str:
    """The totals as they stand at the last instant."""
    names = [*(f'"{p.name}"' for p in shape.parts), *(f'"has_{p.name}"' for p in shape.parts), '"pairs"']
    return f'SELECT {", ".join([*shape.keys, f"{last}::BIGINT AS slot", *names])} FROM "totals" WHERE "next" IS NULL AND "pairs" > 0'


def _escaped(name: str) -> str:
    return name.replace('"', '""')
