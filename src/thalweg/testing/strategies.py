"""Hypothesis strategies for whole workloads: streams with their micro-batches, and queries as SQL text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from thalweg.model.stream import Column, Stream
from thalweg.model.windows import SECOND
from thalweg.testing.feeds import stream_sql, table_lines
from thalweg.testing.fields import ARROW_TYPES, Field, fields, time_names, with_nulls
from thalweg.testing.query_texts import Source, query_texts

_EPOCH = datetime(1970, 1, 1)
UNITS = (SECOND, SECOND, 250_000, 60 * SECOND)
BEGINNINGS = (0, 0, -30, 1_767_225_600, -315_619_200)  # in seconds: 1970, around it, 2026, 1960


@dataclass(frozen=True, repr=False)
class WorkloadCase:
    """Streams, the micro-batches of each in order, and queries over them (each a SELECT)."""

    streams: tuple[Stream, ...]
    batches: tuple[tuple[pa.Table, ...], ...]
    queries: tuple[str, ...]

    @property
    def sql(self) -> str:
        """The statements that declare the streams and the queries q0, q1, ..."""
        creates = [f"CREATE QUERY q{i} AS {q};" for i, q in enumerate(self.queries)]
        return "\n".join([*map(stream_sql, self.streams), *creates])

    def script(self) -> str:
        """The case as a `.stream` script, to be kept as a file."""
        parts = [
            line
            for s, tables in zip(self.streams, self.batches, strict=True)
            for t in tables
            for line in _batch_lines(s, t)
        ]
        return "\n".join([self.sql, *parts]) + "\n"

    def __repr__(self) -> str:
        return f"WorkloadCase:\n{self.script()}"


def _batch_lines(stream: Stream, table: pa.Table) -> list[str]:
    return [f"--- batch {stream.name}", *table_lines(table)]


@st.composite
def workloads(draw: DrawFn, max_streams: int = 1, max_queries: int = 4) -> WorkloadCase:
    """One or more streams and the queries over them, small enough to run in a moment."""
    unit = draw(st.sampled_from(UNITS))
    drawn = [draw(_fed_streams(f"s{i}", unit)) for i in range(draw(st.integers(1, max_streams)))]
    sources = [source for source, _ in drawn]
    queries = draw(st.lists(st.sampled_from(sources).flatmap(query_texts), min_size=1, max_size=max_queries))
    return WorkloadCase(
        tuple(s.stream for s in sources), tuple(batches for _, batches in drawn), tuple(queries)
    )


@st.composite
def _fed_streams(draw: DrawFn, name: str, unit: int) -> tuple[Source, tuple[pa.Table, ...]]:
    """A stream with its micro-batches; its times, delay and windows are small multiples of `unit` microseconds."""
    columns = draw(fields())
    time = draw(time_names)
    delay = draw(st.sampled_from([0, 1, 3, 8])) * unit
    stream = Stream(name, (*(f.column for f in columns), Column(time, "TIMESTAMP")), time, delay)
    begin = draw(st.sampled_from(BEGINNINGS)) * SECOND
    rows = draw(_timed_rows(columns, begin, unit))
    source = Source(stream, columns, unit, str(_EPOCH + timedelta(microseconds=begin + 10 * unit)))
    return source, tuple(rows_table(stream.columns, batch) for batch in rows)


@st.composite
def _timed_rows(draw: DrawFn, columns: Sequence[Field], now: int, unit: int) -> list[list[tuple[Any, ...]]]:
    """The rows of each micro-batch. Time goes on from batch to batch; rows lie around it, some too late."""
    values = st.tuples(*(f.values for f in columns))
    batches = []
    for size in draw(st.lists(st.sampled_from([0, 1, 3, 6, 10]), min_size=2, max_size=6)):
        now += draw(st.integers(0, 15)) * unit
        times = with_nulls(
            st.builds(instant, st.just(now), st.integers(-12, 12).map(lambda n: n * unit), NUDGES)
        )
        rows = [(*draw(values), draw(times)) for _ in range(size)]
        batches.append(rows + rows[: draw(st.sampled_from([0, 0, 1, 3]))])
    return batches


NUDGES = st.sampled_from([0, 0, 0, 1, -1])  # microseconds: just beside the bounds of windows


def instant(now: int, shift: int, nudge: int) -> datetime:
    """A time beside another, in microseconds."""
    return _EPOCH + timedelta(microseconds=now + shift + nudge)


def rows_table(columns: Sequence[Column], rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    """Rows as a table with declared columns."""
    values = zip(*rows, strict=True) if rows else [()] * len(columns)
    arrays = [pa.array(v, ARROW_TYPES[c.type]) for c, v in zip(columns, values, strict=True)]
    return pa.table(dict(zip((c.name for c in columns), arrays, strict=True)))
