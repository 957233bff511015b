"""Rows pushed over HTTP: every format, once by their id, refused with their place, held back where too much waits."""

from __future__ import annotations

import io
import json
import random
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from service_support import READER, WRITER, Served

import thalweg
from thalweg.cli.push import push_file
from thalweg.engine.kernel.pushing import BadRows, rows_of
from thalweg.errors import Backlog, DataError, UsageError
from thalweg.service.limits import Limits
from thalweg.sql.statements import parse_statement

PUSHED = (
    "CREATE STREAM p (k BIGINT, v DOUBLE, d DECIMAL(10,2), t STRING, at TIMESTAMP) "
    "WITH (format = 'push', time = 'at', watermark = '1 second')"
)
COUNTS = "CREATE QUERY counts AS SELECT k, window_end, COUNT(*) AS n, SUM(d) AS d FROM p GROUP BY k, TUMBLE '1 second'"
JSON, CSV, ARROW = "application/x-ndjson", "text/csv", "application/vnd.apache.arrow.stream"
ROWS = "/v1/streams/p/rows"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path) as made:
        made.sql(PUSHED)
        yield made


def row(k: int, second: float) -> dict[str, Any]:
    return {"k": k, "v": k / 2, "d": "1.25", "t": "a,b", "at": f"2024-01-01T00:00:{second:09.6f}Z"}


def lines(rows: list[dict[str, Any]]) -> bytes:
    return "\n".join(map(json.dumps, rows)).encode()


def as_csv(rows: list[dict[str, Any]]) -> bytes:
    body = "".join(f'{r["at"]},{r["k"]},{r["v"]},{r["d"]},"{r["t"]}"\n' for r in rows)
    return f"at,k,v,d,t\n{body}".encode()


def table(rows: list[dict[str, Any]], unit: str = "us") -> pa.Table:
    times = pa.array([r["at"] for r in rows]).cast(pa.timestamp("us", "UTC")).cast(pa.timestamp(unit))
    decimals = pa.array([r["d"] for r in rows]).cast(pa.decimal128(10, 2))
    columns = {name: [r[name] for r in rows] for name in ("k", "v", "t")}
    return pa.table({**columns, "d": decimals, "at": times})


def ipc(rows: pa.Table) -> bytes:
    made = io.BytesIO()
    with pa.ipc.new_stream(made, rows.schema) as writer:
        writer.write_table(rows)
    return made.getvalue()


def post(served: Served, body: bytes, kind: str = JSON, **more: Any) -> httpx.Response:
    return served.http.post(ROWS, content=body, headers={"content-type": kind}, **more)


def kept(served: Served) -> pa.Table:
    """All rows that were taken."""
    folder = served.root / "run" / "inbox" / "p"
    files = [f for f in sorted(folder.iterdir()) if not f.name.startswith(".")]
    return pa.concat_tables(pq.read_table(f).replace_schema_metadata(None) for f in files)


def read(served: Served) -> None:
    """A batch over all that was pushed."""
    folder = served.root / "run" / "inbox" / "p"
    served.session.batch([("p", str(f)) for f in sorted(folder.glob("*.parquet"))])
    assert served.session.runner.audience.told(60)


def test_every_format_gives_the_same_rows(served: Served) -> None:
    rows = [row(k, k / 4) for k in range(8)]
    bodies = (
        (lines(rows), JSON),
        (as_csv(rows), CSV),
        (ipc(table(rows)), ARROW),
        (ipc(table(rows, "ns")), ARROW),
    )
    for body, kind in bodies:
        answer = post(served, body, kind)
        assert answer.status_code == 200 and answer.json() == {"stream": "p", "rows": 8, "new": True}, (
            answer.text
        )
    found = kept(served)
    assert found.num_rows == 32 and found.slice(0, 8).equals(found.slice(8, 8))
    assert found.slice(0, 8).equals(found.slice(16, 8)) and found.slice(0, 8).equals(found.slice(24, 8))
    assert next(s for s in served.get("/v1/streams") if s["name"] == "p")["waiting"] > 0


def test_pushed_rows_are_what_queries_count(served: Served) -> None:
    served.sql(COUNTS)
    post(served, lines([row(1, 0.5), row(1, 0.75), row(2, 0.5)]))
    post(served, lines([row(1, 3.0)]))
    read(served)
    answer = served.get("/v1/queries/counts/results")
    names = [c["name"] for c in answer["columns"]]
    found = {r[names.index("k")]: (r[names.index("n")], r[names.index("d")]) for r in answer["rows"]}
    assert found == {1: (2, "2.50"), 2: (1, "1.25")}


