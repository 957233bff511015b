"""Chunks of a stream as a DuckDB relation: files read in place, or Arrow tables that Spark brought."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from time import time_ns

from thalweg.connectors.reading.fitting import fitted, is_exact
from thalweg.connectors.reading.footers import EARLIEST, LATEST, parquet_sql, parquet_value
from thalweg.connectors.reading.naming import bad_file
from thalweg.connectors.reading.nested_values import is_apart, text_value
from thalweg.connectors.reading.texts import csv_sql, json_sql
from thalweg.engine.kernel.connection import run
from thalweg.expr.quoting import identifier
from thalweg.model.stream import MOMENT, Column, Relation, Stream
from thalweg.state.local import disk_problem


def scan_sql(
    stream: Stream,
    source: str,
    columns: Collection[str] | None = None,
    near: bool = False,
    moment: int | None = None,
) -> str:
    """A chunk with its columns as declared, those that are computed after those that these are computed of, and the event time in
    microseconds; a time beyond all calendars (`infinity`) is none.

    near: all times are known to be within bounds. moment: when the rows are read, in microseconds; now, where nobody counts on it.
    """
    names = frozenset(stream.types) if columns is None else frozenset(columns)
    computed = [c for c in stream.computed if c.name in (*names, stream.time)]
    read = names | stream.behind((stream.time, *(c.name for c in computed)))
    fields = [c for name, c in stream.fields.items() if name in read]
    values = list(values_sql(stream, [c for c in stream.stored.columns if c.name in read] + fields))
    time = f"epoch_us({identifier(stream.time)})" if stream.time else "NULL::BIGINT"
    bound = time if near else f"CASE WHEN {time} BETWEEN {EARLIEST} AND {LATEST} THEN {time} END"
    if not computed:
        return f'SELECT {", ".join([*values, bound])} AS "__time" FROM {source}'
    made = ", ".join(f"CAST({c.value} AS {c.type}) AS {identifier(c.name)}" for c in computed)
    stamp = f'make_timestamp({time_ns() // 1000 if moment is None else moment}) AS "{MOMENT}"'
    stored = f"SELECT {', '.join([*values, stamp])} FROM {source}"
    return f'SELECT *, {bound} AS "__time" FROM (SELECT * EXCLUDE ("{MOMENT}"), {made} FROM ({stored}))'


def values_sql(source: Stream | Relation, columns: Sequence[Column]) -> Iterator[str]:
    """The SQL of columns of a source's files as their declared types."""
    for c in columns:
        yield f"{_value(source, c)} AS {identifier(c.name)}"


def _value(source: Stream | Relation, column: Column) -> str:
    if source.format == "json" and is_apart(column):
        return text_value(column, dict(source.options).get("timestamp_format"))
    exact = source.format in ("csv", "json") and is_exact(column.type)
    return fitted(column.name, column.type) if exact else parquet_value(column)


def files_sql(source: Stream | Relation, paths: Sequence[str]) -> str:
    """What reads files of a source's format, whichever of the types that a column may have each of them has."""
    if source.format == "parquet":
        return parquet_sql(source, paths)
    return csv_sql(source, paths) if source.format == "csv" else json_sql(source, paths)


def check_filled(source: Stream | Relation, paths: Sequence[str]) -> None:
    """Refuse files without a byte: one that is still to be filled would not be read again."""
    for path in paths:
        try:
            size = Path(path).stat().st_size
        except FileNotFoundError as e:
            raise bad_file(source, path, "it is gone") from e
        except OSError as e:
            raise disk_problem(Path(path), e) from e
        if not size:
            raise bad_file(source, path, "it is empty")


def check_times(stream: Stream, paths: Sequence[str]) -> None:
    """Refuse a JSON file in which no row has a time: a key that is missing is NULL, so another schema shows nowhere else."""
    for path in paths if stream.format == "json" and stream.time else ():
        rows, timed = run(
            f"SELECT count(*), count({identifier(stream.time)}) FROM {files_sql(stream, [path])}"
        )[0]
        if rows and not timed:
            raise bad_file(stream, path, f"no row of it has a value of {stream.time}, the time of the stream")
