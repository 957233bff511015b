"""Tables as Parquet, CSV (with a header line) and JSON lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.expr.quoting import quoted

Encoder = Callable[[pa.Table, Path], None]


def parquet() -> Encoder:
    """Snappy and dictionaries for strings: what every reader takes, and takes fast."""

    def encode(table: pa.Table, path: Path) -> None:
        strings = [field.name for field in table.schema if pa.types.is_string(field.type)]
        pq.write_table(table, path, compression="snappy", use_dictionary=strings, store_schema=False)

    return encode


def csv() -> Encoder:
    """Comma-separated values; NULL is an empty field."""
    return _copy("FORMAT csv, HEADER true")


def json() -> Encoder:
    """One object a line."""
    return _copy("FORMAT json")


def _copy(options: str) -> Encoder:
    connection = duckdb.connect()
    connection.execute("SET threads = 1")

    def encode(table: pa.Table, path: Path) -> None:
        connection.register("rows", table)
        try:
            connection.execute(f'COPY (FROM "rows") TO {quoted(str(path))} ({options}, USE_TMP_FILE false)')
        except duckdb.IOException as error:
            raise OSError(str(error)) from error

    return encode


ENCODERS: dict[str, Callable[[], Encoder]] = {"parquet": parquet, "csv": csv, "json": json}
