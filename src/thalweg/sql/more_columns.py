"""ALTER STREAM ADD COLUMN: a stream with columns that the files which were read have not got."""

from __future__ import annotations

from dataclasses import replace

from thalweg.model.stream import Stream
from thalweg.sql.declarations import ColumnSyntax, Declaration, declared_columns
from thalweg.sql.source import Source, Span


def added(source: Source, stream: Stream, columns: tuple[ColumnSyntax, ...], span: Span) -> Stream:
    """A stream with more columns, which the files that were read have not got."""
    declared = Declaration(
        "STREAM", stream.name, tuple(replace(c, optional=c.value is None) for c in columns), (), span
    )
    made = declared_columns(source, declared)
    there = {c.name.lower() for c in stream.columns}
    for column in columns:
        if column.name.lower() in there:
            raise source.error(
                f"stream {stream.name} has a column {column.name}", column.span, "use another name"
            )
    if dict(stream.options).get("header") == "false":
        hint = "declare another stream for files that have more columns"
        raise source.error(
            f"columns of stream {stream.name} are known by their places alone", columns[0].span, hint
        )
    if not stream.path:
        hint = "declare another stream over a DataFrame that has them"
        raise source.error(f"stream {stream.name} has the columns of its DataFrame", columns[0].span, hint)
    return replace(stream, columns=(*stream.columns, *made))
