"""The commands that run Spark, as a user starts them: processes of their own, in a directory of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

QUICK = {**os.environ, "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}
THALWEG = Path(sys.executable).with_name("thalweg")
SCRIPT = """\
CREATE STREAM reading (k BIGINT, at TIMESTAMP, v DOUBLE, status STRING)
  WITH (format = 'parquet', path = 'data/reading', time = 'at', watermark = '1 second', files_per_batch = 1);
CREATE QUERY pace INTO 'console' AS SELECT window_end, COUNT(*) AS n FROM reading GROUP BY TUMBLE '1 second';
CREATE QUERY levels INTO 'out/levels' AS
  SELECT k, window_id, window_start, COUNT(*) AS n, MAX(v) AS high
  FROM reading GROUP BY k, WINDOWS(TUMBLE '1 second', TUMBLE '5 seconds');
"""


def command(*args: str) -> list[str]:
    """A command line."""
    return [str(THALWEG), *args]


def finished(cwd: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """A command that ran to its end."""
    return subprocess.run(
        command(*args), cwd=cwd, env=QUICK, capture_output=True, text=True, timeout=300, check=False
    )


def generate(cwd: Path, *more: str) -> None:
    """20 seconds of sensors' readings in ten files."""
    sizes = ("--events", "20000", "--rate", "1000", "--events-per-file", "2000")
    assert finished(cwd, "generate", "sensors", *sizes, *more).returncode == 0


def count(path: Path, expression: str = "count(*)", where: str = "true") -> int:
    """A number out of Parquet files."""
    return int(duckdb.sql(f"SELECT {expression} FROM '{path}/*.parquet' WHERE {where}").fetchall()[0][0])


def interrupted(cwd: Path, until: str, *args: str) -> tuple[int, str]:
    """A command that is told to stop, three times over, once its output holds a text."""
    with (cwd / "output").open("w") as output:
        process = subprocess.Popen(
            command(*args), cwd=cwd, env=QUICK, stdout=output, stderr=subprocess.STDOUT
        )
    deadline = time.monotonic() + 200
    try:
        while until not in (cwd / "output").read_text():
            assert process.poll() is None and time.monotonic() < deadline, (cwd / "output").read_text()
            time.sleep(0.05)
        for _ in range(3):
            os.kill(process.pid, signal.SIGINT)
            time.sleep(0.1)
        return process.wait(120), (cwd / "output").read_text()
    finally:
        process.kill()


@pytest.mark.timeout(600)
def test_a_run_is_stopped_and_goes_on(tmp_path: Path) -> None:
    generate(tmp_path, "--disorder", "0.5", "--late", "0.001")
    (tmp_path / "app.sql").write_text(SCRIPT)
    (tmp_path / "data" / "reading" / "part-000003.parquet").write_bytes(b"no parquet")

    code, output = interrupted(tmp_path, "pace: batch 0", "run", "app.sql")
    assert code == 0, output
    assert "stopped between two batches: " in output and "Traceback" not in output

    rest = finished(tmp_path, "run", "thalweg-app", "--available-now")
    assert rest.returncode == 0 and "goes on with levels, pace" in rest.stderr, rest.stderr
    assert (
        "warning: 1 file of stream reading set aside; see thalweg-app/bad/reading\n  data/reading/part-000003.parquet: "
        in rest.stdout
    )
    totals = next(line.split() for line in rest.stdout.splitlines() if line.startswith("reading "))
    late = int(totals[2])
    assert totals[:2] == ["reading", "18,000"] and late > 0 and totals[4:6] == ["0", "1"]

    _check_results(tmp_path, late)
    status = finished(tmp_path, "status", "thalweg-app")
    assert totals[:4] in [line.split()[:4] for line in status.stdout.splitlines()]


def _check_results(cwd: Path, late: int) -> None:
    """Every second that is over is there once, with all its rows."""
    pace, levels = cwd / "thalweg-app" / "results" / "pace", cwd / "out" / "levels"
    assert count(pace) == count(pace, "count(DISTINCT window_end)") == 18
    assert count(levels, "sum(n)", "window_id = '1 second'") == count(pace, "sum(n)")
    assert 18_000 - late - 2500 < count(pace, "sum(n)") <= 18_000 - late


