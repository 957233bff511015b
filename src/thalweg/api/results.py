"""Results of a query as Arrow, pandas or Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from thalweg.connectors.parquet import read_file
from thalweg.connectors.shared import batch_of, read_part, shared_files
from thalweg.errors import UsageError
from thalweg.expr.nested import element_of, entry_of, fields_of
from thalweg.model.query import Query
from thalweg.state.lives import Life

ARROW_TYPES = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "VARCHAR": pa.string(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
}


def result_files(directory: str) -> list[Path]:
    """The result files that are shown, oldest first."""
    return sorted(Path(directory).glob("batch-*.parquet"))


def read_results(
    query: Query | Life,
    directory: str,
    shared: Path | None = None,
    life: Life | None = None,
) -> pa.Table:
    """All results so far; an empty table with the right columns where there are none yet.

    They are in files of its own, and in those that it shared with others in its life.
    """
    tables = [file.read(query.name) for file in files_of(directory, shared, life)]
    if found := [t for t in tables if t is not None]:
        return pa.concat_tables(found)
    return empty_results(query)


@dataclass(frozen=True)
class ResultFile:
    """A file with results of a query, of its own or of several."""

    path: Path
    is_shared: bool

    def read(self, query: str) -> pa.Table | None:
        """The rows of the query, if it has any here."""
        return read_part(self.path, query) if self.is_shared else read_file(self.path)


def files_of(directory: str, shared: Path | None = None, life: Life | None = None) -> list[ResultFile]:
    """All files that may have results of a query, oldest batch first."""
    with_others = (
        [] if shared is None or life is None else shared_files(shared, life.pools, life.epoch, life.ended)
    )
    found = [
        *(ResultFile(f, False) for f in result_files(directory)),
        *(ResultFile(f, True) for f in with_others),
    ]
    return sorted(found, key=lambda f: (batch_of(f.path), f.path.name))


def empty_results(query: Query | Life) -> pa.Table:
    """No results, with the right columns."""
    return pa.schema([pa.field(o.name, arrow_type(o.type)) for o in query.outputs]).empty_table()


def arrow_type(name: str) -> pa.DataType:
    """The type that a result has in files.

    >>> arrow_type("DECIMAL(10,2)")
    Decimal128Type(decimal128(10, 2))
    """
    if (element := element_of(name)) is not None:
        return pa.list_(arrow_type(element))
    if (entry := entry_of(name)) is not None:
        return pa.map_(*map(arrow_type, entry))
    if fields := fields_of(name):
        return pa.struct([(n, arrow_type(t)) for n, t in fields])
    if name.startswith("DECIMAL("):
        precision, scale = name[len("DECIMAL(") : -1].split(",")
        return pa.decimal128(int(precision), int(scale))
    return ARROW_TYPES.get(name, pa.string())


def as_format(
    table_of: Callable[[], pa.Table], directory: str | None, format: str, spark_of: Callable[[], Any]
) -> Any:
    """Results in the format that is asked for; `table_of` reads them as Arrow, `spark_of` starts Spark where it is needed. A directory that
    has them all is read by Spark."""
    if format == "arrow":
        return table_of()
    if format == "pandas":
        return table_of().to_pandas()
    if format == "spark":
        spark = spark_of()
        return (
            spark.read.parquet(directory)
            if directory and result_files(directory)
            else spark.createDataFrame(table_of())
        )
    raise UsageError(f"no result format {format!r}", "use arrow, pandas or spark")
