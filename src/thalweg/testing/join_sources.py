"""Strategies for the sources of joins: streams and a table, their rows, and micro-batches for all streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from thalweg.model.stream import Column, Relation, Stream
from thalweg.model.windows import SECOND
from thalweg.testing.feeds import stream_sql, table_lines, table_sql
from thalweg.testing.fields import with_nulls
from thalweg.testing.strategies import BEGINNINGS, NUDGES, UNITS, instant, rows_table


@dataclass(frozen=True)
class JoinSources:
    """Two to four streams and perhaps a table, all with the same columns (but for the time).

    Times are multiples of `unit` microseconds, from around `begin` on.
    """

    streams: tuple[Stream, ...]
    relation: Relation | None
    unit: int
    begin: int

    def sql(self, directory: Path) -> str:
        """The statements that declare them, each with its place in a directory: `s0/` and so on, `r.parquet`."""
        texts = [stream_sql(s, directory) for s in self.streams]
        if self.relation:
            texts.append(table_sql("r", self.relation.columns, directory))
        return "".join(f"{t}\n" for t in texts)


@dataclass(frozen=True, repr=False)
class JoinCase:
    """Sources with the rows of the table and the micro-batches of the streams, and queries over them (each a SELECT)."""

    sources: JoinSources
    relations: Mapping[str, pa.Table]
    batches: tuple[Mapping[str, pa.Table], ...]
    queries: tuple[str, ...]

    def sql(self, directory: Path = Path("in")) -> str:
        """The statements that declare the sources and the queries q0, q1, ..."""
        return self.sources.sql(directory) + "".join(
            f"CREATE QUERY q{i} AS {q};\n" for i, q in enumerate(self.queries)
        )

    def __repr__(self) -> str:
        lines = [self.sql()]
        for title, tables in [
            ("table", self.relations),
            *((f"batch {i}", b) for i, b in enumerate(self.batches)),
        ]:
            lines += [
                line
                for name, table in tables.items()
                for line in (f"--- {title} {name}", *table_lines(table))
            ]
        return "JoinCase:\n" + "\n".join(lines)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """How Hypothesis shows it."""
        printer.text(repr(self))


@st.composite
def join_sources(draw: DrawFn) -> JoinSources:
    """Declarations; each stream has a delay of its own, and exact or inexact numbers `d`."""
    unit = draw(st.sampled_from(UNITS))
    streams = [draw(_streams(f"s{i}", unit)) for i in range(draw(st.integers(2, 4)))]
    relation = draw(st.none() | st.just(Relation("r", streams[0].columns[:-1], "parquet", "r.parquet")))
    return JoinSources(tuple(streams), relation, unit, draw(st.sampled_from(BEGINNINGS)) * SECOND)


@st.composite
def _streams(draw: DrawFn, name: str, unit: int) -> Stream:
    number = draw(st.sampled_from(["DOUBLE", "DECIMAL(10,2)"]))
    types = {
        "k": "BIGINT",
        "j": "INTEGER",
        "x": "BIGINT",
        "d": number,
        "s": "VARCHAR",
        "b": "BOOLEAN",
        "at": "TIMESTAMP",
    }
    return Stream(
        name, tuple(Column(n, t) for n, t in types.items()), "at", draw(st.sampled_from([0, 1, 2, 5])) * unit
    )


_TENTHS = [n / 10 for n in (-25, -1, 1, 3, 7, 33)]
_QUARTERS = [n / 4 for n in range(-12, 13)]
_VALUES: dict[str, list[Any]] = {
    "k": [1, 1, 1, 1, 0, 0, 2, None],
    "j": [1, 1, 2, 2, 2, 0, 3, None],
    "x": [*range(-9, 10), None],
    "DOUBLE": [*_QUARTERS, *_TENTHS, float("nan"), None],
    "DECIMAL(10,2)": [*(Decimal(n) / 100 for n in range(-300, 300, 35)), None],
    "s": ["a", "a", "a", "a", "b", "b", "B", "", "é", None],
    "b": [True, True, False, None],
}


def _values(columns: Sequence[Column]) -> SearchStrategy[tuple[Any, ...]]:
    """A row but for its time."""
    return st.tuples(
        *(st.sampled_from(_VALUES[c.type if c.name == "d" else c.name]) for c in columns if c.name != "at")
    )


@st.composite
def relation_rows(draw: DrawFn, sources: JoinSources) -> dict[str, pa.Table]:
    """The rows of the table, where there is one."""
    if sources.relation is None:
        return {}
    columns, least = sources.relation.columns, draw(st.sampled_from([0, 3, 3]))
    rows = draw(st.lists(_values(columns), min_size=least, max_size=6))
    return {sources.relation.name: rows_table(columns, rows)}


@st.composite
def feeds(draw: DrawFn, sources: JoinSources, rows: int = 25) -> tuple[dict[str, pa.Table], ...]:
    """Micro-batches with up to so many rows a stream in all: out of order, late, doubled, empty, or no table at all.

    Some streams are ahead of the others. Mostly time goes on far enough in the end that all windows close.
    """
    unit, now, leads = (
        sources.unit,
        sources.begin,
        [draw(st.sampled_from([0, 0, 0, 0, 3, 12])) for _ in sources.streams],
    )
    batches: list[dict[str, pa.Table]] = []
    left = dict.fromkeys((s.name for s in sources.streams), rows - 1)
    for _ in range(draw(st.integers(2, 5))):
        now += draw(st.sampled_from([0, 1, 2, 3, 3, 4, 6, 10])) * unit
        batches.append({})
        for stream, lead in zip(sources.streams, leads, strict=True):
            size = draw(st.sampled_from([None, 0, 1, 3, 4, 5, 7]))
            if size is not None:
                table = draw(_tables(stream, now + lead * unit, unit, min(size, left[stream.name])))
                left[stream.name] -= table.num_rows
                batches[-1][stream.name] = table
    if draw(st.integers(0, 5)):
        batches.append(
            {
                s.name: rows_table(s.columns, [(*[None] * 6, instant(now, 30 * unit, 0))])
                for s in sources.streams
            }
        )
    return tuple(batches)


@st.composite
def _tables(draw: DrawFn, stream: Stream, now: int, unit: int, size: int) -> pa.Table:
    """Up to so many rows around a time, the last of them perhaps doubled."""
    times = with_nulls(st.builds(instant, st.just(now), st.integers(-5, 3).map(lambda n: n * unit), NUDGES))
    rows = [(*draw(_values(stream.columns)), draw(times)) for _ in range(size)]
    if size > 1 and draw(st.integers(0, 3)) == 3:
        rows[-1] = rows[0]
    return rows_table(stream.columns, rows)