@pytest.mark.parametrize("way", ["header", "address"])
def test_rows_of_one_id_are_taken_once(served: Served, way: str) -> None:
    for sent in range(3):
        more: dict[str, Any] = {"params": {"id": "one"}} if way == "address" else {}
        headers = {"content-type": JSON, **({"idempotency-key": "one"} if way == "header" else {})}
        answer = served.http.post(ROWS, content=lines([row(1, 1)]), headers=headers, **more)
        assert answer.json() == {"stream": "p", "rows": 1, "new": sent == 0}
    assert kept(served).num_rows == 1
    differ = served.http.post(
        f"{ROWS}?id=a", content=b"{}", headers={"content-type": JSON, "idempotency-key": "b"}
    )
    assert differ.status_code == 400


def test_many_at_once_with_the_same_ids(served: Served) -> None:
    def pushed(number: int) -> bool:
        with served.client(WRITER) as client:
            body = lines([row(number % 8, 1)])
            answer = client.post(f"{ROWS}?id=n{number % 8}", content=body, headers={"content-type": JSON})
            return bool(answer.json()["new"])

    with ThreadPoolExecutor(12) as threads:
        new = list(threads.map(pushed, range(48)))
    assert sum(new) == 8 and sorted(kept(served)["k"].to_pylist()) == list(range(8))


BAD: tuple[tuple[bytes, str, str], ...] = (
    (b'{"k": "x", "at": "2024-01-01T00:00:00"}', JSON, "row 1: x in column k is no BIGINT"),
    (b'{"k": 1, "at": "2024-01-01T00:00:00"}\n{"k": 1.5, "at": "2024-01-01T00:00:00"}', JSON, "row 2: 1.5 in column k"),
    (b'{"k": 1}', JSON, "row 1: has no at"),
    (b'{"k": 1, "at": "2024-01-01T00:00:00"}\n{"k": 1, "at": null}', JSON, "row 2: has no at"),
    (b'{"k": 1, "at": "yesterday"}', JSON, "yesterday"),
    (b"[1, 2]", JSON, "one JSON object a line"),
    (b"nonsense", JSON, ""),
    (b"\xff\xfe", JSON, ""),
    (b"", JSON, "empty"),
    (b"", CSV, "empty"),
    (b"k,at\n1,2024-01-01", CSV, "it has no column"),
    (b"k,v,d,t,at\n1,1,1,a,2024-01-01T00:00:00\nx,1,1,a,2024-01-01T00:00:00", CSV, "row 2: x in column k"),
    (b"k,v,d,t,at\n1,1,1", CSV, "line 2"),
    (b"k,v,d,t,at\n1,1,1.234,a,2024-01-01T00:00:00", CSV, "1.234 in column d"),
    (b"nonsense", ARROW, "no Arrow"),
    (b"", ARROW, "no Arrow"),
    (ipc(pa.table({"k": [1]})), ARROW, "it has no column v"),
    (ipc(pa.table({"k": ["a"], "v": [1.0], "d": [1], "t": ["a"], "at": [1]})), ARROW, "column k is string"),
)  # fmt: skip


@pytest.mark.parametrize(("body", "kind", "said"), BAD)
def test_bad_rows_are_refused_with_their_place_and_nothing_is_taken(
    served: Served, body: bytes, kind: str, said: str
) -> None:
    answer = post(served, body, kind, params={"id": "bad"})
    error = answer.json()["error"]
    assert answer.status_code == 422 and said in error["message"] and "nothing of it" in error["hint"], error
    assert str(served.root) not in answer.text and "Traceback" not in answer.text
    assert not list((served.root / "run" / "inbox" / "p").glob("*.parquet"))
    assert not list((served.root / "run" / "pushing").glob("*.*")), "what was looked at is gone"
    assert post(served, lines([row(1, 1)]), params={"id": "bad"}).json()["new"], "the id is still free"


def test_the_first_bad_rows_are_listed(served: Served) -> None:
    rows = [{**row(i, 1), "k": "x" if i % 2 else i} for i in range(100)]
    error = post(served, lines(rows)).json()["error"]
    assert error["bad_rows"] == 50 and len(error["rows"]) == 20
    assert error["rows"][1] == {"place": "row 4", "column": "k", "value": "x", "reason": "is no BIGINT"}


