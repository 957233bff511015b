"""Sub-joins as SQL: the combinations of the rows of some sides, by number, for all joins that go on from them."""

from __future__ import annotations

from collections.abc import Mapping

from thalweg.compile.inputs import ALL, Sizes
from thalweg.compile.join_tree import Clause, View, from_sql
from thalweg.compile.lifts import word_column
from thalweg.plan.pool import SET, TYPE
from thalweg.plan.sub_joins import SubJoin


def sub_sql(sub: SubJoin, sizes: Sizes) -> str:
    """Rows by number, with their event times, what users find the next ones by, their query-sets, and whether any of them is new."""
    places, last = range(len(sub.sides)), len(sub.sides) - 1
    views = [_view(sub, place, sizes) for place in places]
    met = tuple(range(last)) if sub.base else ()
    if met:
        views[0] = View(
            f'SELECT {", ".join(_from_base(sub))} FROM "{sub.base}"', sizes.get((ALL, sub.base), 10)
        )
    first = _columns(sub, range(last)) if met else [c for place in range(last) for c in _names(sub, place)]
    sets = [f'("0.{SET}{w}" & "{last}.{SET}{w}") AS {word_column(w)}' for w, _ in sub.bits]
    some = '("0.new" OR ' + f'"{last}.new") AS "new"'
    return f"SELECT {', '.join([*first, *_names(sub, last), *sets, some])}\n{from_sql(views, _clauses(sub), (0, last), met)}"


def _columns(sub: SubJoin, places: range) -> list[str]:
    return [c for place in places for c in _names(sub, place)]


def _names(sub: SubJoin, place: int) -> list[str]:
    return [f'"{place}.row"', f'"{place}.slot"', *(f'"{place}.c{i}"' for i in sub.columns[place])]


def _from_base(sub: SubJoin) -> list[str]:
    """What the sides that have met before bring, under the names of the first."""
    words = [f'{word_column(w)} AS "0.{SET}{w}"' for w, _ in sub.bits]
    return [*_columns(sub, range(len(sub.sides) - 1)), *words, '"new" AS "0.new"']


def _view(sub: SubJoin, place: int, sizes: Sizes) -> View:
    side = sub.sides[place]
    columns = [
        f'"__row" AS "{place}.row"',
        f'"slot" AS "{place}.slot"',
        *(f'"c{i}" AS "{place}.c{i}"' for i in sub.columns[place]),
    ]
    columns += [f'{word_column(w)} AS "{place}.{SET}{w}"' for w, _ in sub.bits]
    taken = " OR ".join(f"{word_column(w)} & {mask}::{TYPE} <> 0" for w, mask in sub.bits)
    sql = f'SELECT {", ".join(columns)}, "__new" AS "{place}.new" FROM "side_{side}" WHERE {taken}'
    return View(sql, sizes.get((ALL, side), 10))


def _clauses(sub: SubJoin) -> list[Clause]:
    """Equalities, windows of the longest that any user has, and that someone takes both; those of the base hold already."""
    last, old = len(sub.sides) - 1, len(sub.sides) - 1 if sub.base else 0
    equal = [(e.left, e.right) for e in sub.on if max(e.left[0], e.right[0]) >= old]
    found = [Clause(f'"{a}.c{i}" = "{b}.c{j}"', frozenset((a, b))) for (a, i), (b, j) in equal]
    for one in range(last):
        for mine, other in ((one, last), (last, one)):
            if (length := sub.lengths[mine]) is not None:
                found.append(Clause(f'"{other}.slot" - "{mine}.slot" < {length}', frozenset((one, last))))
    taken = " OR ".join(f'"0.{SET}{w}" & "{last}.{SET}{w}" & {mask}::{TYPE} <> 0' for w, mask in sub.bits)
    return [*found, Clause(f"({taken})", frozenset((0, last)))]


def in_order(subs: Mapping[str, SubJoin], id: str) -> list[SubJoin]:
    """A sub-join after those that it begins with."""
    sub = subs[id]
    return [*(in_order(subs, sub.base) if sub.base else ()), sub]
