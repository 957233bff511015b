"""Results of a query as Arrow, pandas or Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.errors import UsageError
from thalweg.logical.join import JoinQuery
from thalweg.logical.query import Query

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


def read_results(query: Query | JoinQuery, directory: str) -> pa.Table:
    """All results so far; an empty table with the right columns where there are none yet."""
    files = result_files(directory)
    if files:
        return pa.concat_tables([pq.read_table(f) for f in files])
    known = [
        pa.field(o.name, ARROW_TYPES.get(o.type, pa.string() if not o.type.startswith("DECIMAL") else _decimal(o.type)))
        for o in query.outputs
    ]
    return pa.schema(known).empty_table()


def _decimal(name: str) -> pa.DataType:
    precision, scale = name[len("DECIMAL(") : -1].split(",")
    return pa.decimal128(int(precision), int(scale))


def as_format(table_of: Any, directory: str, format: str, spark: Any) -> Any:
    """Results in the format that is asked for; `table_of` reads them as Arrow."""
    if format == "arrow":
        return table_of()
    if format == "pandas":
        return table_of().to_pandas()
    if format == "spark":
        return spark.read.parquet(directory) if result_files(directory) else spark.createDataFrame(table_of())
    raise UsageError(f"no result format {format!r}", "use arrow, pandas or spark")
