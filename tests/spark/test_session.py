"""Sessions on real Spark: restarts, sources, late rows, bad files, queries that come and go."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from support import COLUMNS, QUERIES, ROWS, batches, check, put, session_on, stream_sql

from thalweg import DataError, QueryHandle, Session, UsageError
from thalweg.engine.spark import own_session
from thalweg.plan.nodes import Derived
from thalweg.testing.comparison import compare
from thalweg.testing.reference import late_rows, late_rows_of, reference
from thalweg.testing.reference_nesting import Data, reference_any


def test_batches_restarts_and_late_rows(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    sql = (
        stream_sql(tmp_path / "in", ", files_per_batch = 1, late_rows = '" + str(tmp_path / "late") + "'")
        + QUERIES
        + ROWS
    )
    tables = batches()
    for part in (tables[:2], tables[2:5], tables[5:]):
        session = session_on(spark, tmp_path, sql)
        put(tmp_path, session, part)
        progress: list[Any] = []
        session.listeners.append(progress.append)
        session.run_available()
        assert len(progress) == len(part)
        session.stop()
    check(session, tables)
    counts = session.latest_manifest()
    stream = session.catalog.streams["s"]
    assert counts.streams["s"].late == late_rows(stream, tables) == 1
    assert {n: c.late for n, c in counts.queries.items()} == {
        q.name: late_rows_of(q, stream, tables) for q in session.catalog.queries.values()
    }
    assert pq.read_table(tmp_path / "late", schema=None).num_rows == 1


def test_one_spark_job_a_batch(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    session = session_on(spark, tmp_path, stream_sql(tmp_path / "in", ", files_per_batch = 1") + QUERIES)
    put(tmp_path, session, batches(4))
    before = last_job(spark)
    session.run_available()
    assert last_job(spark) - before == 4 + 1
    session.stop()


NESTED = """
CREATE VIEW counts AS SELECT k, window_end, COUNT(*) AS n, MAX(v) AS high FROM s GROUP BY k, TUMBLE '2 seconds';
CREATE QUERY most AS
  WITH m AS (SELECT window_end, MAX(high) AS top FROM counts GROUP BY window_end)
  SELECT c.k, c.n, c.high, c.window_end FROM counts AS c JOIN m ON c.window_end = m.window_end AND c.high >= m.top;
CREATE QUERY sums AS SELECT window_end, SUM(n) AS total, COUNT(*) AS groups FROM counts GROUP BY HOP '8 seconds' BY '4 seconds';
CREATE QUERY twice AS
  SELECT window_end, SUM(pairs) AS total FROM
    (SELECT x.k, COUNT(*) AS pairs FROM s AS x [RANGE 2 SECONDS], s AS y [RANGE 1 SECOND] WHERE x.k = y.k GROUP BY x.k EVERY 1 SECOND)
  GROUP BY TUMBLE '4 seconds';
