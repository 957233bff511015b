"""The inputs of a join at instants, as every evaluation sees them: rows in windows, lives of pairs, and what stands at an instant.

`side_S` is all that is known of side S, in which rows that may be results are numbered ("__row") and say whether the batch brought them
("__new"); `inst` the instants ("i") that matter in this batch. Instants are numbered: i stands for i * every.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations

from thalweg.compile.join_tree import Clause, View, from_sql
from thalweg.compile.lengths import lengths_of, within
from thalweg.compile.pieces import combined
from thalweg.compile.views import (
    ONE_EACH,
    conditions,
    exposed,
    first_instant,
    grouped,
    key_columns,
    last_instant,
    weighed_parts,
)
from thalweg.model.attaching import inner_streams, is_full
from thalweg.plan.nodes import Fragment
from thalweg.plan.pool import TYPE
from thalweg.plan.ranges import LOWEST, Range
from thalweg.plan.shape import Shape

OLD, NEW, ALL = "old", "new", "all"
# Rows of a side that are taken to be there where it is not known.
UNKNOWN = {OLD: 10, NEW: 1, ALL: 10}
Sizes = Mapping[tuple[str, str], int]
_SLOT = '"slot"'


def joined(
    columns: Sequence[str],
    views: Sequence[View],
    clauses: Sequence[Clause],
    order: Sequence[int],
    met: Collection[int] = (),
) -> str:
    """Columns of the partners among some inputs, which meet in an order; the first may be several that have `met`."""
    return f"SELECT {', '.join(columns) or '1'}\n{from_sql(views, clauses, order, met)}"


def rows_of(sizes: Sizes, side: Fragment, which: str = ALL) -> int:
    """How many rows of a side there are."""
    return sizes.get((which, side.id), UNKNOWN[which])


def static_view(shape: Shape, number: int, sizes: Sizes) -> View:
    """A table as an input."""
    side = shape.sides[number]
    return View(
        f'SELECT {", ".join(exposed(shape, number)) or "1"} FROM "side_{side.id}"', rows_of(sizes, side)
    )


def turns(shape: Shape, fresh: Sequence[int]) -> dict[int | None, list[str]]:
    """Per input with new rows, which rows of each input it is joined with, so that every new pair is met once."""
    return {
        k: [ALL if s.static or n > k else OLD if n < k else NEW for n, s in enumerate(shape.sides)]
        for k in fresh
    }


def instant(shape: Shape) -> str:
    """The instant of a joined row; where both sides come out alone, that of the one which is there."""
    those = shape.streams if is_full(shape.query) else inner_streams(shape.query)[:1]
    return f'coalesce({_of(those, "i")}) AS "i"' if len(those) > 1 else f'"{those[0]}.i" AS "i"'


def same_instant(shape: Shape) -> list[Clause]:
    """Rows of windows of one instant."""
    return [
        Clause(f'"{a}.i" = "{b}.i"', frozenset((a, b)), same="instant")
        for a, b in combinations(shape.streams, 2)
    ]


def window_view(
    shape: Shape,
    number: int,
    instants: Range,
    expand: bool,
    sizes: Sizes,
    shift: int = 0,
    merge: bool = True,
    given: bool = False,
    table: str = "",
) -> View:
    """An input's rows once per instant at which its window holds them; `shift` 1 means the window of the instant before. Where only those
    that are `given` to somebody matter, a row is there for no others. They are in a `table`, or all that is known of the side."""
    side, span = shape.sides[number], shape.span(number)
    if side.static:
        return static_view(shape, number, sizes)
    end = f'("i" - {shift}) * {shape.step}' if shift else f'"i" * {shape.step}'
    rows = within(shape, number, _at_instants(shape, number, instants, expand, shift, table), end, given)
    if side.early and merge:
        keys = [*side.keys, '"i"']
        rows = f"SELECT {', '.join([*keys, *combined(side.parts)])} FROM ({rows}) GROUP BY {', '.join(keys)}"
    shown = instants[1] - instants[0]
    copies = shown if span is None else min(shown, -(-span // shape.step))
    return View(
        f"SELECT {', '.join(exposed(shape, number, 'i'))} FROM ({rows})", rows_of(sizes, side) * copies
    )


def _at_instants(
    shape: Shape, number: int, instants: Range, expand: bool, shift: int, table: str = ""
) -> str:
    side, step, span = shape.sides[number], shape.step, shape.span(number)
    table, seen = table or f'"side_{side.id}"', shape.visible(number)
    if span is None or not expand:
        end = f'("i" - {shift}) * {step}' if shift else f'"i" * {step}'
        low = "" if span is None else f' AND "slot" >= {end} - {span}'
        return f'SELECT * FROM {table}, "inst" WHERE "slot" < {end}{low} AND {seen}'
    overlap = -(-span // step)
    first = first_instant(_SLOT, step) + (f" + {shift}" if shift else "")
    back, source = (' + "back"', f'{table}, range({overlap}) AS back("back")') if overlap > 1 else ("", table)
    inside = "" if span % step == 0 else f' AND "slot" >= ("i" - {shift}) * {step} - {span}'
    rows = f'SELECT *, {first}{back} AS "i" FROM {source} WHERE {seen}'
    return f'SELECT * FROM ({rows}) WHERE "i" >= {instants[0]} AND "i" < {instants[1]}{inside}'


def pairs_of(
    shape: Shape, met: Mapping[int | None, Sequence[str]], slots: Range, first: int, sizes: Sizes
) -> str:
    """Pairs, each by itself, from the first instant "b" of their life to the last, "d"; new are those with a slot in `slots`. Where members of
    a pool have windows of other lengths, a pair is there once for all who have the same, and the first of these is marked."""
    terms = []
    for fresh, turn in met.items():
        views = [_life_view(shape, n, which, slots, first, sizes) for n, which in enumerate(turn)]
        terms.append(
            joined(
                [*key_columns(shape), *_life(shape), *weighed_parts(shape)],
                views,
                conditions(shape),
                shape.order(fresh),
            )
        )
    pairs, apart = " UNION ALL ".join(terms), lengths_of(shape)
    if not apart:
        return f'SELECT * FROM ({pairs}) WHERE "b" <= "d"'
    ways, before = list[str](), 0
    for n, some in enumerate(apart):
        ways.append(_of_those(shape, some.bits, before, f'"d{n}"'))
        before |= some.bits
    return f'WITH "met" AS MATERIALIZED ({pairs})\n{" UNION ALL ".join(ways)}'


def _of_those(shape: Shape, bits: int, before: int, dies: str) -> str:
    """Pairs as members of a pool with windows of the same lengths see them; those with bits `before` have been looked at."""
    parts, whole = [f'"{p.name}"' for p in shape.parts], shape.keys[-1]
    own, first = f"{whole} & {bits}::{TYPE}", f'{whole} & {before}::{TYPE} = 0 AS "{FIRST}"'
    columns = [*shape.groups, *parts, f'{own} AS {whole}, "b", {dies} AS "d"', first]
    return f'SELECT {", ".join(columns)} FROM "met" WHERE {own} <> 0 AND "b" <= {dies}'


FIRST = "__first"
"""Says of a pair of a pool whether it is there for the first time."""


def one_each(shape: Shape) -> str:
    """How many joined rows pairs are."""
    return f'count(*) FILTER (WHERE "{FIRST}")' if lengths_of(shape) else ONE_EACH


def clipped(born: str, dies: str, shown: Range) -> str:
    """The first and the last of some instants in a life; a life between them has none, and the first is after the last."""
    return f'greatest("{born}", {shown[0]}) AS "b", least("{dies}", {shown[1] - 1}) AS "e"'


def _life(shape: Shape) -> list[str]:
    def of(*ends: str) -> str:
        return ", ".join(f'"{n}.{end}"' for n, end in zip(shape.streams, ends, strict=True))

    born = f'greatest({of(*("b" for _ in shape.streams))}) AS "b"'
    apart = lengths_of(shape)
    if not apart:
        return [born, f'least({of(*("d" for _ in shape.streams))}) AS "d"']
    return [born, *(f'least({of(*map(_end, some.of))}) AS "d{n}"' for n, some in enumerate(apart))]


def _end(length: int | None) -> str:
    """The column of the last instant at which a window of a length holds a row."""
    return "d" if length is None else f"d{length}"


def _of(inputs: Iterable[int], column: str) -> str:
    return ", ".join(f'"{n}.{column}"' for n in inputs)


def _life_view(shape: Shape, number: int, which: str, slots: Range, first: int, sizes: Sizes) -> View:
    """An input's rows with the instants between which its window holds them."""
    side, step, span = shape.sides[number], shape.step, shape.span(number)
    if side.static:
        return static_view(shape, number, sizes)
    low = slots[0] if which == NEW else None if span is None or first == LOWEST else first * step - span
    high = slots[0] if which == OLD else slots[1]
    bounds = [shape.visible(number), f'"slot" < {high}', *([] if low is None else [f'"slot" >= {low}'])]
    ends = _ends(shape, number)
    life = [
        f'{first_instant(_SLOT, step)} AS "b"',
        *(f'{last_instant(_SLOT, step, s)} AS "{n}"' for n, s in ends.items()),
    ]
    where = " AND ".join(bounds)
    if side.early:
        places = ", ".join(str(i + 1) for i in range(len(side.keys) + len(life)))
        columns = ", ".join([*side.keys, *life, *combined(side.parts)])
        rows = f'SELECT {columns} FROM "side_{side.id}" WHERE {where} GROUP BY {places}'
    else:
        rows = f'SELECT *, {", ".join(life)} FROM "side_{side.id}" WHERE {where}'
    return View(
        f"SELECT {', '.join(exposed(shape, number, 'b', *ends))} FROM ({rows})", rows_of(sizes, side, which)
    )


def _ends(shape: Shape, number: int) -> dict[str, int | None]:
    """The slots of an input's windows, by the column of the last instant at which they hold a row."""
    if not lengths_of(shape):
        return {"d": shape.span(number)}
    place = shape.streams.index(number)
    lengths = {some.of[place] for some in lengths_of(shape)}
    return {_end(n): None if n is None else n // shape.slot for n in sorted(lengths, key=lambda n: n or 0)}


def merged_lives(shape: Shape, lives: str, shown: Range, pairs: str = "") -> str:
    """Partial results from "b" to "d" as one for all that live through the same of some instants, from "b" to "e"; with how many joined
    rows they are of, where that is asked."""
    names = [*shape.keys, clipped("b", "d", shown), *(f'"{p.name}"' for p in shape.parts)]
    return grouped(shape, ['"b"', '"e"'], f"SELECT {', '.join(names)} FROM ({lives})", pairs)


def standing(shape: Shape, lives: str, pairs: str = "") -> str:
    """Partial results that live from "b" to "e", at every instant between."""
    return grouped(shape, ['"i"'], f'SELECT * FROM ({lives}), "inst" WHERE "b" <= "i" AND "i" <= "e"', pairs)
