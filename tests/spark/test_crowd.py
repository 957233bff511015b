"""Sessions that many threads use at once while batches run, on Spark: nothing dies, and each query has what it had to find in its life.

THALWEG_CROWD makes it so many times as long.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from crowded import crowds, main, opened, prepared, run

from thalweg import QueryHandle, Session
from thalweg.api.declaring import query_of
from thalweg.sql.statements import parse_select
from thalweg.testing.crowd import check_lives

TIMES = int(os.environ.get("THALWEG_CROWD", "1"))
BATCHES, KILLED_BATCHES, KILLS = 60 * TIMES, 18 * TIMES, TIMES


@pytest.mark.timeout(300 * TIMES)
def test_many_threads_use_two_sessions_while_batches_run(spark: Any, tmp_path: Path) -> None:
    fed, sessions = prepared(tmp_path, BATCHES), opened(tmp_path, spark)
    with crowds(sessions, "threads") as found:
        run(sessions, found)
    for session, crowd, rows in zip(sessions, found, fed, strict=True):
        assert session.latest_manifest().batch == BATCHES - 1
        assert min(crowd.done[act] for act in ("create", "drop", "explain", "read")) > 10
        assert sum(q.epoch is not None and q.ended is not None for q in crowd.made) >= 3
        assert check_lives(crowd.made, session.catalog.streams, rows) > 0
        session.close()


@pytest.mark.timeout(400 * TIMES)
def test_the_same_with_the_process_killed_in_between(tmp_path: Path) -> None:
    fed, rng = prepared(tmp_path, KILLED_BATCHES), random.Random("kills")
    for number in range(KILLS):
        killed(tmp_path, f"killed_{number}", KILLED_BATCHES * (number + 1) // (KILLS + 2), rng.uniform(0, 1))
    process = started(tmp_path, "last")
    said, _ = process.communicate(timeout=300 * TIMES)
    assert process.returncode == 0 and b"leaked" not in said, said.decode()
    for session, rows in zip(opened(tmp_path, None), fed, strict=True):
        assert session.latest_manifest().batch == KILLED_BATCHES - 1
        handles = [revived(session, life.name) for life in session.lives()]
        assert len(handles) >= 4
        assert check_lives(handles, session.catalog.streams, rows) > 0


def started(root: Path, seed: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, main.__code__.co_filename, str(root), seed]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def killed(root: Path, seed: str, batch: int, moment: float) -> None:
    """Start the process, and kill it some time after the first session has reached a batch."""
    process, deadline = started(root, seed), time.monotonic() + 200
    while last_batch(root) < batch and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(moment)
    assert process.poll() is None, f"ended before it was killed: {process.communicate()[0].decode()}"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def last_batch(root: Path) -> int:
    return max((int(p.stem) for p in (root / "0" / "run" / "manifests").glob("[0-9]*.json")), default=-1)


def revived(session: Session, name: str) -> QueryHandle:
    """A query of an earlier process with what it asked, for the definition."""
    life = next(v for v in session.lives() if v.name == name)
    return QueryHandle(session, name, query_of(session.catalog, parse_select(life.text), name), life)
