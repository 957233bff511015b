"""Computed columns of streams: `at AS TIMESTAMP_MILLIS(ms)` in CREATE STREAM is an expression over what rows bring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from thalweg.expr.nested import is_storable, spark_type
from thalweg.expr.nodes import Column as ColumnExpr
from thalweg.expr.nodes import Expr
from thalweg.expr.python import Function
from thalweg.expr.types import TYPES_HINT
from thalweg.expr.typing import Infer, typing_by
from thalweg.model.stream import MOMENT, Column, Stream
from thalweg.sql.declarations import COMPUTED, ColumnSyntax
from thalweg.sql.functions import PROCESSING_TIME
from thalweg.sql.rows import Rows
from thalweg.sql.statements import CreateStream
from thalweg.sql.struct_fields import with_own_fields


def bound_stream(
    create: CreateStream, infer: Infer, functions: Mapping[str, Function] | None = None
) -> Stream:
    """The stream that is declared, with what its computed columns are."""
    stream = create.stream
    stored = tuple(c for c in stream.columns if c.type != COMPUTED)
    typing = replace(typing_by(infer), functions=functions or {})
    rows = Rows(create.source, replace(stream, columns=stored), stream.name, typing)
    found = {c.name: _computed(rows, c, is_time=c.name == stream.time) for c in create.computed}
    return replace(stream, columns=tuple(found.get(c.name, c) for c in stream.columns)) if found else stream


def _computed(rows: Rows, column: ColumnSyntax, is_time: bool) -> Column:
    assert column.value is not None
    builder = rows.builder("a computed column")
    node = with_own_fields(column.value, rows.stream)
    value = replace(builder, leaf=lambda node: _moment(node) or builder.leaf(node)).tree(node)
    if is_time and value.type != "TIMESTAMP":
        hint = "write TIMESTAMP_MILLIS(...), TO_TIMESTAMP(...) or CAST(... AS TIMESTAMP)"
        raise rows.source.at(
            column.value, f"the time column {column.name} is {spark_type(value.type)}, not TIMESTAMP", hint
        )
    if not is_storable(value.type):
        raise rows.source.at(column.value, f"a column can't be of the type {value.type}", TYPES_HINT)
    return Column(column.name, value.type, value)


def _moment(node: exp.Expr) -> Expr | None:
    """The time at which a row is read: `now()`, `CURRENT_TIMESTAMP`, `PROCTIME()`."""
    called = isinstance(node, exp.Anonymous) and node.name.upper() in PROCESSING_TIME and not node.expressions
    return ColumnExpr(MOMENT, "TIMESTAMP") if called or isinstance(node, exp.CurrentTimestamp) else None
