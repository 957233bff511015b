"""The trees behind the SQL of a fragment, as the queries have them that it is there for."""

from __future__ import annotations

from collections.abc import Iterator

from thalweg.expr.implication import said
from thalweg.expr.nodes import Call, Column, Expr
from thalweg.expr.quoting import identifier
from thalweg.model.aggregates import part_columns
from thalweg.model.query import Aggregate, Query
from thalweg.plan.groups import CELLED
from thalweg.plan.nodes import COUNTED, TIME, Fragment, Plan
from thalweg.plan.pool import SET, TYPE

_ROWS = Aggregate("COUNT_ROWS")


def column_trees(plan: Plan, fragment: Fragment) -> tuple[Expr, ...]:
    """What a fragment keeps of a row: columns of its source, or expressions over them."""
    sources = {s.name: s.columns for s in plan.streams} | {r.name: r.columns for r in plan.relations}
    trees: dict[str, Expr] = {identifier(c.name): Column(c.name, c.type) for c in sources[fragment.source]}
    trees |= {e.sql: e for query, number in _askers(plan, fragment) for e in _expressions(query, number)}
    trees |= {
        identifier(name): Column("query_set", TYPE)
        for name in (SET, *(f"{SET}{n}" for n in range(fragment.words)))
    }
    if fragment.celled:
        subject = next(subject for subject, _, _ in said(fragment.sets[0].where[0]))
        trees[CELLED] = Call("CELL", (subject,), subject.type)
    return tuple(trees[c] for c in fragment.columns)


def part_calls(plan: Plan, fragment: Fragment) -> dict[str, tuple[Aggregate, int]]:
    """The aggregate that each part of a fragment is of, and the place that the part has in it."""
    found = {COUNTED.name: (_ROWS, 0)}
    for query, number in _askers(plan, fragment):
        for aggregate in (a.call for a in query.aggregates if query.windows or a.input == number):
            for place, column in enumerate(part_columns(aggregate, TIME)):
                found.setdefault(column.name, (aggregate, place))
    return found


def _askers(plan: Plan, fragment: Fragment) -> Iterator[tuple[Query, int]]:
    """What a fragment is there for, with the number of the input that it stands for."""
    yield from ((join.asked, number) for join, number in plan.joins_of(fragment.id))
    asking = (plan.query(name) for name in plan.queries_of(fragment.id))
    yield from ((query, 0) for query in asking if query.windows)


def _expressions(query: Query, number: int) -> Iterator[Expr]:
    """What the keys of windows are, or what a join equates and groups by, over the rows of one input."""
    if query.windows:
        yield from (k.expr for k in query.keys)
        return
    for term in (*(t for e in query.equalities for t in (e.left, e.right)), *query.keys):
        if term.bare is not None and term.inputs == (number,):
            yield term.bare
