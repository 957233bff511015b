"""A parsed SELECT to a query: names resolved, types known, expressions in the engine's SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from thalweg.expr.nodes import Expr
from thalweg.expr.python import Function
from thalweg.expr.typing import Infer, InferenceError, Typing, typing_by
from thalweg.model.nesting import apart
from thalweg.model.query import Query
from thalweg.model.stream import Relation, Stream, View
from thalweg.model.target import Target, target_of
from thalweg.model.windowed import windowed
from thalweg.sql.aggregates import groups_rows
from thalweg.sql.conditions import conjunction
from thalweg.sql.early import told_early
from thalweg.sql.grouping import bind_grouping
from thalweg.sql.inputs import Known
from thalweg.sql.joins import bind_join
from thalweg.sql.landmarks import with_landmark
from thalweg.sql.nesting import Named
from thalweg.sql.over import has_over
from thalweg.sql.over_changes import over_changes
from thalweg.sql.ranked import only_call, ranked_in_windows, ranks_in_windows
from thalweg.sql.refusals import SUPPORTED, is_join, refuse_clauses, refuse_unsupported, table_references
from thalweg.sql.rewriting import rewritten
from thalweg.sql.rows import Rows
from thalweg.sql.running import bind_running, runs
from thalweg.sql.source import Source
from thalweg.sql.statements import ParsedSelect
from thalweg.sql.views import named_selects
from thalweg.sql.window_results import WindowResults
from thalweg.sql.windows import check_time

__all__ = ["Infer", "InferenceError", "bind"]


def bind(
    select: ParsedSelect,
    *,
    name: str,
    into: str | None,
    streams: Mapping[str, Stream],
    infer: Infer,
    relations: Mapping[str, Relation] | None = None,
    views: Mapping[str, View] | None = None,
    queries: Mapping[str, Query] | None = None,
    functions: Mapping[str, Function] | None = None,
) -> Query:
    """The query that a SELECT asks for: a join where it reads several inputs, one with a window in FROM, or rows as they are."""
    source, typing = select.source, replace(typing_by(infer), functions=functions or {})

    def bound(source: Source, query: exp.Query, known: Known, named: Named) -> Query:
        return _bound(source, query, known, named, typing)

    try:
        named = named_selects(select.node, views or {}, queries or {})
        found = bound(source, select.node, Known(streams, relations or {}, bound), named)
    except RecursionError:
        raise source.error("the query is nested too deeply", select.span, "take it apart") from None
    reads = tuple(sorted(n.query.name for n in named.values() if n.query is not None))
    return apart(replace(found, name=name, text=select.sql, into=target_of(into), reads=reads))


def _bound(source: Source, query: exp.Query, known: Known, named: Named, typing: Typing) -> Query:
    """A SELECT with what is within it."""
    node = refuse_unsupported(source, with_landmark(source, rewritten(source, query, known, named), known))
    bind = bind_join if is_join(node) or not groups_rows(node) else _bind_windows
    if runs(node):
        bind = bind_running
    elif has_over(node) and ranks_in_windows(only_call(source, node)):
        bind = _bind_ranked
    found = bind(source, node, known, typing, name="", text="", into=None)
    inner = known.within.get(found.stream)
    if inner is not None and inner.query.takes_back:
        found = over_changes(found, typing)
    found = _written(found)
    return replace(
        found, nested=tuple(i.query for i in known.within.values() if i.query.name in found.streams)
    )


def _written(query: Query) -> Query:
    """A query whose expressions were all written once, so that none is too deep for it later."""
    given = (
        [e for i in query.inputs for e in i.where]
        + [e for c in query.calls for e in c.exprs]
        + [o.expr for o in query.outputs]
        + [e for c in (query.running.calls if query.running is not None else ()) for e in c.call.exprs]
    )
    for expr in given + [k.expr for k in query.keys]:
        str(expr)
    return query


def _bind_windows(
    source: Source,
    node: exp.Select,
    known: Known,
    typing: Typing,
    *,
    name: str,
    text: str,
    into: Target | None,
) -> Query:
    rows = _rows(source, node, known, typing)
    where = _where(rows, node)
    grouping = bind_grouping(rows, node)
    results = WindowResults(rows, grouping)
    outputs = results.outputs(node)
    having = results.having(node)
    query = windowed(
        name=name,
        text=text,
        stream=rows.stream.name,
        where=where,
        keys=grouping.keys,
        windows=grouping.windows,
        aggregates=tuple(results.aggregates),
        outputs=outputs,
        having=having,
        into=into,
    )
    return told_early(rows, node, query)


def _bind_ranked(
    source: Source,
    node: exp.Select,
    known: Known,
    typing: Typing,
    *,
    name: str,
    text: str,
    into: Target | None,
) -> Query:
    refuse_clauses(source, node, SUPPORTED)
    rows, call = _rows(source, node, known, typing), only_call(source, node)
    return ranked_in_windows(rows, node, call, _where(rows, node), name=name, text=text, into=into)


def _rows(source: Source, node: exp.Select, known: Known, typing: Typing) -> Rows:
    (table,) = table_references(source, node)
    stream = known.stream(source, table)
    if table.args.get("time") is not None:
        check_time(source, table.args["time"], stream)
    return Rows(source, stream, table.alias or table.name, typing)


def _where(rows: Rows, node: exp.Select) -> tuple[Expr, ...]:
    where = node.args.get("where")
    return conjunction(rows.builder("WHERE"), where.this) if where is not None else ()
