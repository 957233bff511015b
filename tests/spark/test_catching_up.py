"""A query with a history on real Spark: created through SQL while batches run, killed while it catches up, and caught up after that."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
from support import batches, put, session_on, stream_sql

from thalweg import Session
from thalweg.api.status import read_status
from thalweg.engine.stages import LESS
from thalweg.testing.comparison import compare
from thalweg.testing.reference import reference

LIVE = "CREATE QUERY live AS SELECT k, window_start, COUNT(*) AS n FROM s GROUP BY k, TUMBLE '2 seconds';"
EARLY = """CREATE QUERY early WITH (history = 'all') AS
  SELECT k, window_start, window_end, SUM(v) AS total FROM s GROUP BY k, WINDOWS(TUMBLE '2 seconds', HOP '6 seconds' BY '2 seconds')"""
KILLED = """
import os, signal, sys
from thalweg import Session
session = Session(sys.argv[1])
session.sql(sys.argv[2])
session.start()
replays = session._running.replays
done = replays._stepped
def once(replay):
    more = done(replay)
    if replay.manifest.batch >= 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return more
replays._stepped = once
session.sql(sys.argv[3])
session.wait(120)
"""


def priorities() -> set[int]:
    """Those of the processes that run tasks for this one."""
    parents, tasks = dict[int, int](), list[int]()
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parents[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if b"pyspark.daemon" in (path / "cmdline").read_bytes():
                tasks.append(int(path.name))
    found = set()
    for pid in tasks:
        above = pid
        while above not in (0, os.getpid()):
            above = parents.get(above, 0)
        if above:
            found.add(os.getpriority(os.PRIO_PROCESS, pid))
    return found


def check(session: Session, fed: list[pa.Table]) -> None:
    for name in ("live", "early"):
        query = session.handle(name).query
        compare(session.handle(name).results(), reference(query, session.catalog.streams["s"], fed))


def test_killed_while_it_catches_up(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    fed, sql = batches(8), stream_sql(tmp_path / "in", ", files_per_batch = 1") + LIVE
    session = session_on(spark, tmp_path, sql)
    put(tmp_path, session, fed[:6])
    session.run_available()
    session.stop()
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "run"), sql, EARLY], timeout=240, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    (coming,) = [q for q in read_status(tmp_path / "run").queries if q.name == "early"]
    assert (
        coming.catching_up is not None and coming.catching_up.startswith("catching up: ") and coming.rows > 0
    )
    again = Session(tmp_path / "run", spark=spark)
    again.run_available()
    early = again.handle("early")
    assert early.epoch is None and early.catching_up == (6, 6) and early.begins == {"s": None}
    if sys.platform == "linux":
        assert priorities() >= {0, LESS}, "what is run again leaves the cores to the batches"
    again.stop()
    check(again, fed[:6])
    put(tmp_path, again, fed[6:])
    again.run_available()
    assert (
        early.epoch is not None
        and early.epoch >= 6
        and early.begins == {"s": None}
        and early.catching_up is None
    )
    again.stop()
    check(again, fed)
    assert not list((tmp_path / "run" / "replays").iterdir())
