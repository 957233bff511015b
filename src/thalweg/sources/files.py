"""A directory of files as a stream of chunks: Spark says which files are new, tasks read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.errors import DataError, UsageError
from thalweg.logical.stream import Stream

SCHEMA = "path string, modificationTime timestamp, length long, content binary"
GLOBS = {"parquet": "*.parquet", "csv": "*.csv", "json": "*.json*"}


def file_chunks(spark: Any, stream: Stream, named: bool = True) -> Any:
    """A streaming DataFrame with one row (stream, path, data = NULL) per new file."""
    from pyspark.sql import functions as F

    path = Path(stream.path or "")
    if "://" not in str(stream.path) and not path.is_dir():
        raise DataError(f"{stream.path}: the directory of stream {stream.name} does not exist", "create it, or correct the stream's path")
    reader = spark.readStream.format("binaryFile").schema(SCHEMA)
    reader = reader.name(stream.name) if named else reader
    options = {"maxFilesPerTrigger": stream.files_per_batch, "maxBytesPerTrigger": stream.bytes_per_batch}
    if stream.bytes_per_batch is None and stream.files_per_batch is None:
        options["maxFilesPerTrigger"] = 1000
    for key, value in {"pathGlobFilter": dict(stream.options).get("glob", GLOBS[stream.format]), "maxFileAge": "36500d", **options}.items():
        if value is not None:
            reader = reader.option(key, str(value))
    files = reader.load(str(path.resolve()) if "://" not in str(stream.path) else stream.path)
    return files.select(F.lit(stream.name).alias("stream"), F.col("path"), F.lit(None).cast("binary").alias("data"))


_NUMBERS = {"int8": "TINYINT", "int16": "SMALLINT", "int32": "INT", "int64": "BIGINT", "float": "FLOAT", "double": "DOUBLE"}
_OTHERS = {"bool": "BOOLEAN", "string": "STRING", "large_string": "STRING", "date32[day]": "DATE"}


def parquet_columns(path: str, stream: str) -> str:
    """The columns of a Parquet directory as a declaration, read from its first file."""
    first = next(iter(sorted(Path(path).glob(GLOBS["parquet"]))), None)
    if first is None:
        raise UsageError(f"stream {stream}: the columns are not known", f"give columns=..., or put a Parquet file into {path}")
    return ", ".join(f"`{f.name}` {_declared(f.name, f.type)}" for f in pq.read_schema(first))


def _declared(name: str, type_: pa.DataType) -> str:
    if pa.types.is_timestamp(type_):
        return "TIMESTAMP"
    if pa.types.is_decimal(type_):
        return f"DECIMAL({type_.precision},{type_.scale})"
    known = {**_NUMBERS, **_OTHERS}.get(str(type_))
    if known is None:
        raise UsageError(f"column {name} has the type {type_}, which no stream can have", "declare the columns you need with columns=...")
    return known
