"""What the console and the commands ask for: costs, nodes, samples, previews, a bundle; and one form of status here and there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from service_support import READER, STREAM, SUMS, WRITER, Served
from typer.testing import CliRunner

from thalweg.api.status import read_status
from thalweg.cli.main import app
from thalweg.cli.sites import ADDRESS, served_at
from thalweg.client.remote import connect

LONGER = SUMS.replace("1 second", "10 seconds")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path) as made:
        made.sql(f"CREATE QUERY sums AS {SUMS}; CREATE QUERY longer AS {LONGER}")
        made.batch()
        yield made


def run(served: Served, *args: str, code: int = 0) -> str:
    """What a command says of the service."""
    said = CliRunner().invoke(app, [*args, "--url", f"{served.url}/#token={WRITER}"])
    assert said.exit_code == code, said.output
    return said.output if code else said.stdout


def test_shares_of_the_cost_are_all_of_it(served: Served) -> None:
    costs = served.get("/v1/costs")
    assert {c["name"] for c in costs} == {"sums", "longer"} and {c["kind"] for c in costs} == {"windows"}
    assert sum(c["share"] for c in costs) == pytest.approx(1, abs=1e-3)


def test_nodes_of_a_query_are_expected_measured_and_shared(served: Served) -> None:
    served.sql("CREATE QUERY most AS SELECT k, MAX(v) AS m FROM s GROUP BY k, TUMBLE '1 second'")
    served.batch()
    nodes = served.get("/v1/queries/most")["nodes"]
    shared = [n for n in nodes if {"sums", "most"} <= set(n["queries"])]
    assert shared and all("most" in n["queries"] for n in nodes)
    assert shared[0]["what"].startswith("s, ") and shared[0]["rows"] > 0 and shared[0]["expected_rows"] > 0
    served.sql("DROP QUERY most")
    assert served.get("/v1/queries/most")["nodes"] == []


def test_what_an_inner_query_costs_is_paid_by_who_reads_it(served: Served) -> None:
    inner = "SELECT k, SUM(v) AS total FROM s GROUP BY k, TUMBLE '3 seconds'"
    served.sql(f"CREATE QUERY outer AS SELECT MAX(total) AS m FROM ({inner}) GROUP BY TUMBLE '6 seconds'")
    served.batch()
    costs = {c["name"]: c for c in served.get("/v1/costs")}
    assert set(costs) == {"sums", "longer", "outer"}
    assert sum(c["share"] for c in costs.values()) == pytest.approx(1, abs=1e-3)
    told = served.get("/v1/queries/outer")
    assert told["cost"]["cost"] == costs["outer"]["cost"] and len(told["nodes"]) == 2
    assert {n["what"] for n in told["nodes"]} == {"s, 3 seconds", "an inner query, 6 seconds"}


def test_rows_of_a_stream_that_came_last(served: Served, tmp_path: Path) -> None:
    rows = served.batch()
    found = served.get("/v1/streams/s/sample")
    assert [c["name"] for c in found["columns"]] == ["k", "v", "at"]
    assert [r[:2] for r in found["rows"]] == [
        list(t) for t in zip(*rows.select(["k", "v"]).to_pydict().values(), strict=True)
    ]
    (tmp_path / "in" / "9.parquet").write_text("no Parquet")
    assert served.get("/v1/streams/s/sample") == {"columns": None, "rows": []}
    assert served.http.get("/v1/streams/none/sample").status_code == 404


def test_a_bundle_has_no_rows_and_no_tokens(served: Served) -> None:
    secret = "a-value-of-a-row"
    (served.root / "texts").mkdir()
    (served.root / "texts" / "0.csv").write_text(
        f"v,at\n{secret},1970-01-01 00:00:00\n1,1970-01-01 00:00:01\n"
    )
    declared = (
        STREAM.format(served.root)
        .replace("STREAM s (k BIGINT, ", "STREAM t (")
        .replace("parquet", "csv")
        .replace("/in", "/texts")
    )
    assert (
        served.sql(
            f"{declared}; CREATE QUERY of_t AS SELECT SUM(v) AS n FROM t GROUP BY TUMBLE '1 second'"
        ).status_code
        == 200
    )
    served.session.batch([("t", str(served.root / "texts" / "0.csv"))])
    assert secret in served.http.get("/v1/streams").text
    text = run(served, "status", "--bundle", str(served.root / "bundle.json"))
    bundle = json.loads((served.root / "bundle.json").read_text())
    assert text == "" and secret not in json.dumps(bundle) and WRITER not in json.dumps(bundle)
    assert {q["name"] for q in bundle["queries"]} == {"sums", "longer", "of_t"} and bundle["versions"][
        "duckdb"
    ]
    aside = next(s for s in bundle["directory"]["streams"] if s["name"] == "t")["set_aside"]
    assert aside[0]["column"] == "v" and aside[0]["value"] is None
    with served.client(READER) as reader:
        assert reader.get("/v1/support").status_code == 200
    with served.client(None) as nobody:
        assert nobody.get("/v1/support").status_code == 401


def test_errors_that_were_logged_are_in_the_bundle(served: Served) -> None:
    served.service._failed(RuntimeError("a disk is full"))
    assert "a disk is full" in served.get("/v1/support")["errors"][-1]


def test_status_has_one_form_here_and_there(served: Served) -> None:
    directory = served.root / "run"
    assert connect(served.url, WRITER).directory_status() == read_status(directory)
    there = json.loads(run(served, "status", "--json"))
    here = json.loads(CliRunner().invoke(app, ["status", str(directory), "--json"]).stdout)
    assert there == here and there["batch"] == 0
    assert (
        run(served, "status", "--changes")
        == CliRunner().invoke(app, ["status", str(directory), "--changes"]).stdout
    )
    assert "used by" in run(served, "status") and "created sums" in run(served, "status")


def test_plans_from_the_command_line(served: Served, tmp_path: Path) -> None:
    assert "2 queries" in run(served, "explain") and json.loads(run(served, "explain", "--json"))["shares"]
    run(served, "explain", "--svg", str(tmp_path / "plan.svg"))
    assert 'data-queries="longer"' in (tmp_path / "plan.svg").read_text()
    (tmp_path / "new.sql").write_text(f"CREATE QUERY new AS {SUMS}")
    assert "new" in run(served, "explain", str(tmp_path / "new.sql"))
    assert "no --mermaid" in run(served, "explain", "--mermaid", code=1)
    assert CliRunner().invoke(app, ["explain"]).exit_code == 1


def test_a_directory_says_where_it_is_served(served: Served) -> None:
    directory = served.root / "run"
    assert served_at(directory) is None
    (directory / ADDRESS).write_text(f"{served.url}\n")
    (directory / "token").write_text(WRITER)
    assert served_at(directory) == served.url
    said = CliRunner().invoke(app, ["sql", "--dir", str(directory), "-e", "SHOW QUERIES"])
    assert said.exit_code == 0 and "longer" in said.stdout
