"""What docs/service.md promises about who may do what, promise by promise."""

from __future__ import annotations

import os
import re
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from service_support import READER, SUMS, WRITER, Served

from thalweg.errors import UsageError
from thalweg.service.limits import Limits, Pace, limits_of
from thalweg.service.server import bound, is_loopback
from thalweg.service.tokens import found, made_token, token_of, tokens_in

OPEN = ("/", "/health", "/ready")
CLOSED = (
    "/v1/queries",
    "/v1/queries/x",
    "/v1/queries/x/results",
    "/v1/queries/x/follow",
    "/v1/streams",
    "/v1/tables",
    "/v1/plan",
    "/v1/plan.svg",
    "/v1/explain",
    "/v1/changes",
    "/v1/status",
    "/v1/batches",
    "/v1/events",
    "/v1/openapi.json",
    "/metrics",
    "/docs",
    "/nothing",
)
STATEMENTS = "/v1/statements"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path) as made:
        yield made


@pytest.mark.parametrize("path", CLOSED)
def test_without_a_token_nothing_is_told(served: Served, path: str) -> None:
    for token in (None, "wrong", WRITER[:-1], ""):
        with served.client(token) as client:
            answer = client.get(path)
            assert answer.status_code == 401 and answer.headers["www-authenticate"] == "Bearer"
            assert answer.json()["error"]["hint"] and "cookie" not in answer.headers


def test_every_route_but_the_probes_and_the_page_is_closed(served: Served) -> None:
    paths = served.get("/v1/openapi.json")["paths"]
    with served.client(None) as client:
        for path, operations in paths.items():
            for method in operations:
                expected = 200 if path in OPEN else 401
                assert (
                    client.request(method, path.replace("{name}", "x"), json={"sql": ""}).status_code
                    == expected
                ), path
        assert client.get("/").status_code == 200
        assert client.post("/").status_code == 401


def test_the_console_is_whole_and_comes_from_here_alone(served: Served) -> None:
    with served.client(None) as client:
        page = client.get("/").text
        named = set(re.findall(r'(?:src|href)="(/console/[^"]+)"', page))
        scripts = [n for n in named if n.endswith(".js")]
        while scripts:
            text = client.get(scripts.pop()).text
            found = set(re.findall(r'from "(/console/[^"]+)"', text)) - named
            named |= found
            scripts += found
            assert "innerHTML" not in text and "eval(" not in text
        assert len(named) >= 9
        for name in named:
            answer = client.get(name)
            assert answer.status_code == 200 and answer.headers["content-type"].split(";")[0] in (
                "text/javascript",
                "text/css",
                "image/svg+xml",
            )
            assert not re.search(r"https?://(?!www\.w3\.org)", answer.text), f"{name} asks elsewhere"
        for name in ("/console/../app.py", "/console/..%2fapp.py", "/console/%2e%2e/app.py", "/console/"):
            assert client.get(name).status_code in (401, 404)


def test_a_token_in_the_address_counts_for_nothing(served: Served) -> None:
    with served.client(None) as client:
        assert client.get(f"/v1/queries?token={WRITER}").status_code == 401
        assert client.get("/v1/queries", headers={"authorization": f"Basic {WRITER}"}).status_code == 401
        assert client.get("/v1/queries", cookies={"token": WRITER}).status_code == 401


