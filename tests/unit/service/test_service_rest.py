"""REST over a session: statements, queries, streams, the plan, status, metrics."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from service_support import SUMS, Served

from thalweg.testing.local import LocalSession


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path) as made:
        yield made


def test_a_query_from_its_creation_to_its_end(served: Served) -> None:
    made = served.sql(f"CREATE QUERY sums AS {SUMS}; SHOW QUERIES").json()["outcomes"]
    assert [o["outcome"] for o in made] == ["created", "listing"]
    assert made[0] == {
        "outcome": "created",
        "query": "sums",
        "results": str(served.root / "run/results/sums"),
        "replaced": False,
        "history": "",
        "notice": "",
    }
    served.batch()
    served.batch()
    (listed,) = served.get("/v1/queries")
    assert (listed["name"], listed["epoch"], listed["begins"], listed["streams"]) == (
        "sums",
        0,
        {"s": None},
        ["s"],
    )
    assert listed["rows"] == sum(listed["recent"]) == len(served.get("/v1/queries/sums/results")["rows"]) > 0
    assert [c["name"] for c in listed["columns"]] == ["k", "window_end", "total", "n"] and listed[
        "sql"
    ] == SUMS
    detail = served.get("/v1/queries/sums")
    assert detail["query"]["name"] == "sums" and detail["cost"]["cost"] > 0
    assert detail["state"] and all("sums" in s["queries"] and s["bytes"] > 0 for s in detail["state"])
    assert served.http.delete("/v1/queries/sums").json() == {
        "outcome": "dropped",
        "kind": "query",
        "name": "sums",
    }
    served.batch()
    assert served.get("/v1/queries") == []
    gone = served.get("/v1/queries/sums")["query"]
    assert (gone["status"], gone["epoch"], gone["ended"]) == ("dropped", 0, 2)
    assert served.get("/v1/queries/sums/results")["rows"], "what it found can still be read"
    again = served.http.delete("/v1/queries/sums")
    assert again.status_code == 409 and "no query named sums" in again.json()["error"]["message"]


def test_what_is_changed_is_on_disk_before_it_is_acknowledged(served: Served, tmp_path: Path) -> None:
    served.sql(f"CREATE QUERY sums AS {SUMS}; SET plan.sharing = 'off'")
    served.session.directory.unlock()  # as if the process had been killed
    after = LocalSession(tmp_path / "run").catalog
    assert (
        list(after.queries) == ["sums"]
        and ("plan.sharing", "off") in after.config.given
        and list(after.streams) == ["s"]
    )


def test_errors_in_sql_have_their_place(served: Served) -> None:
    answer = served.sql(
        "SHOW QUERIES;\nCREATE QUERY q AS SELECT cont(*) AS n FROM s GROUP BY TUMBLE '1 second'"
    )
    error = answer.json()["error"]
    assert answer.status_code == 400 and (error["line"], error["column"], error["length"]) == (2, 26, 7)
    assert error["hint"] and "Traceback" not in answer.text
    assert served.sql("DROP QUERY nobody").json()["error"]["line"] == 1
    twice = served.sql(f"CREATE QUERY q AS {SUMS}; CREATE QUERY q AS {SUMS}")
    assert twice.status_code == 400 and "exists already" in twice.json()["error"]["message"]
    assert [q["name"] for q in served.get("/v1/queries")] == ["q"], "what came before was carried out"


@pytest.mark.parametrize(
    "path",
    [
        "/v1/queries/nobody",
        "/v1/queries/nobody/results",
        "/v1/queries/nobody/follow",
        "/v1/no",
        "/console/x.js",
    ],
)
def test_what_is_not_there(served: Served, path: str) -> None:
    answer = served.http.get(path)
    assert answer.status_code == 404 and answer.json()["error"]["hint"]


def test_a_query_is_explained_before_it_is_created(served: Served) -> None:
    said = served.http.post("/v1/explain", json={"sql": f"CREATE QUERY later AS {SUMS}"}).json()
    assert said["query"] == "later" and [c["name"] for c in said["columns"]] == [
        "k",
        "window_end",
        "total",
        "n",
    ]
    assert said["plan"]["shares"]["later"]["cost"] > 0 and "later" in said["text"]
    for text in (SUMS, f"-- sums\nEXPLAIN {SUMS}"):
        assert served.http.post("/v1/explain", json={"sql": text}).status_code == 200
    assert served.get("/v1/queries") == []
    wrong = served.http.post(
        "/v1/explain", json={"sql": "CREATE QUERY later AS\n  SELECT w FROM s GROUP BY TUMBLE '1 second'"}
    )
    assert wrong.status_code == 400 and wrong.json()["error"]["line"] == 2
    assert served.http.post("/v1/explain", json={"sql": "DROP STREAM s"}).status_code == 400
    assert [s["name"] for s in served.get("/v1/streams")] == ["s"]


def test_what_one_query_adds(served: Served) -> None:
    served.sql(f"CREATE QUERY sums AS {SUMS}")
    served.batch()
    only = served.get("/v1/queries/sums", marginal=True)
    assert (
        only["marginal"] == pytest.approx(only["cost"]) and served.get("/v1/queries/sums")["marginal"] is None
    )
    assert (
        only["query"]["state_bytes"] == sum(s["bytes"] for s in only["state"]) > 0
        and only["query"]["lag"] > 0
    )
    before = served.http.post("/v1/explain", params={"marginal": True}, json={"sql": SUMS}).json()
    assert before["marginal"]["state_rows"] < only["cost"]["state_rows"], (
        "what it would add, before it is created"
    )
    assert served.http.post("/v1/explain", json={"sql": SUMS}).json()["marginal"] is None
    served.sql(f"CREATE QUERY same AS {SUMS}")
    served.batch()
    beside = served.get("/v1/queries/same", marginal=True)
    assert beside["marginal"]["state_rows"] < beside["cost"]["state_rows"], (
        "all that it needs is there for others"
    )


def test_streams_tables_plan_and_changes(served: Served) -> None:
    (served.root / "people.csv").write_text("id,name\n1,Ann\n")
    made = served.sql(
        f"CREATE TABLE person (id BIGINT, name STRING) WITH (format = 'csv', path = '{served.root}/people.csv')"
    )
    assert made.status_code == 200
    served.sql(f"CREATE QUERY sums AS {SUMS}")
    served.batch()
    (stream,) = served.get("/v1/streams")
    assert (stream["name"], stream["rows"], stream["queries"], stream["watermark"]) == (
        "s",
        10,
        ["sums"],
        "0 seconds",
    )
    assert stream["frontier"] == "1970-01-01T00:00:01.800000Z" and stream["lag"] > 1e9
    assert [(t["name"], t["format"]) for t in served.get("/v1/tables")] == [("person", "csv")]
    plan = served.get("/v1/plan")
    assert plan["batch"] == 0 and plan["shares"]["sums"]
    picture = served.http.get("/v1/plan.svg")
    assert picture.headers["content-type"] == "image/svg+xml" and picture.text.startswith("<svg")
    assert "sums" in served.http.get("/v1/explain").text
    (change,) = served.get("/v1/changes")
    assert (change["batch"], change["what"]) == (0, "created sums")


def test_status_says_what_is_wrong(served: Served) -> None:
    empty = served.get("/v1/status")
    assert empty["batch"] is None and [p["text"] for p in empty["problems"]] == [
        "no query runs, so nothing is read"
    ]
    served.sql(f"CREATE QUERY sums INTO '{served.root}/out' AS {SUMS}")
    served.batch()
    status = served.get("/v1/status")
    assert (status["batch"], status["rows"], status["late"], status["queries"]) == (0, 10, 0, 1)
    assert status["problems"] == [] and status["state_bytes"] > 0 and status["events_per_second"] > 0
    (batch,) = served.get("/v1/batches")
    assert batch["rows"] == 10 and batch["results"]["sums"] > 0 and served.get("/v1/batches", after=0) == []
    (served.root / "out").rename(served.root / "away")
    (served.root / "out").touch()
    served.batch()
    problem = next(p for p in served.get("/v1/status")["problems"] if p["query"])
    assert (
        problem["severity"] == "error"
        and problem["query"] == "sums"
        and "CREATE OR REPLACE QUERY sums" in problem["hint"]
    )
    (failed,) = served.get("/v1/queries")
    assert failed["status"] == "failed" and failed["error"]


def test_metrics_as_prometheus_reads_them(served: Served) -> None:
    served.sql(f"CREATE QUERY sums AS {SUMS}")
    served.batch()
    served.batch()
    text = served.http.get("/metrics").text
    line = re.compile(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? -?[0-9.e+]+')
    assert all(n.startswith("# ") or line.fullmatch(n) for n in text.splitlines())
    values = dict(n.rsplit(" ", 1) for n in text.splitlines() if not n.startswith("#"))
    assert values['thalweg_stream_rows_total{stream="s"}'] == "20" and values["thalweg_batch"] == "1"
    assert int(values['thalweg_query_rows_total{query="sums"}']) == served.get("/v1/queries")[0]["rows"]
    assert served.get("/v1/streams")[0]["rows_per_second"] > 0
    assert [b["streams"] for b in served.get("/v1/batches")] == [{"s": 10}, {"s": 10}]
    assert values["thalweg_batch_seconds_count"] == values['thalweg_batch_seconds_bucket{le="+Inf"}'] == "2"
    assert float(values["thalweg_state_bytes"]) > 0
    assert (
        0 < float(values['thalweg_query_state_bytes{query="sums"}']) <= float(values["thalweg_state_bytes"])
    )
    assert float(values['thalweg_query_lag_seconds{query="sums"}']) > 1_000_000_000


def test_probes_and_the_document(served: Served) -> None:
    assert served.get("/health") == {"status": "ok"}
    assert served.get("/ready") == {"status": "waiting for a query"}
    served.sql(f"CREATE QUERY sums AS {SUMS}")
    assert served.http.get("/ready").status_code == 503, "nothing drives this session"
    paths = served.get("/v1/openapi.json")["paths"]
    assert {"/v1/statements", "/v1/queries/{name}/follow", "/v1/plan.svg", "/metrics"} <= set(paths)
    assert all(operation["summary"] for path in paths.values() for operation in path.values())
