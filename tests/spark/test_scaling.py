"""Another number of partitions, and frequent values split over them, while batches run on real Spark."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from support import session_on, stream_sql

from thalweg import Session
from thalweg.testing.comparison import compare
from thalweg.testing.reference_joins import reference_join

SECOND = 1_000_000
JOIN = "FROM s AS a [RANGE 4 SECONDS], r AS b [RANGE 2 SECONDS] WHERE a.k = b.k"
ROWS = f"CREATE QUERY pairs AS SELECT a.v, b.v AS w {JOIN};"
SUMS = f"CREATE QUERY sums AS SELECT a.v % 3 AS g, COUNT(*) AS n, SUM(b.v) AS x {JOIN} GROUP BY a.v % 3 EVERY 2 SECONDS;"


def rows(random: Random, batch: int, count: int = 60) -> pa.Table:
    """Two seconds of a stream; half of the rows have one value, and later another one."""
    ticks = sorted(2 * batch * SECOND + random.randrange(2 * SECOND) for _ in range(count))
    keys = [7 + batch // 4 if random.random() < 0.5 else random.randrange(40) for _ in range(count)]
    values = [random.randrange(100) for _ in range(count)]
    return pa.table({"k": keys, "v": values, "at": pa.array(ticks, pa.timestamp("us"))})


def fed(root: Path, session: Session, number: int, tables: dict[str, pa.Table], total: int) -> None:
    """One more file of each stream, and the batches that read them."""
    for name, table in tables.items():
        pq.write_table(table, root / name / f".{number}")
        (root / name / f".{number}").replace(root / name / f"{number}.parquet")
    deadline = time.monotonic() + 120
    while (
        any(c.rows < total for c in session.latest_manifest().streams.values())
        or not session.latest_manifest().streams
    ):
        assert time.monotonic() < deadline and not session.wait(0.05), session.error


def test_partitions_and_frequent_values_change_while_batches_run(spark: Any, tmp_path: Path) -> None:
    for name in "sr":
        (tmp_path / name).mkdir()
    streams = stream_sql(tmp_path / "s") + stream_sql(tmp_path / "r", name="r")
    settings = "SET plan.split = 'all'; SET plan.early_aggregation = 'LAP';"
    session, random = session_on(spark, tmp_path, settings + streams + ROWS + SUMS), Random(3)
    tables = [{n: rows(random, b) for n in "sr"} for b in range(9)]
    session.start()
    split, parts = set(), set()
    for number, given in enumerate(tables):
        if number in (3, 6):
            session.sql(f"SET partitions = {number}")
            session._running.settle()
        fed(tmp_path, session, number, given, 60 * (number + 1))
        split |= {f.split for f in session.runner.plan.fragments}
        parts |= {f.parts for f in session.latest_manifest().files}
    session.stop()
    assert {3, 6} <= parts and len(split - {None}) >= 2
    told = [s.scaled for s in session.changes if s.scaled]
    assert told[-1] == "3 to 6 partitions (set)" and told[-2].endswith(" to 3 partitions (set)")
    for name in ("pairs", "sums"):
        handle = session.handle(name)
        compare(handle.results(), reference_join(handle.query, session.catalog.streams, tables))
    session.close()
