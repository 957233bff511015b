"""The real process, killed with -9 at random moments and started again, gives the results of an undisturbed run."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
from support import QUERIES, batches, stream_sql

from thalweg.testing.bound import bind_statements
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches
from thalweg.testing.reference import reference

KILLS = int(os.environ.get("THALWEG_KILLS", "5"))
BATCHES = 12 * KILLS


QUICK = {**os.environ, "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}


def start(app: Path, root: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "thalweg", "run", str(app), "--dir", str(root), "--available-now", "--master", "local[2]"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=QUICK)


def last_batch(root: Path) -> int:
    return max((int(p.stem) for p in (root / "manifests").glob("[0-9]*.json")), default=-1)


def assert_whole(root: Path) -> None:
    """Whatever is visible can be read to the end."""
    for path in (root / "results").glob("*/*.parquet"):
        pq.read_table(path)


def test_kill_nine(tmp_path: Path) -> None:
    rng = random.Random(7)
    app, root = tmp_path / "app.sql", tmp_path / "run"
    app.write_text(stream_sql(tmp_path / "in", ", files_per_batch = 1") + QUERIES)
    bound = bind_statements(app.read_text())
    stream = bound.streams["s"]
    tables = batches(BATCHES, rows=400)
    write_batches(tmp_path / "in", stream, tables)
    for _ in range(KILLS):
        before, process = last_batch(root), start(app, root)
        deadline = time.monotonic() + 120
        while last_batch(root) == before and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(rng.uniform(0, 1.2))
        assert process.poll() is None, f"ended before it was killed: {process.communicate()[0].decode()}"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert_whole(root)
    process = start(app, root)
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0, said.decode()
    assert last_batch(root) == BATCHES - 1
    for query in bound.queries.values():
        compare(pq.read_table(root / "results" / query.name), reference(query, stream, tables))
