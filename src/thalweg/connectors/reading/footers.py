"""What the footers of Parquet files say: whether their columns are those that are declared, how many rows, which times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.connectors.reading.naming import bad_file, listed
from thalweg.connectors.reading.nested_values import made, misfitting_type, place_sql
from thalweg.expr.nested import is_nested, spark_type
from thalweg.expr.quoting import identifier
from thalweg.model.stream import Column, Relation, Stream

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
Source = Stream | Relation


@dataclass(frozen=True)
class Facts:
    """What the footers of files tell of their rows: how many, and the least and greatest event time."""

    rows: int
    low: int
    top: int


def parquet_sql(source: Source, paths: Sequence[str]) -> str:
    """What reads Parquet files, together where their columns have the same types: DuckDB takes those of the first for all."""
    kinds: dict[tuple[str, ...], list[str]] = {}
    for path in paths:
        kinds.setdefault(_kinds(source, path), []).append(path)
    read = [_read_parquet(source, kind, same) for kind, same in kinds.items()]
    if len(read) == 1:
        return read[0]
    columns = ", ".join(f"{parquet_value(c)} AS {identifier(c.name)}" for c in source.columns)
    return f"({' UNION ALL '.join(f'SELECT {columns} FROM {one}' for one in read)})"


def parquet_value(column: Column, cast: str = "CAST") -> str:
    """The SQL of a column as its declared type."""
    place = place_sql(column)
    if column.type == "TIMESTAMP":
        return f"make_timestamp(epoch_us({place}))"
    return f"{cast}({place} AS {column.type})"


def _read_parquet(source: Source, kinds: Sequence[str], paths: Sequence[str]) -> str:
    """Times in nanoseconds lose what is below a microsecond: they never move up, over the edge of a window."""
    read = f"read_parquet({listed(paths)}, hive_partitioning = false)"
    fine = [c for c, kind in zip(source.columns, kinds, strict=True) if "timestamp[ns" in kind]
    floors = ", ".join(f"{made(place_sql(c), c.type, _cut)} AS {identifier(c.name)}" for c in fine)
    missing = [c for c, kind in zip(source.columns, kinds, strict=True) if c.optional and not kind]
    nulls = "".join(f", CAST(NULL AS {c.type}) AS {identifier(c.name)}" for c in missing)
    replaced = f" REPLACE ({floors})" if floors else ""
    return f"(SELECT *{replaced}{nulls} FROM {read})" if replaced or nulls else read


def _cut(value: str, type_: str) -> str:
    return _floored(f"epoch_ns({value})") if type_ == "TIMESTAMP" else value


def _floored(nanos: str) -> str:
    return f"make_timestamp({nanos} // 1000 - CASE WHEN {nanos} % 1000 < 0 THEN 1 ELSE 0 END)"


def check_footers(stream: Stream, paths: Sequence[str]) -> Facts | None:
    """Refuse Parquet files of another schema; a look at the footers, not at the rows. Facts where all footers have them."""
    if stream.format != "parquet":
        return None
    for path in paths:
        check_schema(stream, path)
    found = [footer_of(stream, path).facts for path in paths]
    known = [f for f in found if f is not None]
    if len(known) < len(found) or not known:
        return None
    return Facts(sum(f.rows for f in known), min(f.low for f in known), max(f.top for f in known))


def check_schema(source: Source, path: str) -> None:
    """Refuse a file without a declared column, or with one of a type that does not fit."""
    found = footer_of(source, path).types
    for column in source.columns:
        if why := misfitting(column, found.get(column.name.lower())):
            raise bad_file(source, path, why)


def misfitting(column: Column, actual: pa.DataType | None) -> str:
    """Why a type does not fit a declared column, or that there is none; nothing where it fits."""
    if actual is None and column.optional:
        return ""
    if actual is None:
        return f"it has no column {column.name}"
    declared = spark_type(column.type) if is_nested(column.type) else column.type
    return "" if _fits(actual, column.type) else f"column {column.name} is {actual}, declared as {declared}"


def _fits(actual: pa.DataType, declared: str) -> bool:
    """Whether values of a file's type are values of the declared one: a DECIMAL of more digits after the point would be rounded."""
    if is_nested(declared):
        return not misfitting_type(actual, declared, _fits_within)
    name, _, digits = declared.partition("(")
    if not str(actual).startswith(_WIDENS[name]):
        return False
    return not pa.types.is_decimal(actual) or actual.scale <= int(digits.rstrip(")").split(",")[1])


