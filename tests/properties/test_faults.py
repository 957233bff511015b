"""A crash at any named point of any batch's commit changes nothing in the results."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from thalweg.config import Config
from thalweg.engine.faults import POINTS, Aborted
from thalweg.planning import planner_for
from thalweg.sinks.parquet import STAGING
from thalweg.testing.bound import bind_text
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalEngine
from thalweg.testing.reference import late_rows, reference

SECOND = 1_000_000
SQL = """
CREATE STREAM s (k BIGINT, v BIGINT, at TIMESTAMP) WITH (time = 'at', watermark = '2 seconds');
CREATE QUERY a AS SELECT k, window_id, window_start, SUM(v) AS total, COUNT(DISTINCT v) AS kinds
  FROM s GROUP BY k, WINDOWS(TUMBLE '2 seconds', HOP '6 seconds' BY '2 seconds');
CREATE QUERY b AS SELECT window_start, MAX(v) AS high FROM s WHERE v % 2 = 0 GROUP BY WINDOWS(TUMBLE '4 seconds');
"""


def batches() -> list[pa.Table]:
    """Six batches of 40 rows over 4 s each, out of order, with a late row in the fourth."""
    made = []
    for b in range(6):
        ticks = [b * 4 * SECOND + (i * 37 % 40) * 100_000 for i in range(40)]
        if b == 3:
            ticks[5] = 1 * SECOND
        made.append(pa.table({"k": [i % 5 for i in range(40)], "v": [i * b for i in range(40)], "at": pa.array(ticks, pa.timestamp("us"))}))
    return made


def engine_at(root: Path) -> LocalEngine:
    bound = bind_text(SQL.replace("time =", f"late_rows = '{root / 'late'}', time ="), directory=root / "in")
    return LocalEngine(root / "run", tuple(bound.streams.values()), tuple(bound.queries.values()), planner_for(Config(), None))


@pytest.mark.parametrize("point", POINTS)
def test_crash_at_every_point_of_every_batch(point: str, tmp_path: Path) -> None:
    engine = engine_at(tmp_path)
    stream, reached = engine.streams[0], 0
    tables = batches()
    for path in write_batches(tmp_path / "in" / "s", stream, tables):
        engine.fault = point
        try:
            engine.batch([("s", str(path))])
        except Aborted:
            reached += 1
            engine.fault = None
            engine.restart()
            engine.batch([("s", str(path))])
    assert reached > 0, f"no batch came to {point}"
    for query in engine.queries:
        compare(engine.results(query), reference(query, stream, tables))
    late = pa.parquet.read_table(sorted((tmp_path / "late").glob("*.parquet")))
    assert late.num_rows == late_rows(stream, tables) == 1
    engine.restart()
    assert_nothing_left_over(engine, tmp_path)


def assert_nothing_left_over(engine: LocalEngine, root: Path) -> None:
    """After a restart every state file is named by the manifest, and nothing is staged."""
    named = {f.path for f in engine.runner.manifest.files}
    found = {str(p.relative_to(root / "run" / "state")) for p in (root / "run" / "state").rglob("*.arrow")}
    assert found == named
    assert not list(root.rglob(f"{STAGING}/*"))


def test_a_directory_made_anew_has_nothing_of_the_old_one(tmp_path: Path) -> None:
    """Worker processes live on: what they remember of a deleted session must not meet the next one in the same place."""
    for shift in (0, 1000):
        tables = [t.set_column(1, "v", pa.compute.add(t.column("v"), shift)) for t in batches()[:2]]
        engine = engine_at(tmp_path)
        for path in write_batches(tmp_path / "in" / "s", engine.streams[0], tables):
            engine.batch([("s", str(path))])
        for query in engine.queries:
            compare(engine.results(query), reference(query, engine.streams[0], tables))
        shutil.rmtree(tmp_path / "run")
        shutil.rmtree(tmp_path / "in")
