"""A parsed SELECT to a query: names resolved, types known, expressions in the engine's SQL."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from thalweg.logical.query import Expr, Output, Query
from thalweg.logical.stream import Stream
from thalweg.sql.conditions import all_of, conjunction
from thalweg.sql.grouping import bind_grouping
from thalweg.sql.inference import Infer, InferenceError, remembered
from thalweg.sql.refusals import refuse_unsupported, stream_reference
from thalweg.sql.results import Results
from thalweg.sql.rows import Rows
from thalweg.sql.source import Source, span_of, suggestion
from thalweg.sql.statements import ParsedSelect
from thalweg.sql.windows import check_time

__all__ = ["Infer", "InferenceError", "bind"]


def bind(select: ParsedSelect, *, name: str, into: str | None, streams: Mapping[str, Stream], infer: Infer) -> Query:
    """The query that a SELECT asks for."""
    source = select.source
    try:
        return _bind(source, select, name, into, streams, remembered(infer))
    except RecursionError:
        raise source.error("the query is nested too deeply", select.span, "take it apart") from None


def _bind(source: Source, select: ParsedSelect, name: str, into: str | None, streams: Mapping[str, Stream], infer: Infer) -> Query:
    node = refuse_unsupported(source, select.node)
    rows = _rows(source, node, streams, infer)
    where = _where(rows, node)
    grouping = bind_grouping(rows, node)
    results = Results(rows, grouping)
    outputs = _outputs(results, node)
    having = _having(results, node)
    return Query(
        name=name,
        text=select.sql,
        stream=rows.stream.name,
        where=where,
        keys=grouping.keys,
        windows=grouping.windows,
        aggregates=tuple(results.aggregates),
        outputs=outputs,
        having=having,
        into=into,
    )


def _rows(source: Source, node: exp.Select, streams: Mapping[str, Stream], infer: Infer) -> Rows:
    table = stream_reference(source, node)
    by_name = {n.lower(): s for n, s in streams.items()}
    stream = by_name.get(table.name.lower())
    if stream is None:
        hint = suggestion(table.name, [s.name for s in streams.values()], "streams are") if streams else "create it with CREATE STREAM"
        raise source.error(f"unknown stream {table.name}", span_of(table.this) or (0, 1), hint)
    if table.args.get("time") is not None:
        check_time(source, table.args["time"], stream)
    return Rows(source, stream, table.alias or table.name, infer)


def _where(rows: Rows, node: exp.Select) -> tuple[Expr, ...]:
    where = node.args.get("where")
    return tuple(Expr(c, "BOOLEAN") for c in conjunction(rows.writer("WHERE"), where.this)) if where is not None else ()


def _outputs(results: Results, node: exp.Select) -> tuple[Output, ...]:
    outputs: dict[str, Output] = {}
    for item in node.expressions:
        output = results.output(item)
        if output.name.lower() in outputs:
            raise results.rows.source.at(item, f"two results are named {output.name}", "rename one with AS")
        outputs[output.name.lower()] = output
    return tuple(outputs.values())


def _having(results: Results, node: exp.Select) -> str | None:
    having = node.args.get("having")
    if having is None:
        return None
    return all_of(conjunction(results.writer(in_having=True), having.this))
