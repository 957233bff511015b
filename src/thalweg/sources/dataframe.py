"""Any Spark streaming DataFrame as a stream: its rows are packed into Arrow chunks where they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa

from thalweg.errors import UsageError
from thalweg.logical.stream import Column

CHUNK_DDL = "stream string, path string, data binary"
TYPES = {
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamp_ntz": "TIMESTAMP",
}


def columns_of(frame: Any) -> tuple[Column, ...]:
    """The columns of a DataFrame as Thalweg's types."""
    return tuple(Column(f.name, _type(f.name, f.dataType.simpleString())) for f in frame.schema.fields)


def _type(name: str, spark: str) -> str:
    found = TYPES.get(spark) or (spark.upper() if spark.startswith("decimal") else None)
    if found is None:
        raise UsageError(f"column {name} has the type {spark}", f"select columns of the types {', '.join(TYPES)}, decimal")
    return found


def packed_chunks(frame: Any, stream: str) -> Any:
    """A streaming DataFrame with one row (stream, path = NULL, data) per Arrow batch."""
    return frame.mapInArrow(partial(_pack, stream), CHUNK_DDL)


def _pack(stream: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    from thalweg.engine.kernel.buckets import pack

    for batch in batches:
        if batch.num_rows:
            columns = [pa.array([stream]), pa.array([None], pa.string()), pa.array([pack(pa.Table.from_batches([batch]))], pa.binary())]
            yield pa.RecordBatch.from_arrays(columns, names=["stream", "path", "data"])
