"""Drawn workloads of the real process on a small disk that fills up, with kills in between: once there is room, nothing is lost or doubled.

All of it happens in a namespace of its own, in which the session directory is a disk of its own (see tests/properties/test_full_disk.py).
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from support import batches, stream_sql
from test_kill import assert_whole, kill_in_mid_run, last_batch, replies, start, undisturbed

from thalweg.testing.bound import bind_statements
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches

ROUNDS = int(os.environ.get("THALWEG_DISK_KILLS", "1"))
BATCHES_PER_ROUND = 8
PATIENCE = 300
SIZE = "24m"
UNSHARE = ["unshare", "--map-root-user", "--mount"]
WAYS = ("full", "full, then killed", "full", "full, then killed", "process", "jvm", "worker")


def can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    return (
        subprocess.run(
            [*UNSHARE, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False
        ).returncode
        == 0
    )


def drawn(rng: random.Random) -> str:
    """Windows and joins as a throw of dice gives them; the first two always."""
    aggregates = (
        "COUNT(*) AS x",
        "SUM(v) AS x",
        "MIN(v) AS x",
        "MAX(v) AS x",
        "AVG(v) AS x",
        "COUNT(DISTINCT k) AS x",
        "MEDIAN(v) AS x",
    )
    windows = (
        "TUMBLE '2 seconds'",
        "TUMBLE '3 seconds'",
        "HOP '6 seconds' BY '2 seconds'",
        "TUMBLE '8 seconds'",
    )
    conditions = ("", "WHERE v % 2 = 0", "WHERE k < 3", "WHERE v > 50 AND k <> 1")
    made = [f"SET plan.evaluate = '{rng.choice(('snapshot', 'delta', 'expiry'))}';"]
    for i in range(rng.randint(2, 6)):
        chosen = ", ".join(rng.sample(windows, rng.randint(1, 3)))
        what = f"window_id, window_start, {rng.choice(aggregates)} FROM s {rng.choice(conditions)}"
        made.append(f"CREATE QUERY w{i} AS SELECT k, {what} GROUP BY k, WINDOWS({chosen});")
    for i in range(rng.randint(1, 3)):
        inputs = f"FROM s [RANGE {rng.randint(1, 20)} SECONDS], r [RANGE {rng.randint(1, 20)} SECONDS] WHERE s.v = r.v"
        rows = f"SELECT s.k, s.v, r.at AS replied {inputs} AND s.k < {rng.randint(1, 4)}"
        grouped = f"SELECT s.k, COUNT(*) AS n, SUM(r.v) AS total {inputs} GROUP BY s.k EVERY {rng.randint(1, 3)} SECONDS"
        made.append(f"CREATE QUERY j{i} AS {rng.choice((rows, grouped))};")
    return "\n".join(made)


def fill(app: Path, root: Path, moment: float, kill: bool) -> str:
    """Start the process, fill the disk in mid-run until it ends by itself, or is killed meanwhile; then make room."""
    before, process, ballast = last_batch(root), start(app, root), root / "ballast"
    deadline = time.monotonic() + PATIENCE
    while last_batch(root) == before and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(moment)
    filled, block = time.monotonic(), 1 << 20
    with ballast.open("wb", buffering=0) as file:
        while process.poll() is None and time.monotonic() < deadline:
            try:
                file.write(b"x" * block)
            except OSError:
                block = max(block // 2, 512)
                time.sleep(0.01 if block == 512 else 0)
            if kill and time.monotonic() - filled > 0.4 + moment:
                os.kill(process.pid, signal.SIGKILL)
                break
    said = process.communicate(timeout=PATIENCE)[0].decode()
    ballast.unlink()
    ended = (
        "killed" if process.returncode == -signal.SIGKILL else "full" if process.returncode == 2 else "done"
    )
    assert ended != "done" or process.returncode == 0, said
    assert ended != "full" or "no space left on device" in said.lower(), said
    assert "Traceback" not in said, said
    return ended


def go(root: Path, rounds: int, seed: int) -> None:
    """What runs where `root / "run"` is a small disk."""
    rng, run, app = random.Random(seed), root / "run", root / "app.sql"
    streams = [stream_sql(root / name, ", files_per_batch = 1", name=name) for name in ("s", "r")]
    app.write_text("\n".join([*streams, drawn(rng)]))
    bound = bind_statements(app.read_text())
    fed = [{"s": rows, "r": replies(rows)} for rows in batches(BATCHES_PER_ROUND * (rounds + 1), rows=400)]
    for name, stream in bound.streams.items():
        write_batches(root / name, stream, [b[name] for b in fed])
    ended = []
    for i in range(rounds):
        way = WAYS[i] if i < 2 else rng.choice(WAYS)
        if way.startswith("full"):
            ended.append(fill(app, run, rng.uniform(0, 0.5), kill="killed" in way))
        else:
            kill_in_mid_run(app, run, rng.uniform(0, 0.5), way)
            ended.append(way)
        assert_whole(run)
    process = start(app, run)
    said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said.decode()
    for query in bound.queries.values():
        expected = undisturbed(query, bound, fed)
        compare(pq.read_table(run / "results" / query.name, schema=None), expected, 1e-9, 1e-9)
    print("rounds ended:", ", ".join(ended))
    assert "full" in ended, ended


@pytest.mark.skipif(
    not can_mount(), reason="this user may not mount a small disk (unshare --map-root-user --mount)"
)
@pytest.mark.timeout(600 + 90 * ROUNDS)
@pytest.mark.parametrize("seed", range(1 + ROUNDS // 10))
def test_a_disk_that_fills_up_in_mid_run(tmp_path: Path, seed: int) -> None:
    (tmp_path / "run").mkdir()
    rounds = min(ROUNDS, 10)
    here = f"mount -t tmpfs -o size={SIZE} none '{tmp_path}/run' && exec '{sys.executable}' '{__file__}' '{tmp_path}' {rounds} {seed}"
    done = subprocess.run(
        [*UNSHARE, "sh", "-c", here], capture_output=True, text=True, check=False, timeout=600 + 90 * ROUNDS
    )
    assert done.returncode == 0, done.stdout + done.stderr


if __name__ == "__main__":
    go(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
