"""What answers of a service cost its processor: of every route that is read, and of clients that follow.

    python -m benchmarks.reads [--queries 30] [--batches 60] [--times 200]

The service runs in a process of its own, on the engine without Spark, which rests while it is asked; the processor time is that of all
threads of that process, by the kernel. So a busy machine matters little, and figures say what a read takes from the batches.
"""

from __future__ import annotations

import argparse
import http.client
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.service.gate import Access
from thalweg.service.limits import Limits
from thalweg.service.server import Server, bound
from thalweg.service.service import Service
from thalweg.service.tokens import token_of
from thalweg.testing.local import LocalSession

TOKEN = "a-token-of-a-benchmark"
STREAM = (
    "CREATE STREAM s (k BIGINT, v BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{}', time = 'at')"
)
SELECTS = (
    "SELECT k, window_end, SUM(v) AS total, COUNT(*) AS n FROM s WHERE v % {m} = 0 GROUP BY k, TUMBLE '{n} seconds'",
    "SELECT window_id, window_end, MAX(v) AS high FROM s GROUP BY WINDOWS(TUMBLE '2 seconds', HOP '{n} seconds' BY '1 second')",
    "SELECT k, window_start, COUNT(DISTINCT v) AS many FROM s WHERE v > {m} GROUP BY k, HOP '{n} seconds' BY '1 second'",
)
NAME = "q_0"
READS = (
    "/health",
    "/v1/status",
    "/v1/queries",
    f"/v1/queries/{NAME}",
    f"/v1/queries/{NAME}/results",
    f"/v1/queries/{NAME}/results?format=csv",
    f"/v1/queries/{NAME}/results?format=arrow",
    f"/v1/queries/{NAME}/results?last=20",
    "/v1/streams",
    "/v1/tables",
    "/v1/batches",
    "/v1/changes",
    "/v1/costs",
    "/metrics",
)
FOLLOWS = ("/v1/events", f"/v1/queries/{NAME}/follow")
FOLLOWERS, SECONDS = 20, 4.0


@dataclass(frozen=True)
class Asked:
    """How many queries there are, how many batches were run, how often each route is asked."""

    queries: int = 30
    batches: int = 60
    times: int = 200


def main() -> None:
    """Print a line a route."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--serve", type=Path)
    for name in ("queries", "batches", "times"):
        asked.add_argument(f"--{name}", type=int, default=getattr(Asked(), name))
    given = vars(asked.parse_args())
    root = given.pop("serve")
    if root is not None:
        serve(root, Asked(**given))
        return
    for line in measured(Asked(**given)):
        print(line, flush=True)


def serve(root: Path, asked: Asked) -> None:
    """A service of many queries, each with results of many batches, until its input ends. A line of input is a query more."""
    (root / "in").mkdir()
    session = LocalSession(root / "run")
    queries = [SELECTS[i % 3].format(n=2 + i % 5, m=2 + i % 7) for i in range(asked.queries)]
    session.sql(
        "; ".join(
            [STREAM.format(root / "in"), *(f"CREATE QUERY q_{i} AS {q}" for i, q in enumerate(queries))]
        )
    )
    session.hold()
    service = Service(session, limits=Limits(requests=1_000_000, followers=1_000))
    with Server(service, Access((token_of(TOKEN),)), bound("127.0.0.1", 0)) as server:
        for number in range(asked.batches):
            path = root / "in" / f"{number}.parquet"
            pq.write_table(rows_of(number), path)
            session.batch([("s", str(path))])
        session.runner.audience.told(60)
        print(server.port, flush=True)
        for _ in sys.stdin:
            pass


def rows_of(second: int) -> pa.Table:
    """Fifty rows of a second."""
    times = pa.array([second * 1_000_000 + i * 20_000 for i in range(50)], pa.timestamp("us"))
    return pa.table(
        {"k": [i % 5 for i in range(50)], "v": [(i * 7 + second) % 23 for i in range(50)], "at": times}
    )


def measured(asked: Asked) -> Iterator[str]:
    """What every route costs."""
    with tempfile.TemporaryDirectory() as root, serving(Path(root), asked) as (process, port):
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for path in READS:
            read(line, path)
            size = len(read(line, path))
            took = spent(process, partial(read_often, line, path, asked.times))
            yield f"{path:<45} {took / asked.times * 1e3:8.2f} ms a read  {size:>9,} bytes"
        took = spent(process, lambda: declared_and_read(line, 20))
        yield f"{'a SET, then ' + READS[3]:<45} {took / 20 * 1e3:8.2f} ms each time"
        idle = spent(process, lambda: time.sleep(SECONDS))
        for path in FOLLOWS:
            took = spent(process, partial(followed, port, path)) - idle
            yield f"{path:<45} {took / FOLLOWERS / SECONDS * 1e3:8.2f} ms a second of each of {FOLLOWERS} who follow"


def read_often(line: http.client.HTTPConnection, path: str, times: int) -> None:
    """The same again and again."""
    for _ in range(times):
        read(line, path)


def declared_and_read(line: http.client.HTTPConnection, times: int) -> None:
    """What is declared changes, and a query is looked at."""
    for number in range(times):
        line.request(
            "POST",
            "/v1/statements",
            json.dumps({"sql": f"SET trigger = '{number + 1}'"}),
            {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"},
        )
        answer = line.getresponse()
        said = answer.read()
        if answer.status != 200:
            raise RuntimeError(said.decode())
        read(line, f"/v1/queries/{NAME}")


def read(line: http.client.HTTPConnection, path: str) -> bytes:
    """What a path answers."""
    line.request("GET", path, headers={"authorization": f"Bearer {TOKEN}"})
    answer = line.getresponse()
    said = answer.read()
    if answer.status != 200:
        raise RuntimeError(f"{path}: {answer.status} {said.decode()}")
    return said


def followed(port: int, path: str) -> None:
    """Several clients that follow, for some seconds."""
    lines = [http.client.HTTPConnection("127.0.0.1", port, timeout=60) for _ in range(FOLLOWERS)]
    for line in lines:
        line.request("GET", path, headers={"authorization": f"Bearer {TOKEN}"})
    answers = [line.getresponse() for line in lines]
    takers = [threading.Thread(target=answer.read, daemon=True) for answer in answers]
    for taker in takers:
        taker.start()
    time.sleep(SECONDS)
    for line in lines:
        if line.sock is not None:
            line.sock.close()


def spent(process: int, work: Callable[[], object]) -> float:
    """Seconds of processor time that a process spends meanwhile."""
    before = processor_time(process)
    work()
    return processor_time(process) - before


def processor_time(process: int) -> float:
    """Seconds that a process has had of the processor, of all its threads, ended ones too."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


@contextmanager
def serving(root: Path, asked: Asked) -> Iterator[tuple[int, int]]:
    """A service in a process of its own: its number and its port."""
    command = [sys.executable, "-m", "benchmarks.reads", "--serve", str(root)]
    options = [f"--queries={asked.queries}", f"--batches={asked.batches}"]
    process = subprocess.Popen([*command, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None
    try:
        yield process.pid, int(process.stdout.readline())
    finally:
        process.stdin.close()
        process.wait(60)


if __name__ == "__main__":
    main()
