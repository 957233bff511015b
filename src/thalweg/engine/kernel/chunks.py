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
from thalweg.plan.arithmetic import identifier

# Some 36,000 years before and after 1970, so that sums of times and windows fit in 64 bits.
EARLIEST, LATEST = -(2**60), 2**60
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


def scan_sql(stream: Stream, source: str, columns: Sequence[str] | None = None, near: bool = False) -> str:
    """A chunk with its columns as declared and the event time in microseconds; a time beyond all calendars (`infinity`) is none.

    near: all times are known to be within bounds.
    """
    chosen = [c for c in stream.columns if columns is None or c.name in columns]
    selected = [f"{_cast(c.name, c.type)} AS {identifier(c.name)}" for c in chosen]
    time = f"epoch_us({identifier(stream.time)})"
    bound = time if near else f"CASE WHEN {time} BETWEEN {EARLIEST} AND {LATEST} THEN {time} END"
    return f'SELECT {", ".join([*selected, bound])} AS "__time" FROM {source}'


def _cast(column: str, type_: str) -> str:
    if type_ == "TIMESTAMP":
        return f"make_timestamp(epoch_us({identifier(column)}))"
    return f"CAST({identifier(column)} AS {type_})"


def files_sql(stream: Stream | Relation, paths: Sequence[str]) -> str:
    """What reads files of a stream's format, whichever of the types that a column may have each of them has."""
    if stream.format == "parquet":
        return _parquet_sql(stream, paths)
    options = {_OPTIONS.get(k, k): v for k, v in stream.options if k not in ("header", "glob")}
    given = "".join(f", {k} = {_text(v)}" for k, v in options.items())
    # A time may say its distance from UTC; one that says none is in UTC. A format of the user's own stands for itself.
    zoned = "TIMESTAMP" if "timestampformat" in options else "TIMESTAMPTZ"
    types = "{" + ", ".join(f"{_text(c.name)}: {_text(zoned if c.type == 'TIMESTAMP' else c.type)}" for c in stream.columns) + "}"
    listed = f"{_list(paths)}, hive_partitioning = false"
    if stream.format == "json":
        return f"read_json({listed}, format = 'newline_delimited', columns = {types}{given})"
    if dict(stream.options).get("header", "true").lower() != "false":
        return f"read_csv({listed}, header = true, types = {types}, null_padding = false, union_by_name = {len(paths) > 1}{given})"
    return f"read_csv({listed}, header = false, auto_detect = false, columns = {types}{given})"


_OPTIONS = {
    "delimiter": "delim",
    "sep": "delim",
    "null_value": "nullstr",
    "timestamp_format": "timestampformat",
    "date_format": "dateformat",
}


def _parquet_sql(stream: Stream | Relation, paths: Sequence[str]) -> str:
    """Files are read together where their columns have the same types: DuckDB takes those of the first for all."""
    kinds: dict[tuple[str, ...], list[str]] = {}
    for path in paths:
        kinds.setdefault(_types(stream, path) if len(paths) > 1 else (), []).append(path)
    sources = [f"read_parquet({_list(same)}, hive_partitioning = false)" for same in kinds.values()]
    if len(sources) == 1:
        return sources[0]
    columns = ", ".join(f"{_cast(c.name, c.type)} AS {identifier(c.name)}" for c in stream.columns)
    return f"({' UNION ALL '.join(f'SELECT {columns} FROM {source}' for source in sources)})"


def _types(stream: Stream | Relation, path: str) -> tuple[str, ...]:
    """The types that the declared columns have in a file."""
    found = {f.name.lower(): str(f.type) for f in pq.read_schema(path)}
    return tuple(found.get(c.name.lower(), "") for c in stream.columns)


def _list(paths: Sequence[str]) -> str:
    return "[" + ", ".join(_text(_literal(p)) for p in paths) + "]"


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
        check_times(stream, [path])
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
    low, top = min(t.min_raw for t in times), max(t.max_raw for t in times)
    return Facts(footer.num_rows, low, top) if low >= EARLIEST and top <= LATEST else None


def _check_schema(stream: Stream, path: str) -> None:
    found = {f.name.lower(): f.type for f in pq.read_schema(path)}
    for column in stream.columns:
        actual = found.get(column.name.lower())
        if actual is None:
            raise bad_file(stream, path, f"it has no column {column.name}")
        if not str(actual).startswith(_WIDENS[column.type.split("(")[0]]):
            raise bad_file(stream, path, f"column {column.name} is {actual}, declared as {column.type}")


def check_times(stream: Stream, paths: Sequence[str]) -> None:
    """Refuse a JSON file in which no row has a time: a key that is missing is NULL, so another schema shows nowhere else."""
    for path in paths if stream.format == "json" else ():
        time = identifier(stream.time)
        rows, timed = run(f"SELECT count(*), count({time}) FROM {files_sql(stream, [path])}")[0]
        if rows and not timed:
            raise bad_file(stream, path, f"no row of it has a value of {stream.time}, the time of the stream")


def bad_file(stream: Stream, path: str, why: str) -> DataError:
    """The error that names a file."""
    hint = "repair or remove the file, or set on_bad_file = 'skip' on the stream"
    return DataError(f"{path}: can't be read as stream {stream.name}: {why}", hint)
