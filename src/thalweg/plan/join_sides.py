"""What a join keeps of each of its inputs: which columns, which partial aggregates, and in which partition.

One class of equated columns is chosen to cut the streams by hash; a stream that has no column of that class, and every
static table, is given to all partitions whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from thalweg.logical.aggregates import AGGREGATES, Part, PartColumn, part_columns
from thalweg.logical.join import JoinAggregate, JoinQuery, Term
from thalweg.plan.arithmetic import identifier
from thalweg.plan.nodes import TIME, Side, side_id

Node = tuple[int, str]


@dataclass(frozen=True)
class JoinPart:
    """A part of an aggregate over a join: the input it comes from (None: the joined row), and its name in results."""

    name: str
    input: int | None
    column: PartColumn
    part: Part


def join_parts(query: JoinQuery) -> tuple[JoinPart, ...]:
    """The parts that the results of a query are lowered from, each once."""
    found: dict[str, JoinPart] = {}
    for aggregate in query.aggregates:
        for made in aggregate_parts(aggregate):
            found.setdefault(made.name, made)
    return tuple(found.values())


def aggregate_parts(aggregate: JoinAggregate) -> tuple[JoinPart, ...]:
    """The parts of one aggregate."""
    where = "all" if aggregate.input is None else str(aggregate.input)
    columns = part_columns(aggregate.call, TIME)
    parts = AGGREGATES[aggregate.call.function].parts
    return tuple(JoinPart(f"{where}_{c.name}", aggregate.input, c, p) for c, p in zip(columns, parts, strict=True))


def sides_of(query: JoinQuery, early: Sequence[bool]) -> tuple[Side, ...]:
    """The side of every input, as rows or as an aggregation set."""
    routes = _routes(query)
    return tuple(_side(query, n, early[n], routes[n]) for n in range(len(query.inputs)))


def _side(query: JoinQuery, number: int, early: bool, route: tuple[str, ...] | None) -> Side:
    given, columns = query.inputs[number], side_columns(query, number)
    equated = {t.own for e in query.equalities for t in (e.left, e.right) if t.inputs == (number,)}
    made = Side(
        id="",
        source=given.source,
        static=not given.is_stream,
        where=tuple(c.sql for c in given.where),
        columns=columns,
        required=tuple(i for i, c in enumerate(columns) if c in equated),
        parts=tuple({p.column.name: p.column for p in join_parts(query) if p.input == number}.values()),
        early=early and query.every is not None,
        slot=1 if query.every is None else query.slot,
        route=None if route is None else tuple(columns.index(c) for c in route),
        timed=query.every is None and given.is_stream,
    )
    return replace(made, id=side_id(made))


def side_columns(query: JoinQuery, number: int) -> tuple[str, ...]:
    """What the join needs of an input after its rows were chosen: rule 1 of early aggregation, for any expressions."""
    terms = [t for e in query.equalities for t in (e.left, e.right)] + list(query.keys)
    whole = {t.own for t in terms if t.inputs == (number,) and t.own is not None}
    read = [*query.columns, *(c for t in query.residue for c in t.columns)]
    read += [c for k in query.keys if k.own is None for c in k.columns]
    read += [c for a in query.aggregates if a.input is None for c in a.columns]
    bare = {identifier(c.name) for c in read if c.input == number}
    return tuple(sorted(whole | bare))


def _routes(query: JoinQuery) -> tuple[tuple[str, ...] | None, ...]:
    """Per input the columns by which its rows are cut, or None where all partitions have them."""
    classes = _classes((e.left, e.right) for e in query.equalities)
    streams = {n for n, i in enumerate(query.inputs) if i.is_stream}
    covered = [frozenset(n for n, _ in c) & streams for c in classes]
    best = max(covered, key=lambda c: (len(c), -min(c, default=0)), default=frozenset())
    if len(best) < 2:
        first = min(streams)
        return tuple(side_columns(query, first) if n == first else None for n in range(len(query.inputs)))
    chosen = [c for c, inputs in zip(classes, covered, strict=True) if inputs == best]
    return tuple(tuple(min(sql for m, sql in c if m == n) for c in chosen) if n in best else None for n in range(len(query.inputs)))


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
