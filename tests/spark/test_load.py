"""Fifty clients of one service that create, drop, follow and read queries while rows are pushed, and the process is killed in between:
no answer says that the service failed, reads are quick, every query that was created is there again, and all results are by definition.

THALWEG_LOAD is for how many seconds they go on.
"""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_serve import QUICK, THALWEG, until_ready

from thalweg.api.declaring import query_of
from thalweg.api.handle import QueryHandle
from thalweg.engine.beginning import logged
from thalweg.sql.statements import parse_select
from thalweg.testing.comparison import compare
from thalweg.testing.crowd import check_lives
from thalweg.testing.local import LocalSession

SECONDS = float(os.environ.get("THALWEG_LOAD", "16"))
CLIENTS, QUICKLY = 50, 0.25
STREAMS = "".join(
    f"CREATE STREAM {name} (k BIGINT, v BIGINT, at TIMESTAMP) "
    f"WITH (format = 'push', time = 'at', watermark = '1 second', keep = '{keep}'); "
    for name, keep in (("s", "1 day"), ("gone", "0 seconds"))
)
"""The same rows are pushed to both. Of one all files are kept, for the definition; of the other they are removed as soon as they can be."""
SELECTS = (
    "SELECT k, window_end, SUM(v) AS total, COUNT(*) AS n FROM s WHERE v % {m} = 0 GROUP BY k, TUMBLE '{n} seconds'",
    "SELECT window_id, window_end, MAX(v) AS high FROM s GROUP BY WINDOWS(TUMBLE '2 seconds', HOP '{n} seconds' BY '1 second')",
    "SELECT k, window_start, COUNT(DISTINCT v) AS many FROM s WHERE v > {m} GROUP BY k, HOP '{n} seconds' BY '1 second'",
)
FIRST = tuple(
    f"CREATE QUERY of_{name} AS SELECT k, window_end, SUM(v) AS total, COUNT(*) AS n FROM {name} GROUP BY k, TUMBLE '2 seconds'"
    for name in ("s", "gone")
)
READS = ("/v1/queries", "/v1/status", "/v1/streams", "/v1/batches", "/v1/changes", "/metrics", "/v1/tables")


