"""What a session refuses before anything runs, with its place in the script."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.api.results import arrow_type
from thalweg.api.session import Session
from thalweg.connectors.parquet import with_zone
from thalweg.errors import DataError, SqlError, UsageError
from thalweg.testing.local import LocalSession

GIVEN = "format = 'parquet', path = 'in', time = 'at', late_rows = 'late'"
BID = f"CREATE STREAM bid (auction BIGINT, price BIGINT, at TIMESTAMP) WITH ({GIVEN});\n"
SELECT = "SELECT auction, MAX(price) AS top FROM bid GROUP BY auction, TUMBLE '1 minute'"
MINUTE = "[RANGE 1 MINUTE]"
JOIN = f"SELECT a.auction, MAX(b.price) AS m FROM bid AS a {MINUTE}, bid AS b {MINUTE} WHERE a.auction = b.auction GROUP BY 1 EVERY 1 MINUTE"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("DROP QUERY nosuch", "no query named nosuch"),
        ("DROP STREAM nosuch", "no stream named nosuch"),
        ("DROP STREAM bid", "stream bid is read by q"),
        ("EXPLAIN QUERY nosuch", "no query named nosuch"),
        ("SET plan.windws = 'best'", "unknown setting plan.windws"),
        ("SET plan.windows = 'bst'", "plan.windows can't be 'bst'"),
        ("SET trigger = 'nan'", "trigger can't be 'nan'"),
        ("SET trigger = '1e300'", "trigger can't be '1e300'"),
        ("SET partitions = '99999999999'", "partitions can't be '99999999999'"),
        ("SET durable = 'maybe'", "durable can't be 'maybe'"),
        ("SET plan.early_aggregation = 'EAP111'", "query j has no plan with plan.early_aggregation = EAP111"),
        ("SET plan.evaluate = 'delta'", "query j has no plan with plan.evaluate = delta"),
        (f"CREATE QUERY q AS {SELECT}", "query q exists already"),
        (
            BID.strip().replace("'in'", "'elsewhere'").rstrip(";"),
            "bid is declared already, with another definition",
        ),
        (
            BID.strip().replace("bid (", "BID (").rstrip(";"),
            "bid is declared already, with another definition",
        ),
        (f"CREATE QUERY r INTO 'x/../out' AS {SELECT}", "query q writes there"),
        (f"CREATE QUERY r INTO 'late' AS {SELECT}", "late rows of stream bid go there"),
        (f"CREATE QUERY r INTO 'in' AS {SELECT}", "stream bid is read from there"),
        (f"CREATE QUERY r INTO 'link' AS {SELECT}", "query q writes there"),
        (f"CREATE QUERY r INTO 'link/../in/.' AS {SELECT}", "stream bid is read from there"),
        (
            BID.strip().replace("bid (", "b (").replace("'late'", "'in'").rstrip(";"),
            "would get its own late rows",
        ),
        (BID.strip().replace("bid (", "b (").replace("'late'", "'link'").rstrip(";"), "query q writes there"),
        (f"CREATE QUERY r INTO 's3://bucket/out' AS {SELECT}", "'s3://bucket/out': s3 is not supported yet"),
        (f"CREATE QUERY r INTO 's3:/bucket/out' AS {SELECT}", "s3 is not supported yet"),
        (
            f"CREATE QUERY r INTO 'kafka://host/topic' AS {SELECT}",
            "'kafka://host/topic': kafka is not supported yet",
        ),
        (f"CREATE OR REPLACE QUERY q INTO 'abfss://c@a/out' AS {SELECT}", "abfss is not supported yet"),
        (f"ALTER QUERY nosuch AS {SELECT}", "no query named nosuch"),
    ],
)
def test_refused_at_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("link").symlink_to("out")
    session = Session("run")
    text = f"{BID}CREATE QUERY q INTO 'out' AS {SELECT};\nCREATE QUERY j AS {JOIN};\n{statement}"
    with pytest.raises(SqlError) as caught:
        session.sql(text, "app.sql")
    assert isinstance(caught.value, UsageError) and message in caught.value.message and caught.value.hint
    assert (
        caught.value.line == 4
        and re.search(r"\(at app\.sql:4:\d+\)\n   4 \| ", str(caught.value))
        and "^" in str(caught.value)
    )


@pytest.mark.parametrize("name", ["../x", "a/b", "", "1q"])
def test_names_of_queries_from_python(tmp_path: Path, name: str) -> None:
    session = Session(tmp_path)
    session.sql(BID)
    with pytest.raises(UsageError, match="can't be the name of a query"):
        session.query(SELECT, name=name)


@pytest.mark.parametrize(
    ("outputs", "type_", "hint"),
    [
        ("MAX(at) - MIN(at) AS d", "INTERVAL", "subtract unix_micros"),
        ("MAX(123456789012345678901234567890123456789012) AS d", "BIGNUM", "CAST it to"),
    ],
)
def test_results_that_files_can_not_hold(tmp_path: Path, outputs: str, type_: str, hint: str) -> None:
    session = Session(tmp_path)
    session.sql(BID)
    with pytest.raises(SqlError, match=f"a result can't be of the type {type_}") as caught:
        session.query(f"SELECT {outputs} FROM bid GROUP BY TUMBLE '1 minute'", name="q")
    assert caught.value.hint and caught.value.hint.startswith(hint)


def test_results_need_no_spark(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.sql(BID)
    query = session.query(
        "SELECT window, MAX(price) AS top FROM bid GROUP BY window(at, '1 minute')", name="q"
    )
    assert query.results().num_rows == 0 and list(query.results("pandas").columns) == ["window", "top"]
    with pytest.raises(UsageError, match="no result format 'foo'"):
        query.results("foo")
    assert session._running._spark is None
    assert query.results().schema.field("window").type == pa.struct(
        [(n, pa.timestamp("us", "UTC")) for n in ("start", "end")]
    )


def test_times_within_a_window_are_in_utc() -> None:
    naive = pa.table(
        {
            "w": pa.array(
                [{"start": 0, "end": 1}],
                pa.struct([("start", pa.timestamp("us")), ("end", pa.timestamp("us"))]),
            )
        }
    )
    assert with_zone(naive).schema.field("w").type == arrow_type('STRUCT("start" TIMESTAMP, "end" TIMESTAMP)')


def test_console_from_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = Session(tmp_path)
    assert session.console is not None
    session.console("top", 3, pa.table({"auction": list(range(30))}))
    shown = capsys.readouterr().out
    assert shown.startswith("top: batch 3, 30 rows\n") and shown.endswith("... 10 more\n") and "19" in shown


def test_a_select_is_explained_beside_a_query_of_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session = Session(tmp_path / "session")
    session.sql(
        "CREATE STREAM a (k BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = 'in', time = 'at')"
    )
    session.sql("CREATE QUERY query AS SELECT k, COUNT(*) AS n FROM a GROUP BY k, TUMBLE '1 minute'")
    (found,) = session.sql("EXPLAIN SELECT k, MAX(k) AS m FROM a GROUP BY k, TUMBLE '5 minutes'")
    assert "queries     query, query_2" in str(found)
    text = "SELECT k, MAX(k) AS m FROM a GROUP BY k, TUMBLE '5 minutes'"
    assert str(session.explain(text)) == str(found) and session.marginal_cost(text)["state_rows"] > 0


def test_a_plan_of_columns_that_the_files_have_not(tmp_path: Path) -> None:
    """As the start would refuse them, so does every EXPLAIN before it."""
    pq.write_table(pa.table({"k": [1], "at": pa.array([0], pa.timestamp("us"))}), tmp_path / "0.parquet")
    session = Session(tmp_path / "session")
    session.sql(
        f"CREATE STREAM a (k BIGINT, v BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{tmp_path}', time = 'at')"
    )
    select = "SELECT v FROM a"
    query = session.query(select)
    for ask in (
        partial(session.sql, f"EXPLAIN {select}"),
        partial(session.sql, f"EXPLAIN QUERY {query.name}"),
        partial(session.sql, "SHOW PLAN"),
        partial(session.explain, select),
        query.explain,
    ):
        with pytest.raises(DataError, match=r"0\.parquet: can't be read as stream a: it has no column v"):
            ask()


@pytest.mark.parametrize(
    ("option", "scheme"),
    [
        ("path", "s3"),
        ("path", "kafka"),
        ("path", "hdfs"),
        ("late_rows", "gs"),
        ("path", "FILE"),
        ("late_rows", "jdbc:postgresql"),
    ],
)
def test_paths_of_other_stores_are_refused_by_name(tmp_path: Path, option: str, scheme: str) -> None:
    given = {"path": "in", "late_rows": "late"} | {option: f"{scheme}://a/b"}
    stream = f"CREATE STREAM bid (at TIMESTAMP) WITH (format = 'csv', path = '{given['path']}', time = 'at', late_rows = '{given['late_rows']}')"
    with pytest.raises(SqlError, match=f"'{scheme}://a/b': {scheme.lower()}.* not supported") as caught:
        Session(tmp_path).sql(stream)
    assert caught.value.hint and caught.value.line == 1


def test_paths_of_other_stores_from_python(tmp_path: Path) -> None:
    session = Session(tmp_path)
    with pytest.raises(UsageError, match="s3 is not supported yet"):
        session.stream("bid", "s3://bucket/bid", time="at")
    with pytest.raises(UsageError, match="s3 is not supported yet"):
        session.relation("person", "s3://bucket/person.csv", columns="id BIGINT", format="csv")
    session.sql(BID)
    with pytest.raises(UsageError, match="kafka is not supported yet"):
        session.query(SELECT, name="q", into="kafka://host/topic")
    with pytest.raises(UsageError, match="session directory 's3://bucket/run': s3 is not supported yet"):
        Session("s3://bucket/run")
    with pytest.raises(UsageError, match="s3 is not supported yet"):
        Session(Path("s3://bucket/run"))  # as the command line gives it


def test_nothing_is_read_that_is_written_while_it_runs(tmp_path: Path) -> None:
    """What a start would refuse is refused before it is kept: else there would be no start any more."""
    declared = BID.replace("'in'", f"'{tmp_path}/in'").replace("'late'", f"'{tmp_path}/late'")
    for name in ("in", "other"):
        (tmp_path / name).mkdir()
    session = LocalSession(tmp_path / "run")
    session.sql(declared)
    session.begin()
    for wrong in (
        f"CREATE QUERY q INTO '{tmp_path}/in/deep/q' AS {SELECT}",
        declared.replace("bid (", "b (").replace("/in'", "'"),
        declared.replace("bid (", "b (").replace("/in'", "/other'").replace("/late'", "/in/late'"),
    ):
        with pytest.raises(UsageError, match="which would read it"):
            session.sql(wrong)
    session.query(SELECT, name="q", into=tmp_path / "in" / "_hidden")
    session.close()
    again = LocalSession(tmp_path / "run")
    again.begin()
    assert list(again.catalog.queries) == ["q"] and list(again.catalog.streams) == ["bid"]
    again.close()


def test_what_python_would_say(tmp_path: Path) -> None:
    session = Session(tmp_path / "run", settings={"partitions": 3})  # type: ignore[dict-item]
    session.sql(BID)
    session.set("durable", False)
    query = session.query(SELECT, name="q", into=tmp_path / "out")
    assert (session.catalog.config.partitions, session.catalog.config.durable, query.directory) == (
        3,
        False,
        str(tmp_path / "out"),
    )
    assert str(session.explain("q")) == str(session.explain(query)) == str(session.explain(query.query))
    for wrong in (None, 5, "nosuch"):
        with pytest.raises(UsageError, match="no query named"):
            session.drop(wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="is no path"):
        session.query(SELECT, name="r", into="a\0b")


def test_columns_that_no_file_tells(tmp_path: Path) -> None:
    session = Session(tmp_path / "run")
    with pytest.raises(UsageError, match="person: the columns are not known"):
        session.relation("person", tmp_path / "nowhere")
    (tmp_path / "0.parquet").write_bytes(b"PAR1 and nothing else")
    for declare in (
        lambda: session.stream("bid", tmp_path, time="at"),
        lambda: session.relation("person", tmp_path),
    ):
        with pytest.raises(UsageError, match=r"0\.parquet: its columns can't be read") as caught:
            declare()
        assert caught.value.hint


def test_a_closed_session_changes_nothing(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.sql(BID)
    session.query(SELECT, name="q")
    session.close()
    for statement in (
        "SET plan.windows = 'naive'",
        "DROP QUERY q",
        "CREATE TABLE t (k BIGINT) WITH (format = 'csv', path = 't.csv')",
    ):
        with pytest.raises(UsageError, match="the session is closed"):
            session.sql(statement)
    assert session.catalog.config.windows == "best" and list(session.queries) == ["q"]
