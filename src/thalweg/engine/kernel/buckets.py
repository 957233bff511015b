"""Buckets: Arrow chunks as single rows that Spark moves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.engine.task import Control, Handover
from thalweg.plan.grid import HOT, Split
from thalweg.state.records import dumps, loads

BUCKET_DDL = "partition int, fragment string, data binary"
SCHEMA = pa.schema([("partition", pa.int32()), ("fragment", pa.string()), ("data", pa.binary())])
CONTROL = ""
LARGEST = 32 << 20
M = TypeVar("M", Control, Handover)


def pack(table: pa.Table) -> bytes:
    """A table as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def unpack(value: pa.BinaryScalar) -> pa.Table:
    """The table in a bucket, without a copy."""
    return pa.ipc.open_stream(value.as_buffer()).read_all()


@dataclass
class Sender:
    """Collects the buckets and the control row of one ingest task."""

    partitions: int
    rows: list[tuple[int, str, bytes]] = field(default_factory=list)

    def table(
        self, fragment: str, table: pa.Table, copies: Sequence[int] = (0,), split: Split | None = None
    ) -> None:
        """Cut a table by its column "p" and send each piece to that partition, and to those so far from it.

        Rows of values that are split go to all partitions, each row to one of them or to each.
        """
        where = table.column("p").combine_chunks() if self.partitions > 1 else None
        table = table.drop_columns(["p"])
        if where is not None and split is not None:
            if split.dealt:
                where = dealt(where, self.partitions)
            else:
                for chunk in _cut(table.filter(pc.equal(where, HOT))):
                    data = pack(chunk)
                    self.rows.extend((p, fragment, data) for p in range(self.partitions))
        for p in range(self.partitions):
            piece = table if where is None else table.filter(pc.equal(where, p))
            for chunk in _cut(piece):
                data = pack(chunk)
                self.rows.extend((p + away, fragment, data) for away in copies)

    def control(self, message: Control | Handover) -> None:
        """Tell every partition."""
        data = dumps(message).encode()
        self.rows.extend((p, CONTROL, data) for p in range(self.partitions))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows for Spark, in batches well below the limit of a message."""
        start, size = 0, 0
        for i, row in enumerate(self.rows):
            if size and size + len(row[2]) > LARGEST:
                yield self._batch(start, i)
                start, size = i, 0
            size += len(row[2])
        if start < len(self.rows):
            yield self._batch(start, len(self.rows))

    def _batch(self, start: int, end: int) -> pa.RecordBatch:
        return as_batch(self.rows[start:end])


def dealt(where: pa.Array, partitions: int) -> pa.Array:
    """Partitions of rows, where those that have none are dealt out to all in turn: not always from the first on.

    >>> dealt(pa.array([0, HOT, HOT, 1, HOT], pa.int32()), 2).to_pylist()
    [0, 0, 1, 1, 0]
    """
    places = where.to_numpy().copy()
    some = np.flatnonzero(places == HOT)
    places[some] = (np.arange(len(some)) + len(places) - len(some)) % partitions
    return pa.array(places)


def as_batch(rows: Sequence[tuple[int, str, bytes]]) -> pa.RecordBatch:
    """Buckets as Spark moves them."""
    partitions, fragments, data = zip(*rows, strict=True) if rows else ((), (), ())
    columns = [
        pa.array(partitions, pa.int32()),
        pa.array(fragments, pa.string()),
        pa.array(data, pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _cut(table: pa.Table) -> Iterator[pa.Table]:
    if table.num_rows == 0:
        return
    pieces = max(1, -(-table.nbytes // LARGEST))
    size = -(-table.num_rows // pieces)
    for start in range(0, table.num_rows, size):
        yield table.slice(start, size)


def receive(batches: Iterable[pa.RecordBatch], kind: type[M]) -> tuple[dict[str, list[pa.Table]], list[M]]:
    """The buckets of one partition by fragment, and what it was told."""
    tables: dict[str, list[pa.Table]] = {}
    controls: list[M] = []
    for batch in batches:
        for fragment, data in zip(batch.column("fragment"), batch.column("data"), strict=True):
            name = fragment.as_py()
            if name == CONTROL:
                controls.append(loads(kind, data.as_py()))
            else:
                tables.setdefault(name, []).append(unpack(data))
    return tables, controls
