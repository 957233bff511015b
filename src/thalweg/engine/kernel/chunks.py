"""Chunks of a stream as a DuckDB relation: files read in place, or Arrow tables that Spark brought."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.engine.kernel.connection import clean_message, run
from thalweg.errors import DataError
from thalweg.logical.stream import Relation, Stream

# Which declared types a Parquet column may be read as without losing meaning.
_WIDENS = {
    "BOOLEAN": ("bool",),
    "TINYINT": ("int8",),
    "SMALLINT": ("int8", "int16", "uint8"),
    "INTEGER": ("int8", "int16", "int32", "uint8", "uint16"),
    "BIGINT": ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"),
    "FLOAT": ("float", "halffloat"),
    "DOUBLE": ("float", "double", "halffloat", "int8", "int16", "int32"),
    "VARCHAR": ("string", "large_string", "string_view", "dictionary"),
    "DATE": ("date32",),
    "TIMESTAMP": ("timestamp",),
    "DECIMAL": ("decimal", "int8", "int16", "int32", "int64"),
}


def local_path(uri: str) -> str:
    """The path in a Spark file name, which is not percent-encoded.

    >>> local_path("file:///data/a%20b.parquet"), local_path("file:/data/a.parquet")
    ('/data/a%20b.parquet', '/data/a.parquet')
    """
    return "/" + uri.removeprefix("file:").lstrip("/") if uri.startswith("file:") else uri


def scan_sql(stream: Stream, source: str, columns: Sequence[str] | None = None) -> str:
    """A chunk with its columns as declared and the event time in microseconds."""
    chosen = [c for c in stream.columns if columns is None or c.name in columns]
    selected = [f"{_cast(c.name, c.type)} AS {_name(c.name)}" for c in chosen]
    return f'SELECT {", ".join([*selected, f"epoch_us({_name(stream.time)})"])} AS "__time" FROM {source}'


def _cast(column: str, type_: str) -> str:
    if type_ == "TIMESTAMP":
        return f"make_timestamp(epoch_us({_name(column)}))"
    return f"CAST({_name(column)} AS {type_})"


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def files_sql(stream: Stream | Relation, paths: Sequence[str]) -> str:
    """The table function that reads files of a stream's format."""
    listed = "[" + ", ".join(_text(_literal(p)) for p in paths) + "]"
    types = "{" + ", ".join(f"{_text(c.name)}: {_text(c.type)}" for c in stream.columns) + "}"
    if stream.format == "parquet":
        return f"read_parquet({listed})"
    if stream.format == "json":
        return f"read_json({listed}, format = 'newline_delimited', columns = {types})"
    options = dict(stream.options)
    header = options.pop("header", "true").lower() != "false"
    names = {
        "delimiter": "delim",
        "sep": "delim",
        "null_value": "nullstr",
        "timestamp_format": "timestampformat",
        "date_format": "dateformat",
    }
    given = "".join(f", {names.get(k, k)} = {_text(v)}" for k, v in options.items())
    if header:
        return f"read_csv({listed}, header = true, types = {types}, null_padding = false{given})"
    return f"read_csv({listed}, header = false, auto_detect = false, columns = {types}{given})"


def _literal(path: str) -> str:
    """A path that is no pattern."""
    return re.sub(r"([*?\[])", r"[\1]", path)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def check_file(stream: Stream, path: str) -> None:
    """Refuse a file that can't be read as the stream declares."""
    try:
        if stream.format == "parquet":
            _check_schema(stream, path)
        run(f"CREATE OR REPLACE TEMP TABLE probe AS {scan_sql(stream, files_sql(stream, [path]))}")
    except (duckdb.Error, pa.ArrowException, OSError) as e:
        raise bad_file(stream, path, clean_message(e)) from e
    finally:
        run("DROP TABLE IF EXISTS probe")


@dataclass(frozen=True)
class Facts:
    """What the footers of files tell of their rows: how many, and the least and greatest event time."""

    rows: int
    low: int
    top: int


def check_footers(stream: Stream, paths: Sequence[str]) -> Facts | None:
    """Refuse Parquet files of another schema; a look at the footers, not at the rows. Facts where all footers have them."""
    if stream.format != "parquet":
        return None
    found = []
    for path in paths:
        try:
            _check_schema(stream, path)
            found.append(_footer_facts(stream, pq.read_metadata(path)))
        except (pa.ArrowException, OSError) as e:
            raise bad_file(stream, path, clean_message(e)) from e
    known = [f for f in found if f is not None]
    if len(known) < len(found) or not known:
        return None
    return Facts(sum(f.rows for f in known), min(f.low for f in known), max(f.top for f in known))


def _footer_facts(stream: Stream, footer: pq.FileMetaData) -> Facts | None:
    """None unless every row has a time and every row group says its least and greatest, in microseconds."""
    schema = footer.schema.to_arrow_schema()
    place = next(i for i, f in enumerate(schema) if f.name.lower() == stream.time.lower())
    if schema.field(place).type.unit != "us" or footer.num_columns != len(schema):
        return None
    times = [footer.row_group(g).column(place).statistics for g in range(footer.num_row_groups)]
    if not times or any(t is None or not t.has_min_max or not t.has_null_count or t.null_count for t in times):
        return None
    return Facts(footer.num_rows, min(t.min_raw for t in times), max(t.max_raw for t in times))


def _check_schema(stream: Stream, path: str) -> None:
    found = {f.name.lower(): f.type for f in pq.read_schema(path)}
    for column in stream.columns:
        actual = found.get(column.name.lower())
        if actual is None:
            raise bad_file(stream, path, f"it has no column {column.name}")
        if not str(actual).startswith(_WIDENS[column.type.split("(")[0]]):
            raise bad_file(stream, path, f"column {column.name} is {actual}, declared as {column.type}")


def bad_file(stream: Stream, path: str, why: str) -> DataError:
    """The error that names a file."""
    hint = "repair or remove the file, or set on_bad_file = 'skip' on the stream"
    return DataError(f"{path}: can't be read as stream {stream.name}: {why}", hint)
