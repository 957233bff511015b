"""What a join keeps of each of its inputs: which columns, which partial aggregates, and in which partition.

Each class of equated columns is an axis of a grid of partitions (`plan/grid.py`). A static table, and a stream that no class has
a column of, is given to all partitions whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from thalweg.expr.nodes import Column, Expr
from thalweg.model.aggregates import AGGREGATES, PartColumn, part_columns
from thalweg.model.attaching import inner_streams, owner
from thalweg.model.parts import Part
from thalweg.model.query import FULL, SEMI, Equality, Query, QueryAggregate, Term
from thalweg.model.windows import Window
from thalweg.plan.equated import equated_classes
from thalweg.plan.grid import Pattern
from thalweg.plan.groups import in_order
from thalweg.plan.nodes import COUNTED, Fragment, fragment

Node = tuple[int, str]
Route = tuple[tuple[str, ...] | None, ...]
MOST_AXES = 3


@dataclass(frozen=True)
class JoinPart:
    """A part of an aggregate over a join: the input it comes from (None: the joined row), and its name in results."""

    name: str
    input: int | None
    column: PartColumn

    @property
    def part(self) -> Part:
        """How it is made and combined."""
        return self.column.part


def join_parts(query: Query) -> tuple[JoinPart, ...]:
    """The parts that the results of a query are lowered from, each once."""
    found: dict[str, JoinPart] = {}
    for aggregate in query.aggregates:
        for made in aggregate_parts(aggregate):
            found.setdefault(made.name, made)
    return tuple(found.values())


def aggregate_parts(aggregate: QueryAggregate) -> tuple[JoinPart, ...]:
    """The parts of one aggregate."""
    where = "all" if aggregate.input is None else str(aggregate.input)
    return tuple(JoinPart(f"{where}_{c.name}", aggregate.input, c) for c in part_columns(aggregate.call))


def sides_of(query: Query, early: Sequence[bool], owner: str = "") -> tuple[Fragment, ...]:
    """What is kept of every input, as rows or as an aggregation set; with an owner it is not shared."""
    routes, pattern = _routes(query)
    made = (
        _side(query, n, early[n] and query.every is not None, routes[n], pattern)
        for n in range(len(query.inputs))
    )
    return tuple(fragment(replace(side, owner=owner)) if owner else side for side in made)


def _side(query: Query, number: int, early: bool, route: Route, pattern: Pattern) -> Fragment:
    """A side: no partner is found by NULL, so rows that have it in what is equated are left out, unless they come out without one; a set
    has one row of them at most."""
    given, columns = query.inputs[number], side_columns(query, number)
    equated, names = equated_columns(query, number), [c.sql for c in columns]
    own = [p for p in join_parts(query) if p.input == number]
    parts = {p.name: p for p in (*((COUNTED,) if early else ()), *(p.column for p in own))}
    slot = 1 if query.every is None else query.slot
    return fragment(
        Fragment(
            id="",
            source=given.source,
            static=not given.is_stream,
            where=given.where,
            columns=columns,
            window=Window(slot, slot),
            required=() if early else _required(query, number),
            parts=tuple(parts.values()),
            early=early,
            route=tuple(None if axis is None else tuple(names.index(c) for c in axis) for axis in route),
            timed=query.every is None and given.is_stream,
            pattern=pattern if route else (),
            holistic=early
            and any(AGGREGATES[a.call.function].holistic for a in query.aggregates if a.input == number),
            counted=tuple(dict.fromkeys((equated, *_equated_apart(query, number, names)))),
            pool=given.pool,
            sets=given.sets,
            owner=_place(query, number) if given.pool else "",
        )
    )


def _place(query: Query, number: int) -> str:
    """Which input of a pool rows are of, where a source is read more than once: members take other rows of each."""
    sources = [i.source for i in query.inputs]
    return str(number) if sources.count(sources[number]) > 1 else ""


def equated_columns(query: Query, number: int, columns: Sequence[Expr] | None = None) -> tuple[int, ...]:
    """Which columns of an input's side the join equates with those of others."""
    equated = {t.own for e in query.equalities for t in (e.left, e.right) if t.inputs == (number,)}
    return tuple(i for i, c in enumerate(columns or side_columns(query, number)) if c.sql in equated)


