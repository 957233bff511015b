"""Rows pushed to a service over HTTP: how many a second are acknowledged, and how soon batches on Spark have read them.

    python -m benchmarks.push [--seconds 10] [--clients 2] [--rows 5000] [--cores 2]

The service, Spark and the clients are on this machine. One query counts the rows; each round has a service of its own, and its first
seconds, in which Spark starts, are not measured.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import quantiles
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa

from thalweg.client.remote import KINDS, RemoteSession, connect

START = 120.0
STREAM = (
    "CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, at TIMESTAMP) "
    "WITH (format = 'push', time = 'at', watermark = '5 seconds', keep = '0 seconds');"
)
QUERY = "CREATE QUERY counts AS SELECT auction, window_end, COUNT(*) AS n, MAX(price) AS high FROM bid GROUP BY auction, TUMBLE '10 seconds'"
RATE = 100_000
"""Rows a second of event time."""


@dataclass(frozen=True)
class Asked:
    """How much is pushed: for so long, by so many clients, in requests of so many rows; how many cores Spark has."""

    seconds: float = 10.0
    clients: int = 2
    rows: int = 5_000
    cores: int = 2


@dataclass
class Pushed:
    """What clients have seen."""

    rows: int = 0
    bytes: int = 0
    refused: int = 0
    times: list[float] = field(default_factory=list)


def main() -> None:
    """Print a line a format."""
    asked = argparse.ArgumentParser(description=__doc__)
    for name, kind in (("seconds", float), ("clients", int), ("rows", int), ("cores", int)):
        asked.add_argument(f"--{name}", type=kind, default=getattr(Asked(), name))
    given = Asked(**vars(asked.parse_args()))
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores before the start")
    for form in ("arrow", "json", "csv"):
        print(measured(form, given))


def measured(form: str, asked: Asked) -> str:
    """Rows of one format through a service of its own."""
    with tempfile.TemporaryDirectory() as root, serving(Path(root), asked.cores) as session:
        session.sql(STREAM + QUERY)
        session.push("bid", rows_at(0, 100))
        _wait(lambda: session.status_data()["rows"] >= 100, START)
        found, began = pushed(session, form, asked), time.monotonic()
        _wait(lambda: session.status_data()["rows"] >= found.rows + 100, START)
        behind, read = time.monotonic() - began, session.status_data()["rows"] - 100
    ticks = quantiles(found.times, n=100)
    said = f"{form:>5}: {found.rows / asked.seconds:>9,.0f} rows/s, {found.bytes / asked.seconds / 1e6:6.1f} MB/s acknowledged"
    return (
        f"{said} ({asked.clients} clients, {asked.rows:,} rows a request: median {ticks[49] * 1e3:.0f} ms, 99 % {ticks[98] * 1e3:.0f} ms, "
        f"{found.refused} held back); all {read:,} read {behind:.1f} s after the last"
    )


def pushed(session: RemoteSession, form: str, asked: Asked) -> Pushed:
    """All clients at once, until the time is up."""
    found, end, lock = Pushed(), time.monotonic() + asked.seconds, threading.Lock()

    def client(number: int) -> None:
        where = urlsplit(session._wire.url)
        line = http.client.HTTPConnection(where.hostname or "", where.port, timeout=60)
        for turn, body in enumerate(_bodies(form, asked, number)):
            began = time.monotonic()
            if began > end:
                return
            status = _post(line, session, form, body, f"{number}-{turn}")
            with lock:
                found.times.append(time.monotonic() - began)
                found.refused += status == 429
                found.rows += asked.rows * (status == 200)
                found.bytes += len(body) * (status == 200)
            if status == 429:
                time.sleep(1)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(asked.clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def _post(line: http.client.HTTPConnection, session: RemoteSession, form: str, body: bytes, id: str) -> int:
    headers = {"authorization": f"Bearer {session._wire.token}", "content-type": KINDS[form]}
    line.request("POST", f"/v1/streams/bid/rows?id={id}", body, headers)
    answer = line.getresponse()
    said = answer.read()
    if answer.status not in (200, 429):
        raise RuntimeError(f"{answer.status} {said.decode()}")
    return answer.status


MADE = 8
"""Bodies that are made before, and sent again and again under other ids."""


def _bodies(form: str, asked: Asked, number: int) -> Iterator[bytes]:
    """Bodies without end; the event time of all goes on within a few seconds, so that none are late."""
    made = [
        encoded(form, rows_at((turn * asked.clients + number) * asked.rows, asked.rows))
        for turn in range(MADE)
    ]
    while True:
        yield from made


def rows_at(first: int, count: int) -> pa.Table:
    """Rows from a number on."""
    numbers = pa.array(range(first, first + count))
    ticks = pa.array([n * (1_000_000 // RATE) for n in range(first, first + count)], pa.timestamp("us"))
    return pa.table(
        {
            "auction": pa.array([n % 1_000 for n in range(first, first + count)]),
            "bidder": numbers,
            "price": pa.array([n * 37 % 100_000 for n in range(first, first + count)]),
            "channel": pa.array([f"channel-{n % 10}" for n in range(first, first + count)]),
            "at": ticks,
        }
    )


def encoded(form: str, rows: pa.Table) -> bytes:
    """Rows as a body."""
    if form == "arrow":
        made = pa.BufferOutputStream()
        with pa.ipc.new_stream(made, rows.schema) as writer:
            writer.write_table(rows)
        return bytes(made.getvalue().to_pybytes())
    dicts = [{**row, "at": row["at"].isoformat()} for row in rows.to_pylist()]
    if form == "json":
        return "\n".join(map(json.dumps, dicts)).encode()
    return "\n".join([",".join(rows.column_names), *(",".join(map(str, d.values())) for d in dicts)]).encode()


@contextmanager
def serving(root: Path, cores: int) -> Iterator[RemoteSession]:
    """A service over an empty directory, as its user starts it."""
    said, command = root / "said", [sys.executable, "-m", "thalweg", "serve", "--dir", "run", "--port", "0"]
    asked = ["--limit", "requests=10000", "--master", f"local[{cores}]"]
    with said.open("w") as output:
        process = subprocess.Popen([*command, *asked], cwd=root, stdout=output, stderr=subprocess.STDOUT)
    try:
        link: list[Any] = []

        def is_up() -> bool:
            link[:] = re.findall(r"at (http://\S+)", said.read_text())
            return bool(link) or process.poll() is not None

        _wait(is_up, START)
        if not link:
            raise RuntimeError(said.read_text())
        yield connect(link[0])
    finally:
        process.terminate()
        process.wait(60)


def _wait(is_so: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError(f"nothing within {seconds:g} s, at {datetime.now(UTC):%H:%M:%S}")
        time.sleep(0.05)


if __name__ == "__main__":
    main()
