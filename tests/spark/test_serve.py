"""`thalweg serve` as a process: queries created over HTTP, followed, stopped by SIGTERM, and there again."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pyarrow as pa
from support import batches, stream_sql

from thalweg import Session
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches
from thalweg.testing.reference import reference

QUICK = {**os.environ, "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}
THALWEG = Path(sys.executable).with_name("thalweg")
SUMS = "CREATE QUERY sums AS SELECT k, window_start, SUM(v) AS total, COUNT(*) AS n FROM s GROUP BY k, TUMBLE '2 seconds'"
WAIT = 200.0


@contextmanager
def serving(root: Path) -> Iterator[httpx.Client]:
    """A service over a directory, as its user starts it; at the end it is told to stop, and does so between two batches."""
    said = root / "said"
    with said.open("w") as output:
        asked = [
            str(THALWEG),
            "serve",
            "--dir",
            "run",
            "--port",
            "0",
            "--root",
            str(root),
            "--set",
            "partitions=1",
            "--master",
            "local[1]",
        ]
        process = subprocess.Popen(asked, cwd=root, env=QUICK, stdout=output, stderr=subprocess.STDOUT)
    try:
        url, token = until_ready(process, said)
        with httpx.Client(
            base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=WAIT, trust_env=False
        ) as client:
            yield client
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT) == 0 and "stopped between two batches" in said.read_text(), said.read_text()
    finally:
        process.kill()
        process.wait()


def until(
    found: Callable[[], re.Match[str] | None], process: subprocess.Popen[bytes], said: Path
) -> re.Match[str]:
    """What comes of a look, as soon as anything does."""
    deadline = time.monotonic() + WAIT
    while not (value := found()):
        assert process.poll() is None and time.monotonic() < deadline, said.read_text()
        time.sleep(0.05)
    return value


def until_ready(process: subprocess.Popen[bytes], said: Path) -> tuple[str, str]:
    """The address and the token of a service, once it says so."""
    found = until(lambda: re.search(r"at (http://\S+)/#token=(\S+)", said.read_text()), process, said)
    return found[1], found[2]


def read(client: httpx.Client) -> pa.Table:
    """All results of the query."""
    return pa.ipc.open_stream(
        client.get("/v1/queries/sums/results", params={"format": "arrow"}).content
    ).read_all()


def reached(client: httpx.Client, rows: int) -> None:
    """Wait until the stream has so many rows, and all that they brought can be read."""
    deadline = time.monotonic() + WAIT
    while True:
        at, place = client.get("/v1/status").json(), client.get("/v1/queries/sums/results").json()["next"]
        if at["rows"] >= rows and place == str(at["batch"]):
            return
        assert time.monotonic() < deadline, at
        time.sleep(0.05)


def test_created_followed_stopped_and_there_again(tmp_path: Path) -> None:
    fed = batches(3)
    (tmp_path / "in").mkdir()
    known = Session(tmp_path / "other")
    known.sql(stream_sql(tmp_path / "in") + SUMS)
    stream, query = known.catalog.streams["s"], known.catalog.queries["sums"]
    with serving(tmp_path) as client:
        assert client.get("/ready").json() == {"status": "waiting for a query"}
        made = client.post(
            "/v1/statements", json={"sql": stream_sql(tmp_path / "in", ", files_per_batch = 1") + SUMS}
        )
        assert [o["outcome"] for o in made.json()["outcomes"]] == ["declared", "created"], made.text
        with client.stream("GET", "/v1/queries/sums/follow", params={"after": "-1"}) as events:
            write_batches(tmp_path / "in", stream, fed[:2])
            lines = events.iter_lines()
            assert next(n for n in lines if n.startswith("event: rows")) and '"rows": [[' in next(
                n for n in lines if n.startswith("data")
            )
        reached(client, 80)
        compare(read(client), reference(query, stream, fed[:2]))
        assert (
            client.get("/ready").json() == {"status": "running"}
            and client.get("/v1/queries").json()[0]["status"] == "running"
        )
        assert 'thalweg_stream_rows_total{stream="s"} 80' in client.get("/metrics").text
    write_batches(tmp_path / "in", stream, fed[2:])
    with serving(tmp_path) as client:
        reached(client, 120)
        compare(read(client), reference(query, stream, fed))
        assert client.get("/v1/queries").json()[0]["epoch"] == 0
    assert (tmp_path / "run" / "token").stat().st_mode & 0o777 == 0o600
