"""What every generator has in common: its numbers, its clock, and its events in arrival order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa

from thalweg.errors import UsageError
from thalweg.generate import ddl
from thalweg.generate.arrival import BLOCK, cut, in_arrival_order, in_order
from thalweg.generate.draws import Bits, Ids, below, bits, unit
from thalweg.model.stream import Column
from thalweg.model.windows import SECOND
from thalweg.once import cached_property

START = 1_700_000_000 * SECOND
"""2023-11-14 22:13:20 UTC, in microseconds."""

ARROW_TYPES = {
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "VARCHAR": pa.string(),
    "TIMESTAMP": pa.timestamp("us"),
}


@dataclass(frozen=True)
class Generator(ABC):
    """`events` events at a constant pace of `rate` a second of event time from `start` (microseconds, UTC).

    Each event arrives up to `disorder` seconds after its time, and a share `late` of them 60 s and 10 times `disorder` later still.
    """

    events: int
    rate: float = 10_000
    keys: int = 100
    seed: int = 0
    disorder: float = 0.0
    late: float = 0.0
    start: int = START

    schemas: ClassVar[dict[str, tuple[Column, ...]]]

    def __post_init__(self) -> None:
        for name, value, low, high in (
            ("events", self.events, 1, 10**12),
            ("rate", self.rate, 0.001, 1e9),
            ("keys", self.keys, 1, 10**9),
            ("disorder", self.disorder, 0, 1e6),
            ("late", self.late, 0, 1),
        ):
            if not low <= value <= high:
                raise UsageError(f"{name} is {value}", f"give {name} a number from {low:,} to {high:,}")
        if abs(self.start) + self.events * self._step.numerator > 2**62:
            raise UsageError("the events last beyond the range of timestamps", "lower events or raise rate")

    @abstractmethod
    def tables(self, ids: Ids) -> dict[str, pa.Table]:
        """The events with these ids, in this order, by stream."""

    def chunks(self, size: int) -> Iterator[dict[str, pa.Table]]:
        """All events in arrival order, `size` at a time over all streams together."""
        if size < 1:
            raise UsageError(f"chunks of {size} events", "give a size of 1 or more")
        return (self.tables(ids) for ids in cut(self._order(max(size, BLOCK)), size))

    def ddl(self, directory: str | Path, format: str = "parquet") -> str:
        """The CREATE STREAM statements for this data, written under `directory`."""
        return ddl.statements(self.schemas, Path(directory), format, delay=self.delay)

    @property
    def delay(self) -> int:
        """The watermark delay that keeps every event but the late ones: `disorder` in microseconds."""
        return round(self.disorder * SECOND)

    def times(self, ids: Ids) -> Ids:
        """Event times, in microseconds."""
        return self.start + self._span(ids)

    def arrivals(self, ids: Ids) -> Ids:
        """Arrival times, in microseconds."""
        arrivals = self.times(ids) + below(self._bits(ids, "delay"), self.delay)
        if self.late:
            arrivals[unit(self._bits(ids, "late")) < self.late] += 10 * self.delay + 60 * SECOND
        return arrivals

    @cached_property
    def _step(self) -> Fraction:
        """Microseconds from one event to the next."""
        return SECOND / Fraction(self.rate).limit_denominator(1000)

    def _span(self, count: Ids) -> Ids:
        """Microseconds that so many events take."""
        return count * self._step.numerator // self._step.denominator

    def _order(self, block: int) -> Iterator[Ids]:
        if self.delay or self.late:
            return in_arrival_order(self.events, self.times, self.arrivals, block)
        return in_order(self.events, block)

    def _bits(self, ids: Ids, field: str) -> Bits:
        return bits(self.seed, ids, field)

    def _table(self, stream: str, *columns: pa.Array | Ids) -> pa.Table:
        """A table of `stream` from its columns in the order of its schema; times as whole microseconds."""
        fields = [pa.field(column.name, ARROW_TYPES[column.type]) for column in self.schemas[stream]]
        arrays = [_array(values, field.type) for values, field in zip(columns, fields, strict=True)]
        return pa.table(arrays, schema=pa.schema(fields))


def _array(values: pa.Array | Ids, type: pa.DataType) -> pa.Array:
    array = pa.array(values) if isinstance(values, np.ndarray) else values
    return array.view(type) if pa.types.is_timestamp(type) else array
