"""Python functions in Spark's workers: through a restart without the script that gave them, and one that raises."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from support import SECOND, batches, put, session_on, stream_sql

from thalweg import Session
from thalweg.errors import FunctionError

FACTOR = 3


def scaled(v: pa.Array) -> pa.Array:
    return pc.multiply(v, FACTOR)


def careful(v: pa.Array) -> pa.Array:
    if pc.max(v).as_py() > 100:
        raise ValueError(f"{pc.max(v)} is too large")
    return v


def test_they_run_in_workers_and_go_on_without_the_script(spark: Any, tmp_path: Path) -> None:
    tables = batches(6)
    session = Session(tmp_path / "run", spark=spark)
    session.function("scaled", scaled, "BIGINT -> BIGINT")
    session.function("careful", careful, "BIGINT -> BIGINT")
    session.sql(
        stream_sql(tmp_path / "in", ", files_per_batch = 1")
        + """SET partitions = 2;
        CREATE QUERY sums AS SELECT scaled(k) AS k, window_start, SUM(scaled(v)) AS total, COUNT(DISTINCT v) AS n
          FROM s WHERE scaled(v) > 6 GROUP BY scaled(k), TUMBLE '2 seconds';
        CREATE QUERY bad AS SELECT careful(v) AS v FROM s"""
    )
    put(tmp_path, session, tables[:3])
    session.run_available()
    assert session.handle("bad").status == "failed" and isinstance(session.handle("bad").error, FunctionError)
    assert re.search(r"function careful: ValueError: \d+ is too large", str(session.handle("bad").error))
    session.stop()
    again = session_on(spark, tmp_path, "")
    put(tmp_path, again, tables[3:])
    again.run_available()
    found = again.handle("sums").results().to_pylist()
    assert {(r["k"], r["window_start"].second, r["total"]) for r in found} == expected(tables)
    again.stop()


def expected(tables: list[pa.Table]) -> set[tuple[int, int, int]]:
    """What the definition gives: windows that are over, without the one late row."""
    sums: dict[tuple[int, int], int] = {}
    late = SECOND
    for number, table in enumerate(tables):
        for r in table.cast(pa.schema([("k", "int64"), ("v", "int64"), ("at", "int64")])).to_pylist():
            if r["v"] * FACTOR > 6 and not (number == 3 and r["at"] == late):
                window = r["at"] // (2 * SECOND) * 2
                key = (r["k"] * FACTOR, window)
                sums[key] = sums.get(key, 0) + r["v"] * FACTOR
    return {(k, window, total) for (k, window), total in sums.items() if window + 2 <= 21}