@pytest.mark.timeout(300)
def test_a_bad_file_ends_the_run_with_its_name(tmp_path: Path) -> None:
    generate(tmp_path)
    (tmp_path / "data" / "reading" / "part-000000.parquet").write_bytes(b"no parquet")
    (tmp_path / "app.sql").write_text(SCRIPT.replace(", files_per_batch = 1", ", on_bad_file = 'stop'"))
    said = finished(tmp_path, "run", "app.sql", "--available-now", "--dir", "session", "--master", "local[1]")
    assert said.returncode == 1
    assert (
        f"error: {tmp_path}/data/reading/part-000000.parquet: can't be read as stream reading" in said.stderr
    )
    assert "Traceback" not in said.stderr and "hint: " in said.stderr
    status = finished(tmp_path, "status", "session").stdout.splitlines()
    assert (
        status[0] == f"{tmp_path / 'session'}: no batch yet"
        and status[1].startswith("failed, ")
        and "part-000000.parquet" in status[1]
    )


@pytest.mark.timeout(300)
def test_the_demo(tmp_path: Path) -> None:
    said = finished(tmp_path, "demo", "--events", "400000")
    assert said.returncode == 0, said.stderr
    assert "\x1b" not in said.stdout and said.stderr.count("\n") < 20
    for query in ("pulse", "price_range", "turnover", "hot_auctions", "offers"):
        rows = count(tmp_path / "demo" / "session" / "results" / query)
        assert rows > 0 and f"{query}: the last 5 of {rows:,} rows" in said.stdout
    assert "plan (best)" in said.stdout
    assert (tmp_path / "demo" / "demo.sql").exists()


@pytest.mark.timeout(300)
def test_a_run_whose_output_nobody_reads_does_its_work(tmp_path: Path) -> None:
    """As in `thalweg run app.sql --available-now 2>&1 | head -1`."""
    generate(tmp_path)
    (tmp_path / "app.sql").write_text(SCRIPT)
    args = command("run", "app.sql", "--available-now")
    process = subprocess.Popen(
        args, cwd=tmp_path, env=QUICK, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        assert process.stdout is not None and process.stdout.readline()
        process.stdout.close()
        assert process.wait(200) == 0
    finally:
        process.kill()
    assert count(tmp_path / "out" / "levels", "sum(n)", "window_id = '1 second'") == 18_000


@pytest.mark.timeout(300)
def test_a_run_whose_output_is_stuck_can_be_stopped(tmp_path: Path) -> None:
    """A pipe that nobody empties takes 64 KB; batches go on, and SIGTERM is heard."""
    generate(tmp_path)
    (tmp_path / "app.sql").write_text(
        SCRIPT.replace(
            "SELECT window_end, COUNT(*) AS n FROM reading GROUP BY",
            "SELECT v, COUNT(*) FROM reading GROUP BY v,",
        )
    )
    args = command("run", "app.sql", "--rows", "0")
    process = subprocess.Popen(
        args, cwd=tmp_path, env=QUICK, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        deadline = time.monotonic() + 200
        while not list((tmp_path / "thalweg-app" / "manifests").glob("*9.json")):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(100) == 0
    finally:
        process.kill()


@pytest.mark.timeout(300)
def test_a_killed_jvm_and_a_damaged_checkpoint_are_the_environment(tmp_path: Path) -> None:
    generate(tmp_path)
    (tmp_path / "app.sql").write_text(SCRIPT)
    process = subprocess.Popen(
        command("run", "app.sql"),
        cwd=tmp_path,
        env=QUICK,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        deadline = time.monotonic() + 150
        while not (found := list((tmp_path / "thalweg-app" / "manifests").glob("*2.json"))):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)
        for jvm in _children(process.pid, "java"):
            os.kill(jvm, signal.SIGKILL)
        _, said = process.communicate(timeout=100)
    finally:
        process.kill()
    assert found and process.returncode == 2, said
    assert (
        "error: Spark's own process has ended" in said and "run it again" in said and "Traceback" not in said
    )

    committed = max(int(p.stem) for p in (tmp_path / "thalweg-app" / "manifests").glob("*.json"))
    last = tmp_path / "thalweg-app" / "checkpoint" / "offsets" / str(committed)
    last.write_text("v1\n{")
    again = finished(tmp_path, "run", "app.sql", "--available-now")
    assert again.returncode == 2, again.stderr
    assert (
        f"{last}: damaged file of Spark's checkpoint" in again.stderr
        and "start anew in another directory" in again.stderr
    )


def _children(pid: int, name: str) -> list[int]:
    """The processes of a name that a process, or one of its, started."""
    found: list[int] = []
    for child in (
        int(c) for task in Path(f"/proc/{pid}/task").glob("*/children") for c in task.read_text().split()
    ):
        found += [child] if Path(f"/proc/{child}/comm").read_text().strip() == name else []
        found += _children(child, name)
    return found
