"""Many queries: the time to bind and plan them, what is written down of their plan, and what equal ones cost in a batch. No Spark.

python -m benchmarks.many
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import duckdb
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from thalweg.model.query import Query
from thalweg.model.settings import Config
from thalweg.optimizer.planner import planner_for
from thalweg.optimizer.workload import advance, build
from thalweg.plan.change import change_of
from thalweg.plan.codec import dumps
from thalweg.plan.members import without_sets
from thalweg.testing.bound import bind_statements
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalEngine

MANY, EQUAL, BATCHES, WARM, ROWS = 500, (1, 10, 50), 12, 4, 20_000
STREAM = "CREATE STREAM {n} (k BIGINT, j BIGINT, x BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{d}/{n}', time = 'at');"
WINDOWS = "WINDOWS(TUMBLE '1 second', TUMBLE '5 seconds', HOP '30 seconds' BY '5 seconds')"
Select = Callable[[int], str]


def windowed(i: int) -> str:
    """Three windows over one of four streams, each with its own conditions."""
    source = f"{'abcd'[i % 4]} WHERE x > {i} AND j <> {i % 7}"
    return f"SELECT k, window_id, COUNT(*) AS n, SUM(x) AS s, MAX(x) AS m FROM {source} GROUP BY k, {WINDOWS}"


def joined(i: int) -> str:
    """A count and a sum over a join of two of four streams, each with its own conditions."""
    left, right = "abcd"[i % 4], "abcd"[(i + 1) % 4]
    inputs = f"{left} AS l [RANGE 5 SECONDS], {right} AS r [RANGE 10 SECONDS]"
    condition = f"l.k = r.k AND l.x > {i} AND r.j < {i % 9}"
    return f"SELECT l.k, COUNT(*) AS n, SUM(r.x) AS s FROM {inputs} WHERE {condition} GROUP BY l.k EVERY 1 SECOND"


def script(selects: list[str], directory: str = "none") -> str:
    """Four streams and queries q0, q1, ..."""
    streams = "".join(STREAM.format(n=n, d=directory) for n in "abcd")
    return streams + "".join(f"CREATE QUERY q{i} AS {s};" for i, s in enumerate(selects))


def planning(select: Select) -> list[str]:
    """Seconds of processor time to bind and to plan many queries, milliseconds for one more, and bytes of the plan and of that change."""
    started = process_time()
    bound = bind_statements(script([select(i) for i in range(MANY + 1)]))
    bind = process_time() - started
    streams, asked = tuple(bound.streams.values()), tuple(bound.queries.values())
    started = process_time()
    plan = build(streams, asked[:-1], planner_for(Config(), None, streams))
    whole = process_time() - started
    started = process_time()
    more = advance(plan, streams, asked, planner_for(Config(), None, streams), {}, {})
    one = process_time() - started
    plan, more = without_sets(plan), without_sets(more)  # as they are written
    change = dumps(change_of("base", plan, more))
    return [f"{bind:.2f}", f"{whole:.2f}", f"{one * 1e3:.0f}", f"{len(dumps(plan)):,}", f"{len(change):,}"]


def rows(batch: int, stream: int) -> pa.Table:
    """A second of a stream."""
    seed = batch * 100_003 + stream * 7_919
    return duckdb.sql(
        f"""SELECT (hash(i + {seed}) % 200)::BIGINT AS k, (hash(i + {seed} + 9) % 50)::BIGINT AS j,
            (hash(i + {seed} + 77) % 100)::BIGINT AS x,
            make_timestamp(({batch} * 1000000 + i * 1000000 // {ROWS})::BIGINT) AS at FROM range({ROWS}) AS r(i)"""
    ).to_arrow_table()


def batch_ms(queries: tuple[Query, ...], text: str, root: Path) -> float:
    """The median of a batch after some of warm-up."""
    bound = bind_statements(text)
    engine = LocalEngine(root / "run", tuple(bound.streams.values()), queries, planner_for(Config()), 2)
    times = []
    for i in range(BATCHES):
        chunks = [
            (n, str(write_batches(root / n, bound.streams[n], [rows(i, k)])[0])) for k, n in enumerate("abcd")
        ]
        started = perf_counter()
        engine.batch(chunks)
        times.append((perf_counter() - started) * 1e3)
    return median(times[WARM:])


def equal_batches(select: Select) -> list[str]:
    """Milliseconds of a batch with one query, and with so many that are equal to it."""
    found = []
    for count in EQUAL:
        with tempfile.TemporaryDirectory() as directory:
            text = script([select(0)] * count, directory)
            found.append(
                f"{batch_ms(tuple(bind_statements(text).queries.values()), text, Path(directory)):.0f}"
            )
    return found


def main() -> None:
    """Two tables."""
    console = Console()
    first = Table("500 queries", "bind, s", "plan, s", "one more, ms", "plan, bytes", "change, bytes")
    second = Table("equal queries, ms a batch", *map(str, EQUAL))
    for name, select in (("windows", windowed), ("joins", joined)):
        first.add_row(name, *planning(select))
        second.add_row(name, *equal_batches(select))
    console.print(first, second)


if __name__ == "__main__":
    main()
