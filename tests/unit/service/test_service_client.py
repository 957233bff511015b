"""`thalweg.connect` over real HTTP: what a session here would do, done there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from service_support import READER, SUMS, WRITER, Served
from typer.testing import CliRunner

import thalweg
from thalweg import EnvironmentProblem, SqlError, UsageError
from thalweg.api.outcomes import Assigned, Created, Listing
from thalweg.cli.main import app


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path) as made:
        yield made


def test_a_session_elsewhere(served: Served) -> None:
    session = thalweg.connect(served.url, token=WRITER)
    query = session.query(SUMS, "sums")
    assert query.status == "stopped" and query.epoch is None and not query.wait(timeout=0)
    served.batch()
    served.batch()
    here = served.session.handle("sums")
    assert (
        query.wait() and query.results().equals(here.results()) and list(query.columns) == list(here.columns)
    )
    assert query.results("pandas").equals(here.results("pandas")) and list(session.queries) == ["sums"]
    made, listed, said = session.sql("SET trigger = '1'; SHOW QUERIES; SHOW PLAN")
    assert made == Assigned("trigger", "1") and isinstance(listed, Listing) and listed.rows[0][0] == "sums"
    assert (
        "sums" in str(said)
        and said.data["shares"]
        and "sums" in str(session.explain())
        and "query" in str(session.explain(SUMS))
        and str(session.explain("sums")) == str(served.session.explain("sums"))
    )
    assert (
        session.streams[0]["rows"] == 20
        and session.changes[0]["what"] == "created sums"
        and session.status == "new"
    )
    session.query(SUMS.replace("SUM", "MAX"), "sums", into=str(served.root / "out"), replace=True)
    assert served.session.catalog.queries["sums"].text.startswith("SELECT k, window_end, MAX(v)")
    assert "data:image/svg+xml" in session.explain()._repr_html_()
    assert "<td>sums</td>" in session._repr_html_() and "MAX(v)" in session.handle("sums")._repr_html_()
    assert "sums" in session._repr_html_() and WRITER not in repr(session)
    session.drop(query)
    served.batch()
    assert session.handle("sums").status == "dropped" and session.queries == {}


def test_errors_are_those_of_a_session_here(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THALWEG_TOKEN", raising=False)
    session = thalweg.connect(f"{served.url}/#token={WRITER}")
    with pytest.raises(SqlError) as raised:
        session.query("SELECT k,\n  COUNT(*) AS n, MAX(w) AS m FROM s GROUP BY k, TUMBLE '1 second'", "q")
    assert (raised.value.line, raised.value.column) == (2, 22) and "^" in str(raised.value)
    with pytest.raises(UsageError, match="no query named nobody"):
        session.handle("nobody")
    with pytest.raises(UsageError, match="outside of what"):
        session.query(SUMS, "q", into="/etc/x")
    with pytest.raises(UsageError, match="can't be the name"):
        session.query(SUMS, "q AS SELECT 1; DROP STREAM s; --")
    with pytest.raises(UsageError, match="may only read"):
        thalweg.connect(served.url, READER).sql("SHOW QUERIES")
    with pytest.raises(UsageError, match="not known"):
        thalweg.connect(served.url, "wrong")
    with pytest.raises(UsageError, match="no token"):
        thalweg.connect(served.url)
    with pytest.raises(UsageError, match="no address"):
        thalweg.connect("localhost:1", "x")
    with pytest.raises(EnvironmentProblem, match="no service answers"):
        thalweg.connect("http://127.0.0.1:1", "x")


def test_following_has_every_row_once(served: Served) -> None:
    query = thalweg.connect(served.url, WRITER).query(SUMS, "sums")
    served.batch()
    rows = query.follow(after=-1)
    found = [next(rows)]
    served.batch()
    found.append(next(rows))
    later = query.follow(after="1")
    served.batch()
    assert next(later).num_rows == 6
    found.append(next(rows))
    query.drop()
    served.batch()
    assert list(rows) == [] and list(later) == []
    assert pa.concat_tables(found).equals(served.session.handle("sums").results())


def test_statements_and_results_from_the_command_line(served: Served) -> None:
    def run(*args: str) -> str:
        said = CliRunner().invoke(app, [*args, "--url", f"{served.url}/#token={WRITER}"])
        assert said.exit_code == 0, said.output
        return said.stdout

    assert "query sums created" in run("sql", "-e", f"CREATE QUERY sums AS {SUMS}")
    served.batch()
    assert "sums" in run("sql", "-e", "SHOW QUERIES") and '"outcome": "listing"' in run(
        "sql", "-e", "SHOW QUERIES", "--json"
    )
    assert run("results", "sums", "--format", "csv").startswith('"k","window_end","total","n"\n')
    status = run("status")
    assert "sums" in status and "batch 0" in status and '"batch": 0' in run("status", "--json")
    wrong = CliRunner().invoke(app, ["sql", "-e", "SELEC", "--url", f"{served.url}/#token={WRITER}"])
    assert wrong.exit_code == 1 and "1:1" in wrong.stderr and "Traceback" not in wrong.stderr


def test_a_token_from_the_directory_of_the_service(served: Served) -> None:
    (served.root / "run" / "token").write_text(WRITER)
    (served.root / "run" / "token").chmod(0o600)
    said = CliRunner().invoke(
        app, ["sql", "-e", "SHOW STREAMS", "--url", served.url, "--dir", str(served.root / "run")]
    )
    assert said.exit_code == 0 and "in" in said.stdout


def test_a_created_outcome_is_typed(served: Served) -> None:
    (made,) = thalweg.connect(served.url, WRITER).sql(f"CREATE QUERY sums AS {SUMS}")
    assert made == Created("sums", str(served.root / "run" / "results" / "sums"))
