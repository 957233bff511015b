"""Results of a query as Arrow, pandas or Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from thalweg.connectors.parquet import read_file
from thalweg.errors import UsageError
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


def read_results(query: Query | Life, directory: str) -> pa.Table:
    """All results so far; an empty table with the right columns where there are none yet."""
    files = result_files(directory)
    if files:
        return pa.concat_tables([read_file(f) for f in files])
    return pa.schema([pa.field(o.name, arrow_type(o.type)) for o in query.outputs]).empty_table()


def arrow_type(name: str) -> pa.DataType:
    """The type that a result has in files; the only struct is a window.

    >>> arrow_type("DECIMAL(10,2)")
    Decimal128Type(decimal128(10, 2))
    """
    if name.startswith("DECIMAL("):
        precision, scale = name[len("DECIMAL(") : -1].split(",")
        return pa.decimal128(int(precision), int(scale))
    if name.startswith("STRUCT("):
        return pa.struct([("start", ARROW_TYPES["TIMESTAMP"]), ("end", ARROW_TYPES["TIMESTAMP"])])
    return ARROW_TYPES.get(name, pa.string())


def as_format(table_of: Callable[[], pa.Table], directory: str, format: str, spark_of: Callable[[], Any]) -> Any:
    """Results in the format that is asked for; `table_of` reads them as Arrow, `spark_of` starts Spark where it is needed."""
    if format == "arrow":
        return table_of()
    if format == "pandas":
        return table_of().to_pandas()
    if format == "spark":
        spark = spark_of()
        return spark.read.parquet(directory) if result_files(directory) else spark.createDataFrame(table_of())
    raise UsageError(f"no result format {format!r}", "use arrow, pandas or spark")
