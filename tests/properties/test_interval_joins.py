"""Joins whose conditions bound event times, without any window: what is drawn gives what DuckDB gives for the same text over all rows."""

from __future__ import annotations

import tempfile
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
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
