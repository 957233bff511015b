"""What a query reads of the rows of its inputs."""

from __future__ import annotations

from collections.abc import Iterator

from thalweg.expr.nodes import Column, Expr
from thalweg.model.query import Query, Term
from thalweg.once import once


def columns_read(query: Query, source: str) -> frozenset[str]:
    """The columns that a query reads of a stream or table, under whatever names it has it."""
    return _by_source(query).get(source, frozenset())


@once
def _by_source(query: Query) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for number, given in enumerate(query.inputs):
        found[given.source] = found.get(given.source, frozenset()) | _columns(query, number)
    return found


def columns_judged(query: Query, source: str) -> frozenset[str]:
    """Those of them that it does more with than to aggregate them: compares, groups by, computes with."""
    numbers = [n for n, i in enumerate(query.inputs) if i.source == source]
    plain = {(a.input, e.name) for a in query.aggregates for e in a.call.args if isinstance(e, Column)}
    judged = frozenset().union(*(_judged(query, n) for n in numbers))
    return judged | {c for n in numbers for c in _columns(query, n) if (n, c) not in plain}


def _columns(query: Query, number: int) -> frozenset[str]:
    refs = [*query.columns, *(c for a in query.aggregates if a.input is None for c in a.columns)]
    named = {c.name for c in refs if c.input == number}
    return frozenset(named).union(
        *(e.columns for a in query.aggregates if a.input == number for e in a.call.exprs),
        *(o.expr.columns for o in query.inputs[number].shown),
        _judged(query, number),
    )


def _judged(query: Query, number: int) -> frozenset[str]:
    """Columns in conditions, keys, and arguments that are more than a column."""
    calls = [a.call for a in query.aggregates if a.input == number]
    exprs: list[Expr] = [
        *query.inputs[number].where,
        *(e for c in calls for e in c.args if not isinstance(e, Column)),
    ]
    exprs += [c.where for c in calls if c.where is not None]
    return frozenset().union(*(e.columns for e in exprs), *(_of_term(t, number) for t in _terms(query)))


def _terms(query: Query) -> Iterator[Term]:
    yield from (t for e in query.equalities for t in (e.left, e.right))
    yield from (*query.partnering, *query.kept, *query.keys)


def _of_term(term: Term, number: int) -> frozenset[str]:
    if term.bare is not None and not term.columns:
        return term.bare.columns
    return frozenset(c.name for c in term.columns if c.input == number)