def _fits_within(actual: pa.DataType, declared: str) -> bool:
    """The same of a value within another one, of which none is set aside by itself."""
    return _fits(actual, declared) and not _is_wider(actual, declared)


def may_misfit(source: Source, paths: Sequence[str]) -> bool:
    """Whether files have a number that may be too large for its declared type."""
    return any(
        _is_wider(kind, c.type)
        for path in paths
        for kind, c in zip(_types(source, path), source.columns, strict=True)
    )


def _is_wider(actual: pa.DataType | None, declared: str) -> bool:
    """Whether a type has more digits before the point than a declared DECIMAL.

    >>> [_is_wider(found, "DECIMAL(10,2)") for found in (pa.decimal128(12, 2), pa.decimal128(8, 0), pa.int64(), pa.int16())]
    [True, False, True, False]
    """
    name, _, digits = declared.partition("(")
    if name != "DECIMAL" or actual is None:
        return False
    precision, scale = map(int, digits.rstrip(")").split(","))
    before = (
        actual.precision - actual.scale
        if pa.types.is_decimal(actual)
        else len(str(2 ** (actual.bit_width - 1)))
    )
    return bool(before > precision - scale)


def _types(source: Source, path: str) -> list[pa.DataType | None]:
    found = footer_of(source, path).types
    return [found.get(c.name.lower()) for c in source.columns]


def _kinds(source: Source, path: str) -> tuple[str, ...]:
    """The types that the declared columns have in a file."""
    found = footer_of(source, path)
    return tuple(
        "timestamp[us]" if (n := c.name.lower()) in found.old else str(found.types.get(n, ""))
        for c in source.columns
    )


@dataclass(frozen=True)
class Footer:
    """What is used of a footer: the type of each column by its name in small letters, which are times of the old kind (INT96,
    which DuckDB reads as microseconds), and facts of the time of a stream."""

    types: Mapping[str, pa.DataType]
    old: frozenset[str]
    facts: Facts | None


def footer_of(source: Source, path: str) -> Footer:
    """The footer of a file as it is now."""
    time = source.time.lower() if isinstance(source, Stream) else ""
    try:
        stat = Path(path).stat()
        return _footer(path, stat.st_ino, stat.st_mtime_ns, stat.st_size, time)
    except (pa.ArrowException, OSError) as e:
        raise bad_file(source, path, str(e).splitlines()[0]) from e


@lru_cache(maxsize=4096)
def _footer(path: str, inode: int, changed: int, size: int, time: str) -> Footer:
    footer = pq.read_metadata(path)
    columns = [footer.schema.column(i) for i in range(footer.num_columns)]
    old = frozenset(c.name.lower() for c in columns if c.physical_type == "INT96")
    return Footer(
        {f.name.lower(): f.type for f in footer.schema.to_arrow_schema()}, old, _facts(footer, time)
    )


def _facts(footer: pq.FileMetaData, time: str) -> Facts | None:
    """None unless every row has a time and every row group says its least and greatest, in microseconds."""
    schema = footer.schema.to_arrow_schema()
    place = next((i for i, f in enumerate(schema) if f.name.lower() == time), None)
    if (
        place is None
        or getattr(schema.field(place).type, "unit", "") != "us"
        or footer.num_columns != len(schema)
    ):
        return None
    times = [footer.row_group(g).column(place).statistics for g in range(footer.num_row_groups)]
    if not times or any(
        t is None or not t.has_min_max or not t.has_null_count or t.null_count for t in times
    ):
        return None
    low, top = min(t.min_raw for t in times), max(t.max_raw for t in times)
    return Facts(footer.num_rows, low, top) if low >= EARLIEST and top <= LATEST else None
