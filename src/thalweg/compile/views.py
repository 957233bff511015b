"""The inputs of a join as SQL: what is kept of a chunk, and how a join statement sees it.

In a join statement column i of input k is `"k.ci"`, its part P `"k.P"`, and in an aggregation set the number of rows `"k.n"`;
columns that expressions over the joined row name have that name too (`"b.price"`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from thalweg.compile.join_tree import Clause
from thalweg.compile.lifts import word_column
from thalweg.expr.nodes import Expr
from thalweg.expr.quoting import identifier
from thalweg.model.attaching import owner
from thalweg.model.query import Attached, Query, Term, flat, joined_name
from thalweg.plan.arithmetic import floor_div
from thalweg.plan.nodes import COUNTED, Fragment
from thalweg.plan.pool import SET, TYPE
from thalweg.plan.ranges import HIGHEST
from thalweg.plan.shape import Shape
from thalweg.plan.sides import JoinPart


def exposed(shape: Shape, number: int, *more: str) -> list[str]:
    """The columns of an input under the names that join statements use; `more` are the view's own, prefixed too."""
    side, query = shape.sides[number], shape.query
    names = {f"c{i}": f'"{number}.c{i}"' for i in range(len(side.columns))}
    columns = [f'"{c}" AS {name}' for c, name in names.items()]
    columns += [f'"{p.name}" AS "{number}.{p.name}"' for p in side.parts]
    columns += [f'"{m}" AS "{number}.{m}"' for m in more]
    columns += [f'"{COUNTED.name}"::BIGINT AS "{number}.n"'] if side.early else []
    return columns + [
        f"{_kept(shape, number, c)} AS {flat(query.inputs[number].alias, n)}" for c, n in _read(shape, number)
    ]


def narrow(shape: Shape, number: int) -> list[str]:
    """The columns of an input that decide who are partners, under the names that join statements use."""
    return [f"{sql} AS {name}" for name, (sql, _) in narrow_columns(shape, number).items()]


def narrow_columns(shape: Shape, number: int) -> dict[str, tuple[str, str]]:
    """By these names what they are, and their types."""
    side, query = shape.sides[number], shape.query
    found = {
        f'"{number}.c{i}"': (f'"c{i}"', c.type)
        for i, c in enumerate(side.columns)
        if c.sql in equated_terms(query, number)
    }
    for name in sorted(deciding_columns(query, number)):
        column, of = identifier(name), flat(query.inputs[number].alias, name)
        found[of] = (_kept(shape, number, column), TYPE if name == SET else side.type_of(column))
    return found


def equated_terms(query: Query, number: int) -> set[str]:
    """What an input has that is equated with something of another."""
    return {
        t.own
        for e in query.equalities
        for t in (e.left, e.right)
        if t.inputs == (number,) and t.own is not None
    }


def deciding_columns(query: Query, number: int) -> set[str]:
    """The columns of an input that conditions on the joined row name; of a pool also what its query-set is made from."""
    wide = [*query.partnering, *(t for e in query.equalities for t in (e.left, e.right) if t.own is None)]
    names = {c.name for t in wide for c in t.columns if c.input == number}
    if query.inputs[0].pool:
        alias, whole = query.inputs[number].alias, query.outputs[-1].expr.columns
        names |= {c.name for c in query.columns if c.input == number and joined_name(alias, c.name) in whole}
    return names


def met_columns(shape: Shape, number: int, place: int) -> list[str]:
    """The same columns as a sub-join has them, in which an input has a place."""
    side, query = shape.sides[number], shape.query
    alias = query.inputs[number].alias
    found = [
        f'"{place}.c{i}" AS "{number}.c{i}"'
        for i, c in enumerate(side.columns)
        if c.sql in equated_terms(query, number)
    ]
    for name in sorted(deciding_columns(query, number)):
        kept = set_of(shape) if name == SET else f'"{place}.c{side.place_of(identifier(name))}"'
        found.append(f"{kept} AS {flat(alias, name)}")
    return [
        *found,
        f'"{place}.row" AS "{number}.row"',
        f'"{place}.slot" AS "{number}.slot"',
        f'"new" AS "{number}.new"',
    ]


def no_rows_sql(side: Fragment) -> str:
    """A side of which there are no rows."""
    types = {f"c{i}": c.type for i, c in enumerate(side.columns)} | {"slot": "BIGINT"}
    columns = ", ".join(f"NULL::{type_} AS {identifier(name)}" for name, type_ in types.items())
    return f"SELECT {columns} WHERE FALSE"


def gathered(shape: Shape, exprs: Iterable[Expr]) -> dict[str, tuple[int, str]]:
    """For each column that expressions read, the input and the column of its side that has it."""
    read = frozenset[str]().union(*(e.columns for e in exprs))
    places = {
        joined_name(i.alias, c): (n, c) for n, i in enumerate(shape.query.inputs) for c in _names(shape, n)
    }
    return {
        name: (n, f"c{shape.sides[n].place_of(identifier(c))}")
        for name in sorted(read)
        for n, c in (places[name],)
    }


def _names(shape: Shape, number: int) -> list[str]:
    return [name for _, name in _read(shape, number) if name != SET]