def test_a_token_that_may_only_read(served: Served) -> None:
    served.sql(f"CREATE QUERY sums AS {SUMS}")
    with served.client(READER) as client:
        assert client.get("/v1/queries").status_code == 200
        assert client.post("/v1/explain", json={"sql": SUMS}).status_code == 200
        assert client.post("/v1/explain", json={"sql": "DROP QUERY sums"}).status_code == 400
        for refused in (
            client.post(STATEMENTS, json={"sql": "SHOW QUERIES"}),
            client.delete("/v1/queries/sums"),
            client.post("/v1/explain/"),
        ):
            assert refused.status_code == 403 and "may only read" in refused.json()["error"]["message"]
    assert [q["name"] for q in served.get("/v1/queries")] == ["sums"]


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost.evil.example", ""]
)
def test_pages_of_other_origins_may_not_ask(served: Served, origin: str) -> None:
    for path in ("/v1/queries", "/"):
        assert served.http.get(path, headers={"origin": origin}).status_code == 403
    assert (
        served.http.post(STATEMENTS, json={"sql": "SHOW QUERIES"}, headers={"origin": origin}).status_code
        == 403
    )
    assert served.http.get("/v1/queries", headers={"origin": served.url}).status_code == 200
    assert (
        "access-control-allow-origin"
        not in served.http.options("/v1/queries", headers={"origin": served.url}).headers
    )


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8642", "127.0.0.1.evil.example", "", "169.254.169.254", "[::1].evil"],
)
def test_other_names_of_the_host_are_refused(served: Served, host: str) -> None:
    answer = served.http.get("/v1/queries", headers={"host": host})
    assert answer.status_code in (400, 421)
    assert served.http.get("/health", headers={"host": host or "x"}).status_code == 200, (
        "probes may call it anything"
    )


