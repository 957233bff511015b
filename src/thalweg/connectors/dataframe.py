"""Any Spark streaming DataFrame as a stream: its rows are packed into Arrow chunks where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa

from thalweg.connectors.base import CHUNK_DDL
from thalweg.errors import UsageError
from thalweg.expr.nested import array_type, map_type, struct_type
from thalweg.model.stream import Column, Stream
from thalweg.state.manifest import Consumed

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


@dataclass(frozen=True)
class FrameSource:
    """A streaming DataFrame. What it has given is with whoever feeds it: it can't be asked for it again."""

    stream: Stream
    frame: Any
    error: Exception | None = None

    def check(self, is_new: bool) -> None:
        """Refuse a DataFrame that does not stream."""
        if not self.frame.isStreaming:
            raise UsageError(
                f"stream {self.stream.name}: the DataFrame is not a streaming one",
                "read it with spark.readStream",
            )

    def begin(self, whole: bool) -> None:
        """Its own source brings the rows."""

    def chunks(self, spark: Any) -> Any:
        """One row (stream, path = NULL, data) per Arrow batch."""
        return packed_chunks(spark, self.frame, self.stream.name)

    def again(self, checkpoint: Path, taken: Consumed) -> tuple[str, ...] | None:
        """Nothing of it is kept."""
        return None


def columns_of(frame: Any) -> tuple[Column, ...]:
    """The columns of a DataFrame as Thalweg's types."""
    return tuple(Column(f.name, _type_of(f.name, f.dataType)) for f in frame.schema.fields)


def _type_of(name: str, spark: Any) -> str:
    match spark.typeName():
        case "struct":
            return struct_type([(f.name, _type_of(name, f.dataType)) for f in spark.fields])
        case "array":
            return array_type(_type_of(name, spark.elementType))
        case "map":
            return map_type(_type_of(name, spark.keyType), _type_of(name, spark.valueType))
    return _type(name, spark.simpleString())


def _type(name: str, spark: str) -> str:
    found = TYPES.get(spark) or (spark.upper() if spark.startswith("decimal") else None)
    if found is None:
        raise UsageError(
            f"column {name} has the type {spark}", f"select columns of the types {', '.join(TYPES)}, decimal"
        )
    return found


def packed_chunks(spark: Any, frame: Any, stream: str) -> Any:
    """A streaming DataFrame of `spark` with one row (stream, path = NULL, data) per Arrow batch."""
    return _named(spark, frame, stream).mapInArrow(partial(_pack, stream), CHUNK_DDL)


def _named(spark: Any, frame: Any, stream: str) -> Any:
    """The same frame in another session, its sources named by the stream: so Spark knows them again where others have come or gone."""
    from pyspark.sql import DataFrame

    numbers = count()
    plan = _with_names(
        spark._jvm, frame._jdf.queryExecution().analyzed(), lambda: f"{stream}__{next(numbers)}"
    )
    made = getattr(getattr(spark._jvm, "org.apache.spark.sql.classic.Dataset$"), "MODULE$").ofRows(
        spark._jsparkSession, plan
    )
    return DataFrame(made, spark)


def _with_names(jvm: Any, node: Any, name: Callable[[], str]) -> Any:
    """A plan of Spark with a name for each of its sources."""
    children = node.children()
    if children.size():
        found = [_with_names(jvm, children.apply(i), name) for i in range(children.size())]
        return node.withNewChildren(jvm.org.apache.spark.api.python.PythonUtils.toSeq(found))
    if not (node.isStreaming() and "withSourceIdentifyingName" in dir(node)):
        return node
    return node.withSourceIdentifyingName(jvm.org.apache.spark.sql.catalyst.streaming.UserProvided(name()))


def _pack(stream: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    from thalweg.engine.kernel.buckets import pack

    for batch in batches:
        if batch.num_rows:
            columns = [
                pa.array([stream]),
                pa.array([None], pa.string()),
                pa.array([pack(pa.Table.from_batches([batch]))], pa.binary()),
            ]
            yield pa.RecordBatch.from_arrays(columns, names=["stream", "path", "data"])
