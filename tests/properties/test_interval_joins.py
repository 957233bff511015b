"""Joins whose conditions bound event times, without any window: what is drawn gives what DuckDB gives for the same text over all rows."""

from __future__ import annotations

import tempfile
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given
from hypothesis import strategies as hs

from thalweg.model.settings import Config
from thalweg.optimizer.planner import planner_for
from thalweg.testing.bound import bind_statements
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalEngine

NAMES = ("a", "b", "c")
DELAY = 5
STREAM = (
    "CREATE STREAM {0} (k BIGINT, v BIGINT, at TIMESTAMP)"
    " WITH (format = 'parquet', path = '{1}', time = 'at', watermark = '{2} seconds');"
)
Batches = list[dict[str, pa.Table]]


@hs.composite
def bounds(draw: Any, one: str, other: str) -> str:
    """A condition that says from where to where the time of one input may be, seen from another's."""
    low = draw(hs.integers(-12, 12))
    high = low + draw(hs.integers(0, 12))
    below, above = draw(hs.sampled_from(["<", "<="])), draw(hs.sampled_from(["<", "<="]))

    def moved(seconds: int) -> str:
        return f"{other}.at {'-' if seconds < 0 else '+'} INTERVAL {abs(seconds)} SECONDS"

    return str(
        draw(
            hs.sampled_from(
                [
                    f"{one}.at BETWEEN {moved(low)} AND {moved(high)}",
                    f"{moved(low)} {below} {one}.at AND {one}.at {above} {moved(high)}",
                    f"{one}.at - INTERVAL '{high} seconds' {above} {other}.at AND {one}.at >= {moved(low)}",
                    f"{one}.at = {moved(high)}",
                ]
            )
        )
    )


@hs.composite
def joins(draw: Any) -> str:
    """A SELECT over two or three streams that meet within bounds, perhaps with equal keys, perhaps one with a window too."""
    inputs = NAMES[: draw(hs.integers(2, 3))]
    conditions = [draw(bounds(*draw(hs.permutations(pair)))) for pair in pairwise(inputs)]
    conditions += [f"{x}.k = {y}.k" for x, y in pairwise(inputs) if draw(hs.booleans())]
    shown = ", ".join(f"{i}.v AS {i}_v" for i in inputs)
    return f"SELECT {shown} FROM {', '.join(inputs)} WHERE {' AND '.join(conditions)}"


@hs.composite
def batches(draw: Any) -> Batches:
    """Rows of all streams in some batches, out of order but never late."""
    numbers, made, base = count(), [], 0
    for _ in range(draw(hs.integers(1, 4))):
        batch = {}
        for name in NAMES:
            times = [base + draw(hs.integers(0, DELAY)) for _ in range(draw(hs.integers(0, 6)))]
            batch[name] = pa.table(
                {
                    "k": pa.array([draw(hs.integers(0, 1)) for _ in times], pa.int64()),
                    "v": pa.array([next(numbers) for _ in times], pa.int64()),
                    "at": pa.array([t * 1_000_000 for t in times], pa.timestamp("us")),
                }
            )
        made.append(batch)
        base += draw(hs.integers(0, DELAY))
    return made


def by_duckdb(text: str, given_: Batches) -> pa.Table:
    """The join of all rows as DuckDB reads it."""
    with duckdb.connect() as db:
        for name in NAMES:
            db.register(name, pa.concat_tables([b[name] for b in given_]))
        return db.sql(text).to_arrow_table()


@given(text=joins(), given_=batches(), partitions=hs.integers(1, 3))
def test_conditions_on_times_are_windows_enough(text: str, given_: Batches, partitions: int) -> None:
    with tempfile.TemporaryDirectory() as root:
        streams = "".join(STREAM.format(n, f"{root}/{n}", 2 * DELAY) for n in NAMES)
        bound = bind_statements(f"{streams} CREATE QUERY q AS {text}")
        query = bound.queries["q"]
        planner = planner_for(Config())
        engine = LocalEngine(Path(root) / "run", tuple(bound.streams.values()), (query,), planner, partitions)
        for number, batch in enumerate(given_):
            files = []
            for name, table in batch.items():
                into = Path(root) / name / str(number)
                files += [(name, str(p)) for p in write_batches(into, bound.streams[name], [table])]
            engine.batch(files)
        compare(engine.results(query), by_duckdb(text, given_))


@hs.composite
def attached(draw: Any) -> str:
    """A SELECT of rows of one stream with, or without, partners of another one, in any of the ways in which that is written."""
    on = draw(bounds(*draw(hs.permutations(NAMES[:2]))))
    kind = draw(hs.sampled_from(["LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "EXISTS", "NOT EXISTS", "IN"]))
    if kind in ("FULL JOIN",) or draw(hs.booleans()):
        on = f"a.k = b.k AND {on}"
    on += draw(hs.sampled_from(["", "", " AND a.v % 2 = 0", " AND b.v % 3 > 0", " AND a.v < b.v"]))
    if kind.endswith("EXISTS"):
        return f"SELECT v FROM a WHERE {kind} (SELECT 1 FROM b WHERE {on})"
    if kind == "IN":
        return f"SELECT v FROM a WHERE v >= 0 AND k IN (SELECT k FROM b WHERE {on})"
    after = draw(hs.sampled_from(["", "", " WHERE b.v IS NULL", " WHERE a.v > 2 OR b.v > 2"]))
    return f"SELECT a.v AS a_v, b.v AS b_v, COALESCE(a.k, b.k, 7) AS k FROM a {kind} b ON {on}{after}"


def far(number: int) -> pa.Table:
    """A row so late that nothing waits for partners any more, and too far from others to have one."""
    times = pa.array([number * 1_000_000_000], pa.timestamp("us"))
    return pa.table({"k": pa.array([None], pa.int64()), "v": pa.array([-1], pa.int64()), "at": times})


@given(text=attached(), given_=batches(), partitions=hs.integers(1, 3))
def test_rows_with_and_without_partners_are_those_of_duckdb(
    text: str, given_: Batches, partitions: int
) -> None:
    with tempfile.TemporaryDirectory() as root:
        streams = "".join(STREAM.format(n, f"{root}/{n}", 2 * DELAY) for n in NAMES[:2])
        bound = bind_statements(f"{streams} CREATE QUERY q AS {text}")
        query = bound.queries["q"]
        engine = LocalEngine(
            Path(root) / "run", tuple(bound.streams.values()), (query,), planner_for(Config()), partitions
        )
        for number, batch in enumerate([*given_, {n: far(i + 1) for i, n in enumerate(NAMES[:2])}]):
            files = []
            for name in NAMES[:2]:
                into = Path(root) / name / str(number)
                files += [(name, str(p)) for p in write_batches(into, bound.streams[name], [batch[name]])]
            engine.batch(files)
        found = engine.results(query)
        for name in (n for n in found.column_names if n in ("v", "a_v", "b_v")):
            found = found.filter(pc.not_equal(pc.fill_null(found.column(name), 0), -1))
        compare(found, by_duckdb(text, given_))