class Town:
    """A service, those who use it, and what they have seen of it."""

    def __init__(self, root: Path) -> None:
        self.root, self.url, self.token = root, "", ""
        self.errors: list[str] = []
        self.reads: list[float] = []
        self.probes: list[float] = []
        self.live: set[str] = set()
        self.unsure: set[str] = set()
        self.followed = self.pushed = 0
        self.over, self.down = threading.Event(), threading.Event()
        self._lock = threading.Lock()
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]

    def start(self) -> subprocess.Popen[bytes]:
        """Serve, from what the directory has."""
        said = self.root / "said"
        asked = (
            f"serve --dir run --port {self.port} --set partitions=1 --master local[1] --limit requests=5000"
        )
        with said.open("w") as output:
            process = subprocess.Popen(
                [str(THALWEG), *asked.split()],
                cwd=self.root,
                env=QUICK,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self.url, self.token = until_ready(process, said)
        return process

    @contextmanager
    def client(self) -> Iterator[httpx.Client]:
        headers = {"authorization": f"Bearer {self.token}"}
        with httpx.Client(base_url=self.url, headers=headers, timeout=60, trust_env=False) as made:
            yield made

    def ask(self, client: httpx.Client, method: str, path: str, **more: Any) -> httpx.Response | None:
        """An answer; None where the process was killed. One that says that the service failed is an error."""
        began = time.monotonic()
        try:
            answer = client.request(method, path, **more)
        except httpx.TransportError as e:
            if not self.down.is_set():
                self.errors.append(f"{method} {path}: {e!r}")
            self.over.wait(0.2)
            return None
        if answer.status_code >= 500:
            self.errors.append(f"{method} {path}: {answer.status_code} {answer.text}")
        elif method == "GET" and not self.down.is_set():
            (self.probes if path == "/health" else self.reads).append(time.monotonic() - began)
        return answer

    def sure(self, name: str, lives: bool | None) -> None:
        """What became of a query: it lives, or not; None where nobody said so."""
        with self._lock:
            (self.live.add if lives else self.live.discard)(name)
            (self.unsure.add if lives is None else self.unsure.discard)(name)


class Person(threading.Thread):
    """Creates, drops, follows and reads."""

    def __init__(self, town: Town, number: int) -> None:
        super().__init__(name=f"person-{number}", daemon=True)
        self.town, self.number, self.rng = town, number, random.Random(number)
        self.mine: list[str] = []
        self.made = 0

    def run(self) -> None:
        acts = [self.create, self.drop, self.follow, *[self.read] * 6]
        try:
            with self.town.client() as client:
                while not self.town.over.wait(self.rng.uniform(0.2, 1.4)):
                    self.rng.choice(acts)(client)
        except Exception as e:
            self.town.errors.append(f"{self.name}: {e!r}")

    def create(self, client: httpx.Client) -> None:
        if self.mine or self.made >= 3 or self.number % 3:
            return
        name = f"q_{self.number}_{self.made}"
        self.made += 1
        select = self.rng.choice(SELECTS).format(n=self.rng.choice([2, 3, 4]), m=self.rng.choice([2, 3, 4]))
        answer = self.town.ask(
            client, "POST", "/v1/statements", json={"sql": f"CREATE QUERY {name} AS {select}"}
        )
        self.town.sure(name, None if answer is None else answer.status_code == 200)
        assert answer is None or answer.status_code == 200, answer.text
        self.mine.append(name)

    def drop(self, client: httpx.Client) -> None:
        if not self.mine or self.rng.random() < 0.5 or self.made >= 3:
            return
        name = self.mine.pop()
        answer = self.town.ask(client, "DELETE", f"/v1/queries/{name}")
        assert answer is None or answer.status_code in ((200, 404) if name in self.town.unsure else (200,))
        self.town.sure(name, None if answer is None else False)

    def read(self, client: httpx.Client) -> None:
        if self.rng.random() < 0.15:
            self.town.ask(client, "GET", "/health")
        path = self.rng.choice(READS)
        if self.mine and self.rng.random() < 0.6:
            kind = self.rng.choice(["json", "csv", "arrow"])
            path = f"/v1/queries/{self.mine[-1]}{self.rng.choice(['', f'/results?format={kind}'])}"
        answer = self.town.ask(client, "GET", path)
        assert answer is None or answer.status_code == 200 or self.town.unsure, (path, answer.text)

    def follow(self, client: httpx.Client) -> None:
        """Events for a while: places only grow."""
        if not self.mine or self.mine[-1] in self.town.unsure:
            return
        places, end = list[tuple[int, int]](), time.monotonic() + 3
        with (
            suppress(httpx.TransportError),
            client.stream("GET", f"/v1/queries/{self.mine[-1]}/follow?after=-1") as told,
        ):
            for line in told.iter_lines():
                if line.startswith("id: "):
                    batch, _, row = line.removeprefix("id: ").partition(":")
                    places.append((int(batch), int(row)) if row else (int(batch) + 1, 0))
                if time.monotonic() > end or self.town.over.is_set():
                    break
        assert all(a < b for a, b in pairwise(places)), places
        self.town.followed += len(places)


class Pusher(threading.Thread):
    """Pushes rows in the order of their times, each piece under its id until it is acknowledged, some of them again."""

    def __init__(self, town: Town) -> None:
        super().__init__(name="pusher", daemon=True)
        self.town, self.rng, self.seconds = town, random.Random("pusher"), 0

    def run(self) -> None:
        try:
            with self.town.client() as client:
                while not self.town.over.wait(0.15):
                    self.push(client)
        except Exception as e:
            self.town.errors.append(f"pusher: {e!r}")

    def push(self, client: httpx.Client) -> None:
        lines = "\n".join(_line(self.seconds, i) for i in range(50))
        for stream in ("s", "gone"):
            for _ in range(1 + (self.rng.random() < 0.2)):
                self.push_to(client, stream, lines)
            self.town.pushed += 50
        self.seconds += 1

    def push_to(self, client: httpx.Client, stream: str, lines: str) -> None:
        """Until it is acknowledged."""
        path, headers = (
            f"/v1/streams/{stream}/rows?id=second-{self.seconds}",
            {"content-type": "application/x-ndjson"},
        )
        while not (self.town.over.is_set() and self.town.errors):
            answer = self.town.ask(client, "POST", path, content=lines.encode(), headers=headers)
            assert answer is None or answer.status_code == 200, answer.text
            if answer is not None:
                return


def _line(second: int, number: int) -> str:
    at = datetime.fromtimestamp(second + number / 50, UTC).isoformat()
    return json.dumps({"k": number % 5, "v": (number * 7 + second) % 23, "at": at})


@pytest.mark.timeout(400 + 4 * SECONDS)
def test_fifty_clients_and_a_kill(tmp_path: Path) -> None:
    town = Town(tmp_path)
    process = town.start()
    try:
        with town.client() as client:
            made = client.post(
                "/v1/statements",
                json={"sql": STREAMS + "; ".join(FIRST)},
            )
            assert made.status_code == 200, made.text
        town.sure("of_s", True)
        town.sure("of_gone", True)
        pusher, people = Pusher(town), [Person(town, n) for n in range(CLIENTS)]
        pusher.start()
        reached(town, 0)
        for person in people:
            person.start()
        process = killed_in_between(town, process)
        town.over.set()
        for thread in (*people, pusher):
            thread.join(90)
        process_ends(town, process, pusher)
    finally:
        town.over.set()
        process.kill()
        process.wait()
    check(town, pusher)


def killed_in_between(town: Town, process: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
    """Half of the time, a kill -9, and the other half; all that was created is there again."""
    town.over.wait(SECONDS / 2)
    assert not town.errors, town.errors[:5]
    town.down.set()
    process.kill()
    process.wait()
    with town._lock:
        live, unsure = set(town.live), set(town.unsure)
    process = town.start()
    with town.client() as client:
        found = {q["name"] for q in client.get("/v1/queries").json()}
        assert live - town.unsure <= found | (town.unsure | unsure), live - found
        assert all(client.get(f"/v1/queries/{name}").status_code == 200 for name in live - unsure)
    reached(town, 1)
    town.down.clear()
    town.over.wait(SECONDS / 2)
    return process


def reached(town: Town, more: int) -> None:
    """Wait until batches run, and have gone on."""
    deadline, first = time.monotonic() + 200, None
    with town.client() as client:
        while time.monotonic() < deadline and not town.errors:
            at = client.get("/v1/status").json()
            first = at["batch"] if first is None else first
            if at["status"] == "running" and at["batch"] is not None and at["batch"] >= (first or 0) + more:
                return
            time.sleep(0.1)
    raise AssertionError(f"no batch runs: {town.errors[:3]} {(town.root / 'said').read_text()}")


def process_ends(town: Town, process: subprocess.Popen[bytes], pusher: Pusher) -> None:
    """A last second of rows, far ahead; then all was read, and the service is told to stop."""
    with town.client() as client:
        pusher.seconds += 60
        pusher.push(client)
        deadline = time.monotonic() + 200
        while client.get("/v1/status").json()["rows"] < town.pushed and time.monotonic() < deadline:
            time.sleep(0.2)
        found = client.get("/v1/status").json()["rows"]
    process.terminate()
    assert process.wait(200) == 0, (town.root / "said").read_text()
    assert found == town.pushed, "each piece counts once, however often it was sent"


def check(town: Town, pusher: Pusher) -> None:
    """No failure, quick reads, and results by definition over the batches as they were."""
    assert not town.errors, town.errors[:5]
    reads, probes = sorted(town.reads), sorted(town.probes)
    quick, probed = reads[int(len(reads) * 0.99)], probes[int(len(probes) * 0.99)]
    print(
        f"{len(reads)} reads, 99 % within {quick * 1000:.0f} ms (probes {probed * 1000:.0f} ms); {town.followed} events followed"
    )
    # Where the machine itself is slow, a probe that asks for nothing says how slow.
    assert quick < max(QUICKLY, 3 * probed) and len(reads) > 2 * CLIENTS and town.followed
    session = LocalSession(town.root / "run")
    handles = [_revived(session, life.name) for life in session.lives() if life.name != "of_gone"]
    assert len(handles) >= 8 and any(h.ended is not None for h in handles)
    assert check_lives(handles, session.catalog.streams, fed(session)) > 0
    kept, gone = _revived(session, "of_s").results(), _revived(session, "of_gone").results()
    compare(gone, kept)
    files = {name: len(list((session.directory.inbox / name).glob("*.parquet"))) for name in ("s", "gone")}
    assert files["gone"] < files["s"] / 2, files
    session.close()


def fed(session: LocalSession) -> list[dict[str, pa.Table]]:
    """The rows of each batch, by Spark's log of its files."""
    runner, last, found = session.runner, -1, list[dict[str, pa.Table]]()
    for turn in runner.ledger.turns(runner.last[0]):
        mark = turn.marks.get("s")
        to = last if mark is None else mark.offset
        files = [e.file for e in logged(session.directory.checkpoint, "s", last + 1, to)] if to > last else []
        tables = [pq.read_table(f).replace_schema_metadata(None) for f in files]
        found += [{}] * (turn.batch - len(found))
        found.append({"s": pa.concat_tables(tables)} if tables else {})
        last = to
    return found


def _revived(session: LocalSession, name: str) -> QueryHandle:
    life = next(v for v in session.lives() if v.name == name)
    return QueryHandle(session, name, query_of(session.catalog, parse_select(life.text), name), life)
