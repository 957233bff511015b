"""A session whose batches tests run one by one, behind a real server on a port of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.service.gate import Access
from thalweg.service.limits import Limits
from thalweg.service.roots import Roots
from thalweg.service.server import Server, bound
from thalweg.service.service import Service
from thalweg.service.tokens import FILE, token_of
from thalweg.testing.local import LocalSession

SECOND = 1_000_000
WRITER, READER = "a-token-that-may-write", "a-token-that-may-only-read"
STREAM = "CREATE STREAM s (k BIGINT, v BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{}/in', time = 'at')"
SUMS = "SELECT k, window_end, SUM(v) AS total, COUNT(*) AS n FROM s GROUP BY k, TUMBLE '1 second'"
WAIT = 60.0


@dataclass(frozen=True)
class Event:
    """A server-sent event."""

    name: str
    id: str | None
    data: Any


class Served:
    """A session, its service, and clients of it. The stream `s` is declared, and read from `in`."""

    def __init__(self, root: Path, limits: Limits | None = None, logged: bool = False) -> None:
        self.root, self._limits, self._logged, self._held = root, limits, logged, ExitStack()
        (root / "in").mkdir(exist_ok=True)

    def __enter__(self) -> Served:
        self.session = LocalSession(self.root / "run", logged=self._logged)
        self.session.sql(STREAM.format(self.root))
        self.session.hold()
        kept = self.session.directory
        roots = Roots((self.root,), kept.root, kept.results, (kept.root / FILE,))
        self.service = Service(self.session, roots, self._limits)
        access = Access((token_of(WRITER), token_of(READER, reads_only=True)))
        self.server = self._held.enter_context(Server(self.service, access, bound("127.0.0.1", 0)))
        self.url = f"http://127.0.0.1:{self.server.port}"
        self.http = self._held.enter_context(self.client(WRITER))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()

    def client(self, token: str | None) -> httpx.Client:
        """A client with a token."""
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=WAIT, trust_env=False)

    def sql(self, text: str) -> httpx.Response:
        """Statements, posted."""
        return self.http.post("/v1/statements", json={"sql": text})

    def batch(self, keys: int = 3) -> pa.Table:
        """Two more seconds of rows, and a batch over them, which all listeners know of."""
        number = self.session.latest_manifest().batch + 1
        times = pa.array([(number * 2 * SECOND) + i * SECOND // 5 for i in range(10)], pa.timestamp("us"))
        rows = pa.table({"k": [i % keys for i in range(10)], "v": list(range(10)), "at": times})
        path = self.root / "in" / f"{number}.parquet"
        pq.write_table(rows, path)
        self.session.batch([("s", str(path))])
        assert self.session.runner.audience.told(WAIT)
        return rows

    def get(self, path: str, **query: Any) -> Any:
        """What a path answers, as JSON."""
        answer = self.http.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    @contextmanager
    def events(self, path: str, last: str | None = None) -> Iterator[Iterator[Event]]:
        """Server-sent events, as they come."""
        headers = {"last-event-id": last} if last is not None else {}
        with self.client(WRITER) as client, client.stream("GET", path, headers=headers) as answer:
            assert answer.status_code == 200 and answer.headers["content-type"].startswith(
                "text/event-stream"
            )
            yield parsed(answer.iter_lines())


def parsed(lines: Iterator[str]) -> Iterator[Event]:
    """The events of a text."""
    found: dict[str, str] = {}
    for line in lines:
        if line.startswith(":"):
            continue
        if line:
            key, _, value = line.partition(": ")
            found[key] = value
        elif "data" in found:
            yield Event(found.get("event", ""), found.get("id"), json.loads(found["data"]))
            found = {}