def _required(query: Query, number: int) -> tuple[int, ...]:
    """Which columns a row that is NULL there has no place in any result by: those that are equated with what it must have a partner in."""
    must = [e for e in query.equalities if _is_needed(query, number, e)]
    return equated_columns(replace(query, equalities=tuple(must)), number, side_columns(query, number))


def _is_needed(query: Query, number: int, equality: Equality) -> bool:
    of = owner(query, (*equality.left.inputs, *equality.right.inputs))
    return of is None or of.kind == SEMI or (of.kind != FULL and of.input == number)


def _equated_apart(query: Query, number: int, columns: Sequence[str]) -> list[tuple[int, ...]]:
    """The columns of an input's side that one class of equalities equates."""
    return [
        tuple(columns.index(c) for c in one.columns(number))
        for one in equated_classes(query.equalities)
        if number in one.inputs
    ]


def side_columns(query: Query, number: int) -> tuple[Expr, ...]:
    """What the join needs of an input after its rows were chosen: rule 1 of early aggregation, for any expressions."""
    terms = [t for e in query.equalities for t in (e.left, e.right)] + list(query.keys)
    whole = [t.bare for t in terms if t.inputs == (number,) and t.bare is not None]
    whole += [k.expr for k in query.keys if query.running is not None and not k.columns]
    read = [*query.columns, *(c for t in (*query.partnering, *query.kept) for c in t.columns)]
    read += [c for k in query.keys if k.own is None for c in k.columns]
    read += [c for a in query.aggregates if a.input is None for c in a.columns]
    bare = [Column(c.name, c.type) for c in read if c.input == number]
    return in_order((*bare, *whole))


def _routes(query: Query) -> tuple[tuple[Route, ...], Pattern]:
    """Per input how its rows are cut along each axis, nothing where all partitions have them; and which axes each stream has."""
    numbers = range(len(query.inputs))
    streams = [n for n in numbers if query.inputs[n].is_stream]
    axes = _axes(query, frozenset(streams))
    if not axes:
        one = inner_streams(query)[0]
        columns = (
            side_columns(query, one) if query.running is None else [k.bare or k.expr for k in query.keys]
        )
        first = (tuple(c.sql for c in columns),)
        return tuple(first if n == one else () for n in numbers), ()
    routes: list[Route] = [tuple(axis.get(n) for axis in axes) for n in numbers]
    pattern = tuple(tuple(n in axis for axis in axes) for n in streams) if len(axes) > 1 else ()
    return tuple(route if any(a is not None for a in route) else () for route in routes), pattern


def _axes(query: Query, streams: frozenset[int]) -> list[dict[int, tuple[str, ...]]]:
    """The axes of the grid, those of most streams first, each with the columns of the streams that have it.

    Classes of the same streams are one axis. Where one has all the streams of another, the other would only make copies.
    """
    found: dict[frozenset[int], list[frozenset[Node]]] = {}
    for c in _classes((e.left, e.right) for e in query.equalities):
        found.setdefault(frozenset(n for n, _ in c) & streams, []).append(c)
    sets = [s for s in found if len(s) > 1 and not any(s < other for other in found)]
    chosen = sorted(sets, key=lambda s: (-len(s), sorted(s)))[:MOST_AXES]
    return [
        {n: tuple(min(sql for m, sql in c if m == n) for c in found[s]) for n in sorted(s)} for s in chosen
    ]


def _classes(pairs: Iterable[tuple[Term, Term]]) -> list[frozenset[Node]]:
    """The expressions that must all be equal, as sets of (input, expression)."""
    classes: list[frozenset[Node]] = []
    for left, right in pairs:
        joined = frozenset({_node(left), _node(right)})
        apart = [c for c in classes if not c & joined]
        classes = [*apart, joined.union(*(c for c in classes if c & joined))]
    return sorted(classes, key=lambda c: sorted(c))


def _node(term: Term) -> Node:
    return term.inputs[0], term.own or term.sql
