"""The real process, its JVM or a worker of it, killed with -9 at random moments and started again, gives what an undisturbed run gives.

It runs windows, a join of rows, and aggregates over a join whose results are kept as totals (delta) or as credits (expiry).
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from support import QUERIES, batches, stream_sql

from thalweg.api.status import read_status
from thalweg.model.query import Query
from thalweg.testing.bound import Bound, bind_statements
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches
from thalweg.testing.reference import reference
from thalweg.testing.reference_joins import reference_join

KILLS = int(os.environ.get("THALWEG_KILLS", "3"))
SHARES = {"delta": (KILLS + 1) // 2, "expiry": KILLS // 2}
BATCHES_PER_KILL = 8
PATIENCE = 300 + 10 * KILLS

QUICK = {**os.environ, "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}

JOIN = "FROM s [RANGE 20 SECONDS], r [RANGE 10 SECONDS] WHERE s.v = r.v GROUP BY s.k EVERY 1 SECOND"
PAIRS = "CREATE QUERY pairs AS SELECT s.k, s.v, s.at, r.at AS replied FROM s [RANGE 2 SECONDS], r [RANGE 1 SECOND] WHERE s.v = r.v;"
CHANGES = f"CREATE QUERY changes AS SELECT s.k, COUNT(*) AS n {JOIN} EMIT CHANGES;"
AGGREGATES = {"delta": "COUNT(*) AS n, SUM(r.v) AS total", "expiry": "MAX(r.v) AS high, MIN(r.at) AS first"}


def script(root: Path, evaluate: str) -> str:
    """Two streams, one file of each a micro-batch, windows over one of them and joins of both."""
    streams = [stream_sql(root / name, ", files_per_batch = 1", name=name) for name in ("s", "r")]
    joined = f"CREATE QUERY joined AS SELECT s.k, {AGGREGATES[evaluate]} {JOIN};"
    return "\n".join([f"SET plan.evaluate = '{evaluate}';", *streams, QUERIES, PAIRS, joined, CHANGES])


def replies(rows: pa.Table) -> pa.Table:
    """The same rows 1.5 s later."""
    return rows.set_column(
        rows.schema.get_field_index("at"), "at", pc.add(rows["at"], timedelta(seconds=1.5))
    )


def start(app: Path, root: Path) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "thalweg",
        "run",
        str(app),
        "--dir",
        str(root),
        "--available-now",
        "--master",
        "local[2]",
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=QUICK)


def last_batch(root: Path) -> int:
    return max((int(p.stem) for p in (root / "manifests").glob("[0-9]*.json")), default=-1)


def family(pid: int) -> dict[int, str]:
    """The processes that a process has started, and those that they have, with their command lines."""
    parents, found = {}, dict[int, str]()
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parents[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            found[int(path.name)] = (path / "cmdline").read_text().replace("\0", " ")
    mine = {pid}
    while more := {child for child, parent in parents.items() if parent in mine} - mine:
        mine |= more
    return {child: found[child] for child in mine - {pid} if child in found}


def kill_a_part(process: subprocess.Popen[bytes], part: str) -> None:
    """Kill the JVM, which ends the run as a fault of the environment, or a worker of Python, which another one stands in for."""
    victims = [
        pid
        for pid, line in family(process.pid).items()
        if ("pyspark.daemon" if part == "worker" else "org.apache.spark") in line
    ]
    with suppress(ProcessLookupError):
        os.kill(max(victims, default=process.pid), signal.SIGKILL)
    if part == "jvm":
        said, _ = process.communicate(timeout=120)
        assert process.returncode == 2, said.decode()
    else:
        time.sleep(1)
        assert process.poll() in (None, 0), f"ended with its worker: {process.communicate()[0].decode()}"


def kill_in_mid_run(app: Path, root: Path, moment: float, victim: str) -> None:
    """Start the process, and kill it, or first a part of it, so many seconds after it has committed a batch."""
    before, process = last_batch(root), start(app, root)
    deadline = time.monotonic() + 120
    while last_batch(root) == before and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(moment)
    assert process.poll() is None, f"ended before it was killed: {process.communicate()[0].decode()}"
    if victim != "process":
        kill_a_part(process, victim)
    if process.poll() is None:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()


def assert_whole(root: Path) -> None:
    """Whatever is visible can be read to the end."""
    for path in (root / "results").glob("*/*.parquet"):
        pq.read_table(path)


def undisturbed(query: Query, bound: Bound, fed: list[dict[str, pa.Table]]) -> pa.Table:
    """What the definition gives."""
    if not query.windows:
        return reference_join(query, bound.streams, fed)
    return reference(query, bound.streams[query.stream], [b[query.stream] for b in fed])


@pytest.mark.timeout(2 * PATIENCE + 60 * KILLS)
@pytest.mark.parametrize("evaluate", SHARES)
def test_kill_nine(evaluate: str, tmp_path: Path) -> None:
    kills, rng = SHARES[evaluate], random.Random(evaluate)
    app, root = tmp_path / "app.sql", tmp_path / "run"
    app.write_text(script(tmp_path, evaluate))
    bound = bind_statements(app.read_text())
    fed = [{"s": rows, "r": replies(rows)} for rows in batches(BATCHES_PER_KILL * max(kills, 1), rows=400)]
    for name, stream in bound.streams.items():
        write_batches(tmp_path / name, stream, [b[name] for b in fed])
    for _ in range(kills):
        kill_in_mid_run(app, root, rng.uniform(0, 1.2), rng.choice(("process", "process", "jvm", "worker")))
        assert_whole(root)
    process = start(app, root)
    said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said.decode()
    assert last_batch(root) == len(fed) - 1
    assert evaluate in {f.window for f in read_status(root).fragments}
    for query in bound.queries.values():
        expected = undisturbed(query, bound, fed)
        assert expected.num_rows > 0
        compare(pq.read_table(root / "results" / query.name), expected)