def test_what_is_no_stream_of_pushed_rows(served: Served) -> None:
    headers = {"content-type": JSON}
    other = served.http.post("/v1/streams/s/rows", content=lines([row(1, 1)]), headers=headers)
    assert other.status_code == 409 and "format = 'push'" in other.json()["error"]["hint"]
    assert served.http.post("/v1/streams/none/rows", content=b"", headers=headers).status_code == 404
    assert served.http.get(ROWS).status_code == 405
    for kind in ("application/xml", "", "text/plain"):
        assert post(served, b"x", kind).status_code == 415
    packed = served.http.post(ROWS, content=b"x", headers={**headers, "content-encoding": "gzip"})
    assert packed.status_code == 415
    assert post(served, lines([row(1, 1)]), params={"id": "x" * 201}).status_code == 409


def test_too_much_that_waits_is_refused_until_it_is_read(tmp_path: Path) -> None:
    with Served(tmp_path, Limits(waiting=3_000, pushed=100_000)) as served:
        served.session._logged = True
        served.sql(f"{PUSHED}; {COUNTS}")
        body, taken = lines([row(i, i / 50) for i in range(20)]), 0
        while (answer := post(served, body)).status_code == 200:
            taken += 1
        assert 1 <= taken < 5 and answer.status_code == 429 and int(answer.headers["retry-after"]) > 0
        assert "wait to be read" in answer.json()["error"]["message"]
        assert 'thalweg_stream_waiting_bytes{stream="p"}' in served.http.get("/metrics").text
        read(served)
        assert post(served, body).status_code == 200
        large = post(served, b" " * 100_001)
        assert large.status_code == 413 and "--limit pushed" in large.json()["error"]["hint"]
        assert post(served, b"\n" * 1_000_000, "text/csv").status_code == 413


def test_who_may_only_read_pushes_nothing(served: Served) -> None:
    for token, status in ((READER, 403), (None, 401), ("wrong", 401)):
        with served.client(token) as client:
            answer = client.post(ROWS, content=lines([row(1, 1)]), headers={"content-type": JSON})
            assert answer.status_code == status
    strange = {"content-type": JSON, "origin": "https://evil.example"}
    assert served.http.post(ROWS, content=lines([row(1, 1)]), headers=strange).status_code == 403
    assert not list((served.root / "run" / "inbox" / "p").glob("*.parquet"))


def test_from_python(served: Served) -> None:
    session = thalweg.connect(served.url, WRITER)
    rows = [row(1, 1), row(2, 2)]
    assert session.push("p", rows, id="a") == session.push("p", table(rows), id="b")
    assert not session.push("p", rows, id="a").is_new and session.push("p", table(rows).to_pandas()).is_new
    assert kept(served).num_rows == 6
    with pytest.raises(DataError, match="row 1: x in column k"):
        session.push("p", [{**row(1, 1), "k": "x"}])
    with pytest.raises(UsageError, match="can't push dict"):
        session.push("p", {"k": 1})
    with pytest.raises(UsageError, match="no stream q"):
        session.push("q", rows)


def test_a_client_hears_of_a_backlog(tmp_path: Path) -> None:
    with Served(tmp_path, Limits(waiting=1)) as served:
        served.sql(PUSHED)
        session = thalweg.connect(served.url, WRITER)
        session.push("p", [row(1, 1)])
        with pytest.raises(Backlog) as refused:
            session.push("p", [row(1, 1)])
        assert refused.value.seconds > 0


def test_damaged_bodies_are_refused_and_never_a_defect(tmp_path: Path) -> None:
    rng, body = random.Random("damage"), ipc(table([row(k, k) for k in range(9)]))
    stream = parse_statement(PUSHED).stream  # type: ignore[union-attr]
    for _ in range(400):
        damaged = bytearray(body)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            found = rows_of(
                stream, "arrow", bytes(damaged[: rng.choice([None, rng.randrange(len(body))])]), tmp_path
            )
            assert found.validate(full=True) is None and found.schema.names == [
                c.name for c in stream.columns
            ]
        except BadRows as e:
            assert e.message and e.hint


