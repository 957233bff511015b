"""A parsed SELECT to a query: names resolved, types known, expressions in the engine's SQL."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from thalweg.logical.join import JoinQuery
from thalweg.logical.query import Expr, Query
from thalweg.logical.stream import Relation, Stream
from thalweg.sql.conditions import conjunction
from thalweg.sql.grouping import bind_grouping
from thalweg.sql.inference import Infer, InferenceError, remembered
from thalweg.sql.inputs import Known
from thalweg.sql.joins import bind_join
from thalweg.sql.refusals import is_join, refuse_unsupported, table_references
from thalweg.sql.rows import Rows
from thalweg.sql.source import Source
from thalweg.sql.statements import ParsedSelect
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
) -> Query | JoinQuery:
    """The query that a SELECT asks for: a join where it reads several inputs, or one with a window in FROM."""
    source, known, asked = select.source, Known(streams, relations or {}), remembered(infer)
    try:
        node = refuse_unsupported(source, select.node)
        if is_join(node):
            return bind_join(source, node, known, asked, name=name, text=select.sql, into=into)
        return _bind_windows(source, node, known, asked, name=name, text=select.sql, into=into)
    except RecursionError:
        raise source.error("the query is nested too deeply", select.span, "take it apart") from None


def _bind_windows(source: Source, node: exp.Select, known: Known, infer: Infer, *, name: str, text: str, into: str | None) -> Query:
    rows = _rows(source, node, known, infer)
    where = _where(rows, node)
    grouping = bind_grouping(rows, node)
    results = WindowResults(rows, grouping)
    outputs = results.outputs(node)
    having = results.having(node)
    return Query(
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


def _rows(source: Source, node: exp.Select, known: Known, infer: Infer) -> Rows:
    (table,) = table_references(source, node)
    stream = known.stream(source, table)
    if table.args.get("time") is not None:
        check_time(source, table.args["time"], stream)
    return Rows(source, stream, table.alias or table.name, infer)


def _where(rows: Rows, node: exp.Select) -> tuple[Expr, ...]:
    where = node.args.get("where")
    return tuple(Expr(c, "BOOLEAN") for c in conjunction(rows.writer("WHERE"), where.this)) if where is not None else ()
