"""What a read need not wait for: Spark, locks of statements, planning, files that were read before. And what is done once for many."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from service_support import SUMS, WRITER, Served

from thalweg.api.results import ResultFile
from thalweg.api.running import Running
from thalweg.engine.chronicle import Chronicle
from thalweg.service import planned
from thalweg.service.limits import Limits
from thalweg.service.protocol import MOST

READS = (
    "/v1/queries",
    "/v1/queries/sums",
    "/v1/queries/sums/results",
    "/v1/queries/sums/results?last=3&format=csv",
    "/v1/streams",
    "/v1/tables",
    "/v1/views",
    "/v1/costs",
    "/v1/changes",
    "/v1/batches",
    "/v1/status",
    "/metrics",
    "/ready",
    "/health",
)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path) as made:
        made.sql(f"CREATE QUERY sums AS {SUMS}")
        made.batch()
        yield made


@contextmanager
def held(lock: Any) -> Iterator[None]:
    """A lock that another thread has meanwhile."""
    has_it, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            has_it.set()
            go_on.wait(120)

    holder = threading.Thread(target=hold)
    holder.start()
    assert has_it.wait(60)
    try:
        yield
    finally:
        go_on.set()
        holder.join()


def test_reads_wait_neither_for_spark_nor_for_statements_nor_for_planning(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(*_: Any) -> Any:
        raise AssertionError("this takes its time")

    def explained(**named: Any) -> Any:
        plans.append(named)
        return real(**named)

    plans, real = list[Any](), served.session.explain

    for path in READS:
        served.http.get(path)
    served.service.keep_running()
    monkeypatch.setattr(planned, "LASTS", 0.0)
    monkeypatch.setattr(served.session, "explain", explained)
    monkeypatch.setattr(Chronicle, "settle", asked)
    monkeypatch.setattr(Running, "status", property(asked))
    monkeypatch.setattr(Running, "error", property(asked))
    monkeypatch.setattr(ResultFile, "read", asked)
    with held(served.session._declarations.lock), held(served.service.planned._turn):
        plans.clear()
        answers = {path: served.http.get(path).status_code for path in READS}
        assert not plans
    assert answers == dict.fromkeys(READS, 200) | {"/ready": 503}


def test_what_is_declared_and_what_a_batch_did_is_told_at_once(served: Served) -> None:
    assert [q["name"] for q in served.get("/v1/queries")] == ["sums"]
    served.sql(f"CREATE QUERY more AS {SUMS}")
    assert [q["name"] for q in served.get("/v1/queries")] == ["sums", "more"]
    assert {c["name"] for c in served.get("/v1/costs")} == {"sums", "more"}
    assert served.get("/v1/queries/more")["cost"] and served.get("/v1/status")["queries"] == 2
    before = served.get("/v1/status")["rows"]
    served.batch()
    assert served.get("/v1/status")["rows"] == before + 10
    assert f'thalweg_stream_rows_total{{stream="s"}} {before + 10}' in served.http.get("/metrics").text


def test_a_query_of_another_creation_is_explained_anew(served: Served) -> None:
    first = served.get("/v1/queries/sums")["nodes"]
    served.sql(f"ALTER QUERY sums AS {SUMS.replace('1 second', '7 seconds')}")
    found = served.get("/v1/queries/sums")["nodes"]
    assert {n["what"] for n in first} == {"s, 1 second"} and "s, 7 seconds" in {n["what"] for n in found}


def test_many_who_ask_for_the_plan_at_once_have_it_made_once(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, real = list[float](), served.session.explain

    def slow(*args: Any, **named: Any) -> Any:
        made.append(time.monotonic())
        time.sleep(0.5)
        return real(*args, **named)

    served.sql(f"CREATE QUERY more AS {SUMS}")
    monkeypatch.setattr(served.session, "explain", slow)
    found = list[int]()
    paths = ("/v1/plan", "/v1/queries/more", "/v1/costs", "/v1/explain", "/v1/queries/more")
    clients = [
        threading.Thread(target=lambda p=p: found.append(served.http.get(p).status_code)) for p in paths
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert found == [200] * len(paths) and len(made) == 1


def test_files_are_read_once_for_all(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    read, real = list[Path](), ResultFile.read

    def counted(file: ResultFile, query: str) -> pa.Table | None:
        read.append(file.path)
        return real(file, query)

    monkeypatch.setattr(ResultFile, "read", counted)
    path = "/v1/queries/sums/results"
    for _ in range(3):
        served.batch()
        for asked in ("", "?last=2", "?format=csv", "?format=arrow", "?after=0"):
            assert served.http.get(path + asked).status_code == 200
    assert len(read) == len(set(read)) >= 4


def test_rows_of_earlier_batches_are_followed_as_they_are_found(tmp_path: Path) -> None:
    with Served(tmp_path, logged=True) as served:
        served.sql(f"CREATE QUERY other AS {SUMS}")
        for _ in range(6):
            served.batch()
        served.sql(f"CREATE QUERY sums WITH (history = 'all') AS {SUMS}")
        found, after = list[Any](), "-1"
        with served.events("/v1/queries/sums/follow?after=-1") as events:
            assert next(events).name == "columns"
            for _ in range(2):
                page = served.get("/v1/queries/sums/results", after=after)
                found, after = found + page["rows"], page["next"]
                assert served.session.replay(1) == 1
            followed = next(events).data["rows"]
            served.session.replay()
            served.batch()
            served.http.delete("/v1/queries/sums")
            served.batch()
            while (event := next(events)).name != "end":
                followed += event.data["rows"]
        found += served.get("/v1/queries/sums/results", after=after)["rows"]
        whole = served.get("/v1/queries/sums/results")["rows"]
        assert len(whole) > 30 and sorted(found) == sorted(whole) == sorted(followed)


@pytest.mark.parametrize(
    "text",
    [
        b"GET /" + b"a" * 10_000_000,
        b"GET / HTTP/1.1\r\nx: " + b"a" * 10_000_000,
        b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 2_000_000,
    ],
    ids=["address", "header", "headers"],
)
def test_a_head_without_end_is_cut(served: Served, text: bytes) -> None:
    with socket.create_connection(("127.0.0.1", served.server.port)) as line:
        line.settimeout(60)
        sent = 0
        try:
            while sent < len(text):
                sent += line.send(text[sent : sent + MOST])
        except OSError:
            pass
        assert sent < len(text)
    assert served.get("/health") == {"status": "ok"}


def test_headers_after_a_body_without_end_are_cut(served: Served) -> None:
    head = b"POST /v1/statements HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    with socket.create_connection(("127.0.0.1", served.server.port)) as line:
        line.settimeout(60)
        with pytest.raises(OSError):
            line.sendall(head)
            for _ in range(500):
                line.sendall(b"x: y\r\n" * 10_000)


def test_a_head_that_does_not_come_whole_is_cut(tmp_path: Path) -> None:
    with (
        Served(tmp_path, Limits(seconds=1)) as served,
        socket.create_connection(("127.0.0.1", served.server.port)) as silent,
        socket.create_connection(("127.0.0.1", served.server.port)) as slow,
    ):
        slow.sendall(
            f"GET /v1/queries HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {WRITER}".encode()
        )
        for line in (slow, silent):
            line.settimeout(60)
            assert line.recv(1000) == b""
        assert served.get("/health") == {"status": "ok"}
