"""EMIT EVERY and EMIT CHANGES over windows in GROUP BY: their results are told while they are open, where they change."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from thalweg.expr.nodes import Column, Expr
from thalweg.model.query import (
    AS_OF,
    DELETED,
    UNBOUNDED,
    Aggregate,
    ColumnRef,
    Output,
    Query,
    QueryAggregate,
    QueryInput,
    Term,
    joined_name,
)
from thalweg.model.windows import NamedWindow
from thalweg.sql.instants import default_every, emits_changes
from thalweg.sql.join_results import BY_TIME
from thalweg.sql.rows import Rows
from thalweg.sql.windows import fixed_length

MOST_INSTANCES = 1000
"""Instances of all windows together that a row may be in."""


def told_early(rows: Rows, select: exp.Select, query: Query) -> Query:
    """The query of windows that a SELECT asks for: final results, or with EMIT CHANGES those of open windows as they change."""
    source, every = rows.source, select.args.get("every")
    if not emits_changes(select):
        if every is not None:
            hint = "write EMIT EVERY to have results of open windows told, or leave it out"
            raise source.at(every, "EVERY beside EMIT FINAL is not supported for windows in GROUP BY", hint)
        return query
    _check(rows, select, query)
    lengths = [n for w in query.windows for n in (w.window.range, w.window.slide)]
    distance = (
        default_every(lengths) if every is None else fixed_length(source, every.expressions[0], "EVERY")
    )
    return _as_groups(rows, replace(query, every=distance))


def _check(rows: Rows, select: exp.Select, query: Query) -> None:
    """Refuse what can't be told before its window is over."""
    source, emit = rows.source, select.args["emit"]
    if any(w.window.session for w in query.windows):
        hint = "use TUMBLE or HOP, or leave EMIT out"
        raise source.at(emit, "results of open sessions are not told: their windows are not known yet", hint)
    if sum(map(_overlap, query.windows)) > MOST_INSTANCES:
        hint = "use a longer slide, or leave EMIT out"
        raise source.at(emit, f"each row would be in more than {MOST_INSTANCES:,} open windows", hint)
    for name in (AS_OF, DELETED):
        if any(o.name.lower() == name for o in query.outputs):
            item = next(i for i in select.expressions if i.alias_or_name.lower() == name)
            raise source.at(item, f"EMIT gives a column {name} too", "rename this one with AS")
    for name in (c.function for c in query.calls if c.function in BY_TIME):
        hint = f"use {BY_TIME[name].format(rows.stream.time)}"
        raise source.at(emit, f"{name} of windows that are told before they end is not supported", hint)


def _overlap(named: NamedWindow) -> int:
    """In how many instances of a window a row is."""
    return -(-named.window.range // named.window.slide)


def _as_groups(rows: Rows, query: Query) -> Query:
    """Groups of all rows so far, each of an instance of a window besides."""
    alias = query.inputs[0].alias
    types = {**{c.name: c.type for c in rows.stream.fields.values()}, **rows.stream.types}

    def joined(expr: Expr) -> Expr:
        return expr.renamed(lambda name: joined_name(alias, name))

    def read(*exprs: Expr) -> tuple[ColumnRef, ...]:
        names = sorted({n for e in exprs for n in e.columns})
        return tuple(ColumnRef(0, n, types[n]) for n in names)

    def counted(call: Aggregate) -> QueryAggregate:
        return QueryAggregate(call, 0 if (columns := read(*call.exprs)) else None, columns)

    marks = (Output(AS_OF, Column(AS_OF, "TIMESTAMP")), Output(DELETED, Column(DELETED, "BOOLEAN")))
    return replace(
        query,
        inputs=(QueryInput(alias, query.stream, UNBOUNDED, where=query.where),),
        keys=tuple(Term(joined(k.expr), c := read(k.expr), k.expr if c else None) for k in query.keys),
        aggregates=tuple(map(counted, query.calls)),
        outputs=(*query.outputs, *marks),
        windows=(),
        told=query.windows,
        changes=True,
    )