CREATE QUERY either AS SELECT k, v, at FROM s WHERE v > 3 UNION ALL SELECT k, n, window_end FROM counts;
CREATE QUERY ever AS SELECT k, COUNT(*) AS n, MAX(v) AS high FROM either GROUP BY k EVERY 2 SECONDS;
CREATE QUERY of_either AS SELECT k, window_end, SUM(v) AS total FROM either GROUP BY k, TUMBLE '4 seconds';
"""


def test_queries_over_queries(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    sql = stream_sql(tmp_path / "in", ", files_per_batch = 1") + NESTED
    tables = batches()
    for number, part in enumerate((tables[:2], tables[2:4], tables[4:])):
        session = session_on(spark, tmp_path, sql + f"SET partitions = {number + 1};")
        session.sql(f"SET plan.exchange = '{'best' if number == 1 else 'always'}'")
        put(tmp_path, session, part)
        before = last_job(spark)
        session.run_available()
        assert last_job(spark) - before == len(part) + 1
        session.stop()
    data = Data(session.catalog.streams, [{"s": t} for t in tables])
    for query in session.catalog.queries.values():
        found = session.handle(query.name).results()
        assert found.num_rows > 2, query.name
        compare(found, reference_any(query, data))


def last_job(spark: Any) -> int:
    """The number of a Spark job that is run now; jobs are numbered one after another."""
    spark.sparkContext.parallelize([0], 1).count()
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    return max(int(jobs.apply(i).jobId()) for i in range(jobs.size()))


def test_settings_of_plans_hold_after_a_restart(spark: Any, tmp_path: Path) -> None:
    """A plan that is asked for is the one that runs, also where another one ran before; results go on."""
    (tmp_path / "in").mkdir()
    sql = stream_sql(tmp_path / "in", ", files_per_batch = 1") + QUERIES
    tables, derived = batches(), []
    for mode, part in (("naive", tables[:3]), ("best", tables[3:])):
        session = session_on(spark, tmp_path, f"SET plan.windows = '{mode}'; {sql}")
        put(tmp_path, session, part)
        session.run_available()
        derived.append(any(isinstance(node, Derived) for node in session.runner.plan.nodes))
        session.stop()
    assert derived == [False, True]
    check(session, tables)


def test_results_as_arrow_pandas_spark_and_plain_directory(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    session = session_on(spark, tmp_path, stream_sql(tmp_path / "in"))
    query = session.query(
        "SELECT k, window_end, SUM(v) AS total FROM s GROUP BY k, TUMBLE '2 seconds'",
        name="q",
        into=str(tmp_path / "out"),
    )
    assert query.results().num_rows == 0
    put(tmp_path, session, batches())
    session.run_available()
    arrow = query.results()
    assert arrow.num_rows > 0
    compare(pa.Table.from_pandas(query.results("pandas"), preserve_index=False), arrow)
    compare(query.results("spark").toArrow(), arrow)
    compare(spark.read.parquet(str(tmp_path / "out")).toArrow(), arrow)
    compare(pq.read_table(tmp_path / "out"), arrow)
    assert dict(query.results("spark").dtypes)["window_end"] == "timestamp"
    with pytest.raises(UsageError, match="no result format"):
        query.results("xml")
    session.stop()


@pytest.mark.parametrize("format", ["csv", "json"])
def test_text_files(spark: Any, tmp_path: Path, format: str) -> None:
    (tmp_path / "in").mkdir()
    tables = [pa.concat_tables(batches())]
    for table in tables:
        path = tmp_path / "in" / f"a b%20c [x]*.{format}"
        if format == "csv":
            pyarrow.csv.write_csv(table, path)
        else:
            lines = (json.dumps({**row, "at": row["at"].isoformat()}) for row in table.to_pylist())
            path.write_text("\n".join(lines))
    session = session_on(spark, tmp_path, stream_sql(tmp_path / "in", format=format) + QUERIES)
    session.run_available()
    session.stop()
    check(session, tables)


def test_spark_file_source_as_dataframe(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    session = Session(tmp_path / "run", spark=spark)
    frame = (
        spark.readStream.schema("k long, v long, at timestamp")
        .option("maxFilesPerTrigger", 1)
        .parquet(str(tmp_path / "in"))
    )
    session.stream("s", frame, time="at", watermark="2 seconds")
    session.sql(QUERIES)
    tables = [t.set_column(2, "at", t.column("at").cast(pa.timestamp("us", "UTC"))) for t in batches()]
    put(tmp_path, session, tables)
    session.run_available()
    session.stop()
    check(session, batches())


def test_rate_micro_batch_as_dataframe(spark: Any, tmp_path: Path) -> None:
    rate = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", 200)
        .option("advanceMillisPerBatch", 5000)
        .load()
    )
    session = Session(tmp_path / "run", spark=spark, settings={"trigger": "0"})
    session.stream("s", rate.selectExpr("value % 7 AS k", "value AS v", "timestamp AS at"), time="at")
    query = session.query(
        "SELECT k, window_start, SUM(v) AS total, COUNT(*) AS n FROM s GROUP BY k, TUMBLE '5 seconds'",
        name="q",
    )
    done: list[int] = []
    session.listeners.append(lambda p: done.append(p.batch))
    session.start()
    deadline = time.monotonic() + 120
    while len(done) < 4 and time.monotonic() < deadline:
        assert not session.wait(0.2)
    session.stop()
    result = query.results().to_pydict()
    windows = sorted(set(result["window_start"]))
    assert len(windows) >= 2
    for i, window in enumerate(windows):  # batch i holds the values 200 i .. 200 i + 199, all at one instant
        expected = {k: sum(v for v in range(200 * i, 200 * i + 200) if v % 7 == k) for k in range(7)}
        found = {
            k: t
            for k, t, w in zip(result["k"], result["total"], result["window_start"], strict=True)
            if w == window
        }
        assert found == expected


def test_iterable_of_tables_in_a_script_that_is_run_again(spark: Any, tmp_path: Path) -> None:
    for given in (batches(4), batches(4), batches()):
        session = Session(tmp_path / "run", spark=spark)
        session.stream("s", iter(given), columns=COLUMNS, time="at", watermark="2 seconds")
        session.sql(QUERIES)
        session.run_available()
        session.stop()
        check(session, given)


def test_bad_file_stops_with_its_name_or_is_skipped(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    session = session_on(
        spark, tmp_path, stream_sql(tmp_path / "in", ", files_per_batch = 1, on_bad_file = 'stop'") + QUERIES
    )
    put(tmp_path, session, batches(2))
    (tmp_path / "in" / "zz.parquet").write_bytes(b"PAR1 no parquet file at all PAR1")
    with pytest.raises(DataError, match=r"zz\.parquet"):
        session.run_available()
    session.stop()
    again = session_on(spark, tmp_path, stream_sql(tmp_path / "in", ", files_per_batch = 1") + QUERIES)
    put(tmp_path, again, batches()[2:])
    again.run_available()
    assert again.latest_manifest().streams["s"].bad_files == 1
    assert again.set_aside["s"].set_aside[0].file.endswith("zz.parquet")
    again.stop()
    check(again, batches())


def test_other_schema_is_refused_by_name(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(
        pa.table({"k": [1], "v": ["x"], "at": pa.array([0], pa.timestamp("us"))}),
        tmp_path / "in" / "other.parquet",
    )
    session = session_on(spark, tmp_path, stream_sql(tmp_path / "in") + QUERIES)
    with pytest.raises(DataError, match=r"other\.parquet.*column v is string, declared as BIGINT"):
        session.run_available()
    session.stop()


def test_abort_in_a_task_and_in_the_driver(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    sql = stream_sql(tmp_path / "in", ", files_per_batch = 2") + QUERIES
    for i, point in enumerate(("work:after-state", "driver:after-manifest", "ingest:start")):
        session = session_on(spark, tmp_path, sql)
        put(tmp_path, session, batches()[2 * i : 2 * i + 2])
        session.fault = point
        with pytest.raises(Exception, match=point if point.startswith("driver") else "Aborted|Job aborted"):
            session.run_available()
        session.stop()
    session = session_on(spark, tmp_path, sql)
    session.run_available()
    session.stop()
    check(session, batches())


def test_queries_come_and_go_without_a_new_checkpoint(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    tables = batches(8)
    session = session_on(spark, tmp_path, stream_sql(tmp_path / "in", ", files_per_batch = 1") + QUERIES)
    put(tmp_path, session, tables[:3])
    session.run_available()
    top = session.latest_manifest().tops["s"]
    assert top is not None
    session.drop("highs")
    late = session.query(
        "SELECT k, window_start, MIN(v) AS low, SUM(v) AS total FROM s GROUP BY k, TUMBLE '2 seconds'",
        name="late",
    )
    session.set("plan.windows", "naive")
    put(tmp_path, session, tables[3:])
    session.run_available()
    session.stop()
    stream = session.catalog.streams["s"]
    compare(
        QueryHandle(session, "sums").results(), reference(session.catalog.queries["sums"], stream, tables)
    )
    compare(late.results(), reference(late.query, stream, tables, begin=top + 1))
    assert "highs" not in session.catalog.queries


def test_idle_stream_lets_the_rest_go_on(spark: Any, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    declare = "CREATE STREAM {0} (v BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{1}', time = 'at', files_per_batch = 1{2});"
    query = "CREATE QUERY q{0} AS SELECT window_end, COUNT(*) AS n FROM {0} GROUP BY TUMBLE '1 second';"
    sql = declare.format("a", tmp_path / "a", "") + declare.format(
        "b", tmp_path / "b", ", idle_timeout = '1 second'"
    )
    session = Session(tmp_path / "run", spark=spark)
    session.sql(sql + query.format("a") + query.format("b"))

    def write(stream: str, number: int, *seconds: float) -> None:
        times = pa.array([int(s * 1_000_000) for s in seconds], pa.timestamp("us"))
        pq.write_table(
            pa.table({"v": [1] * len(seconds), "at": times}), tmp_path / stream / f"{number}.parquet"
        )

    write("a", 0, 0.5, 1.5)
    write("b", 0, 0.5)
    session.start()
    counts: dict[str, Any] = {}
    deadline = time.monotonic() + 90
    for number, second in enumerate((2.5, 3.5, 4.5), 1):
        session.wait(1.6)
        write("a", number, second)
    while time.monotonic() < deadline and counts.get("qb") != 1:
        session.wait(0.3)
        counts = {n: QueryHandle(session, n).results().num_rows for n in ("qa", "qb")}
    session.stop()
    assert counts["qb"] == 1  # b fell silent at 0.5 s; its first window closes because a has gone past it
    assert counts["qa"] >= 2


def test_the_bridge_writes_no_tracebacks(spark: Any, caplog: pytest.LogCaptureFixture) -> None:
    own_session(spark)
    says = "import logging\nlogging.exception('Exception while sending command.')"
    exec(compile(says, "py4j/java_gateway.py", "exec"))
    exec(compile(says, "of/the/user.py", "exec"))
    assert [record.module for record in caplog.records] == ["user"]