@pytest.mark.parametrize("host", ["localhost", "localhost:9999", "127.0.0.1", "[::1]:1"])
def test_names_of_this_machine_are_taken(served: Served, host: str) -> None:
    assert served.http.get("/v1/queries", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("path", ["/", "/v1/queries", "/nothing", "/health", "/v1/queries/x"])
def test_browsers_are_told_to_be_strict(served: Served, path: str) -> None:
    headers = served.http.get(path).headers
    policy = headers["content-security-policy"]
    assert (
        "default-src 'none'" in policy
        and "unsafe" not in policy
        and "http" not in policy
        and "frame-ancestors 'none'" in policy
    )
    assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store" and "server" not in headers and "set-cookie" not in headers


def outside(served: Served, path: str) -> list[str]:
    """Statements that name a path, one for each way to do so."""
    columns = "(k BIGINT, at TIMESTAMP)"
    return [
        f"CREATE STREAM x {columns} WITH (format = 'csv', path = '{path}', time = 'at')",
        f"CREATE STREAM x {columns} WITH (format = 'csv', path = '{served.root}/in', time = 'at', late_rows = '{path}')",
        f"CREATE STREAM x {columns} WITH (format = 'csv', path = '{served.root}/in', time = 'at', bad_rows = '{path}')",
        f"CREATE TABLE x {columns} WITH (format = 'csv', path = '{path}')",
        f"CREATE QUERY x INTO '{path}' AS {SUMS}",
        f"CREATE OR REPLACE QUERY x INTO '{path}' AS {SUMS}",
        f"SHOW QUERIES; CREATE QUERY x INTO '{path}' AS {SUMS}",
    ]


def paths_outside(root: Path) -> list[str]:
    """Ways to say a path that lies outside of the roots, or is the session's own."""
    (root / "link").symlink_to("/etc")
    (root / "loop").symlink_to(root / "loop")
    up = "../" * len(root.parts)
    run = root / "run"
    return [
        "/etc",
        "/etc/passwd",
        "etc",
        f"{root}/..",
        f"{root}/../x",
        f"{root}/{up}etc",
        f"{root}/in/../../x",
        f"{root}x",
        f"{root}/link",
        f"{root}/link/passwd",
        f"{root}/new/../link/x",
        f"{run}",
        f"{run}/token",
        f"{run}/manifests",
        f"{run}/results",
        f"{run}/results/../state",
        f"{root}/in/../run/changelog/x",
        f"{root}",
        f"{root}/*",
        f"{root}/{{a,b/../../x}}",
        f"{root}/[a]",
    ]


def test_files_outside_of_the_roots_are_never_touched(served: Served) -> None:
    said = [
        *outside(served, "/etc"),
        *(s for path in paths_outside(served.root) for s in outside(served, path)[::3]),
    ]
    for statement in said:
        answer = served.sql(statement)
        assert answer.status_code == 403, (statement, answer.text)
    assert (
        served.get("/v1/queries") == []
        and [s["name"] for s in served.get("/v1/streams")] == ["s"]
        and served.get("/v1/tables") == []
    )
    for into in (served.root / "run" / "results" / "here", served.root / "out"):
        assert served.sql(f"CREATE QUERY {into.name} INTO '{into}' AS {SUMS}").status_code == 200


@pytest.mark.parametrize("target", ["/etc/passwd", "/etc", "run/token", "run/manifests"])
def test_links_in_a_directory_are_followed_too(served: Served, target: str) -> None:
    columns, link = "(k BIGINT, at TIMESTAMP)", served.root / "new" / "deep" / "rows.csv"
    link.parent.mkdir(parents=True)
    declared = (
        f"CREATE STREAM x {columns} WITH (format = 'csv', path = '{served.root}/new', time = 'at')",
        f"CREATE TABLE y {columns} WITH (format = 'csv', path = '{served.root}/new')",
    )
    link.symlink_to(served.root / target)
    for statement in declared:
        answer = served.sql(statement)
        assert answer.status_code == 403 and str(link) in answer.json()["error"]["message"], answer.text
    link.unlink()
    (served.root / "other.csv").write_text("k,at\n1,2024-01-01T00:00:00\n")
    link.symlink_to(served.root / "other.csv")
    assert [served.sql(statement).status_code for statement in declared] == [200, 200], "it stays inside"


@pytest.mark.parametrize(
    "select",
    [
        "SELECT COUNT(*) AS n FROM read_csv('/etc/passwd') GROUP BY TUMBLE '1 second'",
        "SELECT COUNT(*) AS n FROM '/etc/passwd' GROUP BY TUMBLE '1 second'",
        "SELECT COUNT(*) AS n FROM `/etc/passwd` GROUP BY TUMBLE '1 second'",
        "SELECT COUNT(*) AS n, MAX(read_text('/etc/passwd')) AS t FROM s GROUP BY TUMBLE '1 second'",
        "SELECT MAX((SELECT content FROM read_text('/etc/passwd'))) AS t FROM s GROUP BY TUMBLE '1 second'",
        "SELECT MAX(getenv('HOME')) AS t FROM s GROUP BY TUMBLE '1 second'",
        "SELECT MAX(v) AS t FROM s GROUP BY TUMBLE '1 second'; COPY s TO '/tmp/x'",
        "SELECT MAX(v) AS t FROM s GROUP BY TUMBLE '1 second'; ATTACH '/tmp/x'",
        "SELECT MAX(v) AS t FROM s GROUP BY TUMBLE '1 second'; INSTALL httpfs",
        "SELECT MAX(v) AS t FROM s GROUP BY TUMBLE '1 second'; SET home_directory = '/etc'",
    ],
)
def test_functions_and_commands_of_the_engine_read_no_files(served: Served, select: str) -> None:
    answer = served.sql(f"CREATE QUERY x AS {select}")
    assert answer.status_code == 400 and answer.json()["error"]["message"], answer.text
    assert served.http.post("/v1/explain", json={"sql": select}).status_code == 400


def test_a_defect_tells_a_number_and_nothing_else(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(text: str) -> None:
        raise RuntimeError("secret words")

    monkeypatch.setattr(served.service, "run", broken)
    answer = served.sql("SHOW QUERIES")
    assert (
        answer.status_code == 500
        and "secret" not in answer.text
        and "internal error" in answer.json()["error"]["message"]
    )
    assert answer.headers["content-security-policy"] and served.get("/health") == {"status": "ok"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'{"sql": 1}',
        b'{"sq": ""}',
        b'{"sql": "\xff"}',
        b'{"sql": "SHOW \\ud800"}',
        b"null",
        b"[" * 20_000,
    ],
)
def test_malformed_requests(served: Served, body: bytes) -> None:
    answer = served.http.post(STATEMENTS, content=body, headers={"content-type": "application/json"})
    assert 400 <= answer.status_code < 500 and answer.json()["error"]["message"], answer.text


def test_a_request_that_is_too_large(tmp_path: Path) -> None:
    with Served(tmp_path, Limits(bytes=1000)) as served:
        answer = served.sql("SHOW QUERIES" + " " * 1000)
        assert answer.status_code == 413 and "--limit bytes" in answer.json()["error"]["hint"]
        parts = (b" " * 100 for _ in range(1000))
        assert served.http.post(STATEMENTS, content=parts).status_code == 413, "nor in pieces"
        assert served.sql("SHOW QUERIES").status_code == 200


def test_a_request_that_does_not_come_whole(tmp_path: Path) -> None:
    with (
        Served(tmp_path, Limits(seconds=3)) as served,
        socket.create_connection(("127.0.0.1", served.server.port)) as slow,
    ):
        head = f"POST {STATEMENTS} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {WRITER}\r\nContent-Length: 100\r\n\r\n{{"
        slow.sendall(head.encode())
        assert served.sql("SHOW QUERIES").status_code == 200, "others need not wait"
        slow.settimeout(60)
        assert slow.recv(1000).startswith(b"HTTP/1.1 408")


def test_too_many_rows_queries_followers_requests(tmp_path: Path) -> None:
    with Served(tmp_path, Limits(rows=10, queries=2, followers=1)) as served:
        served.sql(f"CREATE QUERY a AS {SUMS}; CREATE QUERY b AS {SUMS}")
        for asked in ({"limit": 11}, {"last": 11}):
            assert (
                "at most 10" in served.http.get("/v1/queries/a/results", params=asked).json()["error"]["hint"]
            )
        many = served.sql(f"CREATE QUERY c AS {SUMS}")
        assert many.status_code == 409 and "--limit queries" in many.json()["error"]["hint"]
        assert served.sql(f"CREATE OR REPLACE QUERY b AS {SUMS}").status_code == 200, (
            "one in the place of another is no more"
        )
        with served.events("/v1/queries/a/follow") as events:
            next(events)
            refused = served.http.get("/v1/events")
            assert refused.status_code == 429 and refused.headers["retry-after"]


def test_too_many_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thalweg.service.gate.Pace", lambda rate: Pace(rate, clock=lambda: 0.0))
    with Served(tmp_path, Limits(requests=3)) as served, served.client(None) as other:
        answers = [other.get("/v1/queries").status_code for _ in range(9)]
        assert answers == [401] * 6 + [429] * 3, "guessing tokens is slow, too"
        assert (
            served.http.get("/v1/queries").json()["error"]["hint"].startswith("at most 3 requests a second")
        )
        assert served.get("/health") == {"status": "ok"}


def test_tokens_are_in_files_for_one_user(tmp_path: Path) -> None:
    path = tmp_path / "token"
    text = made_token(path)
    assert len(text) >= 40 and stat.S_IMODE(path.stat().st_mode) == 0o600 and made_token(path) == text
    assert made_token(tmp_path / "other") != text
    listed = tmp_path / "tokens"
    listed.write_text("# ours\nabcdefghijklmnop\n\nponmlkjihgfedcba read-only  # for Prometheus\n")
    listed.chmod(0o640)
    with pytest.raises(UsageError, match="others may read"):
        tokens_in(listed)
    listed.chmod(0o600)
    tokens = tokens_in(listed)
    assert [t.reads_only for t in tokens] == [False, True] and "abcdefghijklmnop" not in repr(tokens)
    assert (
        found("ponmlkjihgfedcba", tokens) == tokens[1]
        and found("ponmlkjihgfedcb", tokens) is None
        and found("", (token_of("x"),)) is None
    )
    for wrong in ("short\n", "abcdefghijklmnop write\n", "\n# none\n"):
        listed.write_text(wrong)
        with pytest.raises(UsageError):
            tokens_in(listed)


def test_addresses_and_limits_that_are_none(tmp_path: Path) -> None:
    with bound("127.0.0.1", 0) as taken, pytest.raises(UsageError, match="can't listen"):
        bound("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(UsageError):
        bound("no.such.host.invalid", 0)
    assert is_loopback("127.0.0.1") and is_loopback("::1") and not is_loopback("0.0.0.0")
    for wrong in ("queries", "queries=x", "queries=0", "query=1", "queries=-1"):
        with pytest.raises(UsageError, match="not a limit"):
            limits_of([wrong])


def test_the_session_directory_is_for_its_user_alone(served: Served) -> None:
    made_token(served.root / "run" / "token")
    assert not os.stat(served.root / "run").st_mode & 0o077  # noqa: PTH116
