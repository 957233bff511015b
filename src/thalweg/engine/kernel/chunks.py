"""Chunks of a stream as a DuckDB relation: files read in place, or Arrow tables that Spark brought."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from thalweg.connectors.reading.fitting import fitted, is_exact, misfit
from thalweg.connectors.reading.footers import EARLIEST, LATEST, check_schema, parquet_sql, parquet_value
from thalweg.connectors.reading.naming import bad_file
from thalweg.connectors.reading.texts import csv_sql, json_sql
from thalweg.engine.kernel.connection import clean_message, run
from thalweg.expr.quoting import identifier
from thalweg.model.stream import Column, Relation, Stream


def scan_sql(stream: Stream, source: str, columns: Sequence[str] | None = None, near: bool = False) -> str:
    """A chunk with its columns as declared and the event time in microseconds; a time beyond all calendars (`infinity`) is none.

    near: all times are known to be within bounds.
    """
    chosen = [c for c in stream.columns if columns is None or c.name in columns]
    time = f"epoch_us({identifier(stream.time)})"
    bound = time if near else f"CASE WHEN {time} BETWEEN {EARLIEST} AND {LATEST} THEN {time} END"
    return f'SELECT {", ".join([*values_sql(stream, chosen), bound])} AS "__time" FROM {source}'


def values_sql(source: Stream | Relation, columns: Sequence[Column]) -> Iterator[str]:
    """The SQL of columns of a source's files as their declared types."""
    for c in columns:
        exact = source.format in ("csv", "json") and is_exact(c.type)
        yield f"{fitted(c.name, c.type) if exact else parquet_value(c)} AS {identifier(c.name)}"


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
        except OSError as e:
            raise bad_file(source, path, (e.strerror or str(e)).lower()) from e
        if not size:
            raise bad_file(source, path, "it is empty")


def check_file(stream: Stream, path: str) -> None:
    """Refuse a file that can't be read as the stream declares, and say where and why."""
    try:
        check_filled(stream, [path])
        if stream.format == "parquet":
            check_schema(stream, path)
        else:
            _check_texts(stream, path)
        run(f"CREATE OR REPLACE TEMP TABLE probe AS {scan_sql(stream, files_sql(stream, [path]))}")
        check_times(stream, [path])
    except (duckdb.Error, pa.ArrowException, OSError) as e:
        raise bad_file(stream, path, _located(clean_message(e))) from e
    finally:
        run("DROP TABLE IF EXISTS probe")


def _check_texts(stream: Stream, path: str) -> None:
    """Read a file column by column, as DuckDB tells the place of what is no value of a type; then look for what would be rounded."""
    for column in stream.columns:
        source = json_sql(stream, [path], [column], typed=True) if stream.format == "json" else csv_sql(stream, [path], typed=True)
        try:
            run(f"SELECT count({identifier(column.name)}) FROM {source}")
        except duckdb.Error as e:
            said = _located(clean_message(e))
            raise bad_file(stream, path, said if stream.format == "csv" else f"column {column.name}, {said}") from e
    for column in (c for c in stream.columns if is_exact(c.type)):
        name = identifier(column.name)
        rows = f"SELECT row_number() OVER () AS row, {name} FROM {files_sql(stream, [path])}"
        for row, value in run(f"SELECT * FROM ({rows}) WHERE {misfit(column.name, column.type)} LIMIT 1"):
            raise bad_file(stream, path, f"row {row}: {value} in column {column.name} is no {column.type}")


def _located(said: str) -> str:
    """What is wrong with a line of JSON, without the name of its file."""
    return re.sub(r'^(JSON transform error|Malformed JSON) in file ".*", (at byte \d+ )?in (line \d+): ', r"\3: ", said)


def check_times(stream: Stream, paths: Sequence[str]) -> None:
    """Refuse a JSON file in which no row has a time: a key that is missing is NULL, so another schema shows nowhere else."""
    for path in paths if stream.format == "json" else ():
        rows, timed = run(f"SELECT count(*), count({identifier(stream.time)}) FROM {files_sql(stream, [path])}")[0]
        if rows and not timed:
            raise bad_file(stream, path, f"no row of it has a value of {stream.time}, the time of the stream")