@pytest.mark.parametrize("name", ["..", "../s", "..%2fs", "%2e%2e%2f%2e%2e%2fetc", "p%00", "'", "p rows"])
def test_a_name_is_no_path(served: Served, name: str) -> None:
    answer = served.http.post(
        f"/v1/streams/{name}/rows", content=lines([row(1, 1)]), headers={"content-type": JSON}
    )
    assert answer.status_code in (404, 405) and "Traceback" not in answer.text
    assert not [f for f in (served.root / "run" / "inbox").rglob("*.parquet") if f.parent.name != "p"]
    assert served.sql(PUSHED.replace("STREAM p", f"STREAM `{name}`")).status_code == 400


def test_where_pushed_rows_lie_is_the_sessions_own(served: Served) -> None:
    for path in ("inbox", "inbox/p", "pushing"):
        columns = "(k BIGINT, at TIMESTAMP)"
        named = f"CREATE STREAM x {columns} WITH (format = 'parquet', path = '{served.root}/run/{path}', time = 'at')"
        assert served.sql(named).status_code == 403


def test_rows_that_come_too_slowly_or_by_another_name(tmp_path: Path) -> None:
    with Served(tmp_path, Limits(seconds=2)) as served:
        served.sql(PUSHED)
        with socket.create_connection(("127.0.0.1", served.server.port)) as slow:
            head = f"POST {ROWS} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {WRITER}\r\n"
            slow.sendall(f"{head}Content-Type: {JSON}\r\nContent-Length: 100000\r\n\r\n{{".encode())
            assert post(served, lines([row(1, 1)])).status_code == 200, "others need not wait"
            slow.settimeout(60)
            assert slow.recv(1000).startswith(b"HTTP/1.1 408")
        strange = {"content-type": JSON, "host": "evil.example"}
        assert served.http.post(ROWS, content=lines([row(1, 1)]), headers=strange).status_code == 421
        assert kept(served).num_rows == 1


def test_more_on_their_way_than_memory_has_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thalweg.service.gate.AT_ONCE", 1)
    with Served(tmp_path, Limits(pushed=50_000, seconds=30)) as served:
        served.sql(PUSHED)
        with socket.create_connection(("127.0.0.1", served.server.port)) as first:
            head = f"POST {ROWS} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {WRITER}\r\n"
            first.sendall(
                f"{head}Content-Type: {JSON}\r\nContent-Length: 50000\r\n\r\n".encode() + b"\n" * 49_000
            )
            body = lines([row(k, 1) for k in range(100)])
            while (answer := post(served, body)).status_code == 200:
                time.sleep(0.02)
            assert answer.status_code == 429 and answer.headers["retry-after"] == "1"
        while post(served, body).status_code == 429:
            time.sleep(0.02)
        assert post(served, body).status_code == 200, "who has gone needs no room"


def test_who_follows_and_takes_nothing_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thalweg.service.following.SLOW", 1.0)
    with Served(tmp_path, Limits(followers=1)) as served:
        served.sql(f"{PUSHED}; CREATE QUERY texts AS SELECT t, at FROM p")
        with socket.create_connection(("127.0.0.1", served.server.port)) as idle:
            idle.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            head = f"GET /v1/queries/texts/follow?after=-1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {WRITER}\r\n\r\n"
            idle.sendall(head.encode())
            post(served, lines([{**row(1, 1), "t": "x" * 12_000_000}]))
            read(served)
            deadline = time.monotonic() + 60
            while served.http.get("/v1/status").status_code == 200 and served.service._followers:
                assert time.monotonic() < deadline, "still followed"
                time.sleep(0.1)
        with served.events("/v1/queries/texts/follow") as events:
            assert next(events).name == "columns"


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_files_are_pushed_by_command(
    served: Served, form: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thalweg.cli.push.PIECE", 500)
    monkeypatch.setattr("thalweg.cli.push.ROWS", 4)
    rows, session, path = (
        [row(k, k) for k in range(9)],
        thalweg.connect(served.url, WRITER),
        served.root / f"f.{form}",
    )
    if form == "parquet":
        pq.write_table(table(rows), path)
    else:
        path.write_bytes((lines if form == "jsonl" else as_csv)(rows) + b"\n")
    for said in ("9 rows pushed to p", "0 rows pushed to p, 9 were there already"):
        push_file(session, "p", str(path), None, "one")
        assert capsys.readouterr().out.strip() == said
    assert sorted(kept(served)["k"].to_pylist()) == list(range(9))
    for wrong in (served.root / "none.csv", served.root / "none.txt", served.root / "none.parquet"):
        with pytest.raises(UsageError, match=wrong.name):
            push_file(session, "p", str(wrong), None, None)