def _kept(shape: Shape, number: int, column: str) -> str:
    """Where a side has a column."""
    side = shape.sides[number]
    return set_of(shape) if side.common and column == identifier(SET) else f'"c{side.place_of(column)}"'


def set_of(shape: Shape) -> str:
    """The query-set of a row of a commons, by the bits of the pool that a join is of."""
    room = shape.join.room
    if room is None:
        raise AssertionError("rows of a commons without a room in their query-sets")
    low = f"({word_column(room.word)} >> {room.first % 64})" if room.first % 64 else word_column(room.word)
    return f"({low} & {(1 << room.size) - 1}::{TYPE})" if room.size < 64 else low


def _read(shape: Shape, number: int) -> Iterable[tuple[str, str]]:
    """The bare columns of an input that expressions over the joined row name, with their names."""
    q = shape.query
    keys = (k for k in q.keys if k.own is None)
    read = [*q.columns, *(c for t in (*q.partnering, *q.kept, *keys) for c in t.columns)]
    read += [c for a in q.aggregates if a.input is None for c in a.columns]
    return [(identifier(n), n) for n in sorted({c.name for c in read if c.input == number})]


def term_sql(shape: Shape, term: Term) -> str:
    """A term in a join statement."""
    if term.own is None or len(term.inputs) != 1:
        return f"({term.sql})"
    number = term.inputs[0]
    return f'"{number}.c{shape.sides[number].place_of(term.own)}"'


def conditions(shape: Shape, of: Attached | None = None) -> list[Clause]:
    """What makes rows partners: inner ones, or those of an attached input. A nested loop is asked for by hiding the equality."""
    query, loop, found = shape.query, shape.join.method == "loop", []
    for e in query.equalities:
        inputs = frozenset((*e.left.inputs, *e.right.inputs))
        if owner(query, inputs) == of:
            equal = f"{term_sql(shape, e.left)} = {term_sql(shape, e.right)}"
            found.append(Clause(f"coalesce({equal}, FALSE)" if loop else equal, inputs))
    terms = query.residue if of is None else of.on
    return [*found, *(Clause(f"({t.sql})", frozenset(t.inputs)) for t in terms)]


def weighed_parts(shape: Shape, sign: str = "") -> list[str]:
    """The parts of a joined row: each as often as the other inputs' aggregation sets have rows."""
    return [f'{weighed(shape, p, sign)} AS "{p.name}"' for p in shape.parts]


def weighed(shape: Shape, part: JoinPart, sign: str = "") -> str:
    """One part of a joined row."""
    weight = weight_sql(
        shape,
        part.input,
        sign,
        factors=0 if part.input is None and part.part.kind in ("rows", "count") else 1,
    )
    base, rows = part_sql(part), part.input is None or not shape.sides[part.input].early
    if not weight:
        return base
    return part.part.weigh(f"{base}::{part.column.wide}" if rows and part.column.wide else base, weight)


def part_sql(part: JoinPart) -> str:
    """A part of one joined row before it is weighed."""
    return f"({part.column.unit})" if part.input is None else f'"{part.input}.{part.column.name}"'


def weight_sql(shape: Shape, owner: int | None, sign: str = "", factors: int = 0) -> str:
    """How many pairs a joined row stands for, seen from one input (None: from outside); nothing where it is one. It will be multiplied
    with so many other factors."""
    counts = [f'"{n}.n"' for n, s in enumerate(shape.sides) if s.early and n != owner]
    if (
        counts and len(counts) + factors > 2
    ):  # the product of two numbers of rows, or of one and an INTEGER, fits in 64 bits
        counts[0] += "::HUGEINT"
    return " * ".join([*([sign] if sign else []), *counts])


def key_columns(shape: Shape) -> list[str]:
    """The grouping keys of a joined row."""
    return [f'{term_sql(shape, k)} AS "k{i}"' for i, k in enumerate(shape.query.keys)]


def combined_parts(shape: Shape) -> list[str]:
    """The parts of a group of joined rows."""
    return [f'{p.part.combine(_name(p))} AS "{p.name}"' for p in shape.parts]


def _name(part: JoinPart) -> str:
    return f'"{part.name}"'


PAIRS = "__pairs"
"""The column that says how many joined rows a row was made of, for statistics."""
ONE_EACH = "count(*)"
"""How many joined rows there are, where each row is one; and where rows say of how many they were made."""
AS_SAID = f'sum("{PAIRS}")'


def grouped(shape: Shape, by: Sequence[str], rows: str, pairs: str = "") -> str:
    """Joined rows to one row per keys and some more columns, with how many `pairs` they are where that is asked."""
    keys = [*shape.keys, *by]
    places = ", ".join(str(i + 1) for i in range(len(keys)))
    said = [f'{pairs} AS "{PAIRS}"'] if pairs else []
    return f"SELECT {', '.join([*keys, *combined_parts(shape), *said])} FROM ({rows}) GROUP BY {places}"


def first_instant(slot: str, step: int) -> str:
    """The first instant after a slot."""
    return f"({floor_div(slot, step)} + 1)"


def last_instant(slot: str, step: int, span: int | None) -> str:
    """The last instant at which a slot is in a window of a span."""
    return str(HIGHEST) if span is None else f"({floor_div(f'({slot} + {span})', step)})"
