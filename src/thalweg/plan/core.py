"""What of a query its join depends on: the same for all who ask it, whatever names they give."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from thalweg.expr.nodes import Expr
from thalweg.expr.normal import ordered
from thalweg.model.query import ColumnRef, Equality, Output, Query, QueryAggregate, Term, joined_name
from thalweg.once import once


@once
def core(query: Query) -> Query:
    """A query without names, inputs numbered, and where it is aggregated without HAVING and what is shown."""
    names = {
        joined_name(query.inputs[c.input].alias, c.name): joined_name(f"i{c.input}", c.name)
        for c in _columns(query)
    }

    def bare(expr: Expr) -> Expr:
        return ordered(expr.renamed(lambda name: names.get(name, name)))

    def term(given: Term) -> Term:
        return replace(given, expr=bare(given.expr))

    def terms(given: Iterable[Term]) -> tuple[Term, ...]:
        return tuple(sorted((term(t) for t in given), key=lambda t: t.sql))

    rows = query.every is None and not query.windows
    return replace(
        query.meaning,
        inputs=tuple(replace(given, alias=f"i{n}") for n, given in enumerate(query.inputs)),
        equalities=tuple(Equality(term(e.left), term(e.right)) for e in query.equalities),
        residue=terms(query.residue),
        attached=tuple(replace(a, on=terms(a.on)) for a in query.attached),
        kept=terms(query.kept),
        keys=tuple(term(k) for k in query.keys),
        aggregates=tuple(_aggregate(a, bare) if a.input is None else a for a in query.aggregates),
        outputs=tuple(Output(o.name, bare(o.expr)) for o in query.outputs) if rows else (),
        having=None,
        changes=False,
        ttl=None,
        nested=(),
    )


def _columns(query: Query) -> set[ColumnRef]:
    terms = [
        *(t for e in query.equalities for t in (e.left, e.right)),
        *query.partnering,
        *query.kept,
        *query.keys,
    ]
    return {
        *query.columns,
        *(c for t in terms for c in t.columns),
        *(c for a in query.aggregates for c in a.columns),
    }


def _aggregate(aggregate: QueryAggregate, bare: Callable[[Expr], Expr]) -> QueryAggregate:
    call = aggregate.call
    where = None if call.where is None else bare(call.where)
    return replace(aggregate, call=replace(call, args=tuple(bare(a) for a in call.args), where=where))
