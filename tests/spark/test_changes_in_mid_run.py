"""What changes while batches run, on real Spark: streams and queries that come and go, several sessions, failures that are seen."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import COLUMNS, QUERIES, batches, check, put, session_on, stream_sql

from thalweg import DataError, Session, UsageError
from thalweg.engine.ahead import Ahead
from thalweg.engine.pace import QUICK, SLOW
from thalweg.engine.workload import Workload
from thalweg.optimizer.workload import Planner
from thalweg.testing.comparison import compare
from thalweg.testing.reference import reference

COUNT = "CREATE QUERY of_{0} AS SELECT k, window_start, COUNT(*) AS n, SUM(v) AS total FROM {0} GROUP BY k, TUMBLE '2 seconds'"


def eventually(holds: Callable[[], bool], session: Session, seconds: float = 60) -> None:
    """Wait until something holds, or fail with what ended the session."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline and not session.wait(0.05), session.error


def feed(folder: Path, number: int, rows: pa.Table) -> None:
    """One more file, seen whole or not at all."""
    hidden = folder / f".{number}.tmp"
    pq.write_table(rows, hidden)
    hidden.replace(folder / f"{number}.parquet")


def test_streams_come_and_go_while_batches_run(spark: Any, tmp_path: Path) -> None:
    for name in ("s", "t"):
        (tmp_path / name).mkdir()
    session, fed = session_on(spark, tmp_path, stream_sql(tmp_path / "s") + COUNT.format("s")), batches(6)
    feed(tmp_path / "s", 0, fed[0])
    session.start()
    eventually(lambda: session.latest_manifest().batch == 0, session)
    with pytest.raises(DataError, match="directory of stream u does not exist"):
        session.sql(stream_sql(tmp_path / "u", name="u"))
    session.sql(stream_sql(tmp_path / "t", name="t") + COUNT.format("t"))
    late = session.handle("of_t")
    assert late.wait(60)
    for number, rows in enumerate(fed):
        feed(tmp_path / "t", number, rows)
        eventually(lambda: done(session, "t") == 40 * (number + 1), session)  # noqa: B023
    assert (
        late.epoch is not None and late.epoch >= 1 and late.begins == {"t": None} and late.status == "running"
    )
    compare(late.results(), reference(late.query, session.catalog.streams["t"], fed))
    late.drop()
    session.sql("DROP STREAM t")
    feed(tmp_path / "s", 1, fed[1])
    eventually(lambda: done(session, "s") == 80, session)
    eventually(lambda: [s.name for s in session._running.reading] == ["s"], session)
    feed(tmp_path / "s", 2, fed[2])
    eventually(lambda: done(session, "s") == 120, session)
    assert [s.name for s in session.runner.plan.streams] == ["s"] and late.ended is not None
    session.stop()
    assert session.status == "stopped" and session.error is None
    compare(
        session.handle("of_s").results(),
        reference(session.handle("of_s").query, session.catalog.streams["s"], fed[:3]),
    )


def done(session: Session, stream: str) -> int:
    """The rows of a stream that batches have had."""
    return (
        session.latest_manifest().streams[stream].rows if stream in session.latest_manifest().streams else 0
    )


def test_data_frames_come_and_go_over_restarts(spark: Any, tmp_path: Path) -> None:
    fed = [t.set_column(2, "at", t.column("at").cast(pa.timestamp("us", "UTC"))) for t in batches(4)]
    for name in ("a", "b"):
        (tmp_path / name).mkdir()

    def opened(number: int, *names: str) -> Session:
        session = Session(tmp_path / "run", spark=spark)
        for name in names:
            frame = spark.readStream.schema("k long, v long, at timestamp").parquet(str(tmp_path / name))
            session.stream(name, frame.where("v >= 0"), time="at", watermark="2 seconds")
            session.sql(COUNT.format(name).replace("of_", f"in_run_{number}_of_"))
        return session

    for number, names in enumerate((("a",), ("a", "b"), ("b",), ("b", "a"))):
        session = opened(number, *names)
        for name in names:
            feed(tmp_path / name, number, fed[number])
        session.run_available()
        session.close()
    read = session.latest_manifest().streams
    assert (read["a"].rows, read["b"].rows) == (3 * 40, 3 * 40)
    assert "spark.sql.streaming.queryEvolution.enableSourceEvolution" not in {
        k for k, v in spark.conf.getAll.items() if v == "true"
    }


def test_sessions_started_at_once_on_one_spark_leave_each_other_alone(spark: Any, tmp_path: Path) -> None:
    sessions, fed = [], batches()
    for i in range(3):
        root = tmp_path / str(i)
        (root / "in").mkdir(parents=True)
        session = session_on(spark, root, stream_sql(root / "in", ", files_per_batch = 1") + QUERIES)
        put(root, session, fed[i:] if i < 2 else fed)
        sessions.append(session)
    threads = [threading.Thread(target=s.run_available) for s in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, session in enumerate(sessions):
        session.close()
        check(session, fed[i:] if i < 2 else fed)
    again = session_on(
        spark, tmp_path / "1", stream_sql(tmp_path / "1" / "in", ", files_per_batch = 1") + QUERIES
    )
    again.run_available()
    again.close()


def test_a_failed_batch_is_seen_and_nothing_more_is_taken(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    session = session_on(spark, tmp_path, stream_sql(tmp_path / "in", ", on_bad_file = 'stop'") + QUERIES)
    session.start()
    assert (
        session.status == "running"
        and session.handle("sums").status == "waiting"
        and session.handle("sums").wait(60)
    )
    (tmp_path / "in" / "bad.parquet").write_bytes(b"PAR1 no parquet file at all PAR1")
    deadline = time.monotonic() + 60
    while session.status == "running" and time.monotonic() < deadline:
        time.sleep(0.05)
    assert (
        session.status == "failed"
        and isinstance(session.error, DataError)
        and "bad.parquet" in str(session.error)
    )
    assert {n: q.status for n, q in session.queries.items()} == {"sums": "failed", "highs": "failed"}
    with pytest.raises(UsageError, match=r"a batch has failed.*bad\.parquet"):
        session.query("SELECT MAX(v) AS m FROM s GROUP BY TUMBLE '1 second'", name="more")
    with pytest.raises(DataError, match=r"bad\.parquet"):
        session.handle("sums").wait(5)
    with pytest.raises(DataError, match=r"bad\.parquet"):
        session.wait()
    session.stop()
    assert session.status == "failed"
    (tmp_path / "in" / "bad.parquet").unlink()
    put(tmp_path, session, batches())
    pq.write_table(batches()[0].slice(0, 0), tmp_path / "in" / "bad.parquet")
    session.run_available()
    assert session.status == "stopped" and session.error is None
    session.close()


def test_a_query_that_fails_is_stopped_and_the_others_go_on(spark: Any, tmp_path: Path) -> None:
    """One loses its place to write, another never had one; both are known as failed after a restart."""
    (tmp_path / "in").mkdir()
    bad = """CREATE QUERY {0} INTO '{1}' AS
      SELECT window_start, MAX(v + {2}) AS x FROM s GROUP BY TUMBLE '4 seconds';"""
    session = session_on(
        spark, tmp_path, stream_sql(tmp_path / "in") + QUERIES + bad.format("placeless", tmp_path / "out", 0)
    )
    fed, heard = batches(), list[str]()
    session.listeners.append(lambda done: heard.extend(f.query.name for f in done.failed))
    session.start()
    for number, rows in enumerate(fed[:3]):
        feed(tmp_path / "in", number, rows)
        eventually(lambda: done(session, "s") == 40 * (number + 1), session)  # noqa: B023
    assert session.handle("placeless").results().num_rows > 0
    shutil.rmtree(tmp_path / "out")
    (tmp_path / "out").write_text("no directory")
    session.sql(bad.format("homeless", tmp_path / "other", 99))
    (tmp_path / "other").write_text("no directory")
    for number, rows in enumerate(fed[3:], 3):
        feed(tmp_path / "in", number, rows)
        eventually(lambda: done(session, "s") == 40 * (number + 1), session)  # noqa: B023
    eventually(lambda: len(heard) == 2, session)
    assert session.status == "running" and set(heard) == {"placeless", "homeless"}
    session.stop()
    again = Session(tmp_path / "run", spark=spark)
    assert {n: q.status for n, q in again.queries.items()} == dict.fromkeys(
        ("sums", "highs"), "stopped"
    ) | dict.fromkeys(heard, "failed")
    again.run_available()
    again.stop()
    check(again, fed)


def test_iterables_declared_while_batches_run(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    session = session_on(spark, tmp_path, stream_sql(tmp_path / "in", name="r") + COUNT.format("r"))
    session.start()
    session.stream("s", iter(batches()), columns=COLUMNS, time="at", watermark="2 seconds")
    session.sql(COUNT.format("s"))
    eventually(lambda: done(session, "s") == 240, session)
    session.stop()
    compare(
        session.handle("of_s").results(),
        reference(session.handle("of_s").query, session.catalog.streams["s"], batches()),
    )


def test_a_stream_is_read_once_it_is_planned(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = Ahead._chosen

    def slowly(self: Ahead, workload: Workload) -> Planner:
        time.sleep(4 if len(workload.streams) > 1 else 0)
        return chosen(self, workload)

    monkeypatch.setattr(Ahead, "_chosen", slowly)
    (tmp_path / "in").mkdir()
    session = session_on(spark, tmp_path, stream_sql(tmp_path / "in", name="r") + COUNT.format("r"))
    session.start()
    session.stream("s", iter(batches()), columns=COLUMNS, time="at", watermark="2 seconds")
    session.sql(COUNT.format("s"))
    eventually(lambda: done(session, "s") == 240, session)
    session.stop()
    compare(
        session.handle("of_s").results(),
        reference(session.handle("of_s").query, session.catalog.streams["s"], batches()),
    )


def test_silence_makes_spark_look_less_often_and_data_more_often_again(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    session = session_on(spark, tmp_path, stream_sql(tmp_path / "in") + QUERIES)
    session.start()
    running = session._running._streaming._query._jsq.streamingQuery()  # type: ignore[union-attr]
    assert running.pollingDelayMs() == QUICK
    eventually(lambda: running.pollingDelayMs() >= SLOW / 4, session)
    feed(tmp_path / "in", 0, batches()[0])
    eventually(lambda: session.latest_manifest().batch == 0 and running.pollingDelayMs() < SLOW / 4, session)
    session.stop()


def test_a_spark_that_was_there_before_outlives_sessions(spark: Any, tmp_path: Path) -> None:
    session = Session(tmp_path / "run")
    assert session.spark.sparkContext.applicationId == spark.sparkContext.applicationId
    session.close()
    assert spark.range(3).count() == 3


def test_a_killed_worker_is_replaced(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    died = tmp_path / "died"

    def dies_once(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        yield from rows

    session, schema = Session(tmp_path / "run", spark=spark), "k long, v long, at timestamp"
    frame = (
        spark.readStream.schema(schema)
        .option("maxFilesPerTrigger", 1)
        .parquet(str(tmp_path / "in"))
        .mapInArrow(dies_once, schema)
    )
    session.stream("s", frame, time="at", watermark="2 seconds")
    session.sql(QUERIES)
    put(
        tmp_path,
        session,
        [t.set_column(2, "at", t.column("at").cast(pa.timestamp("us", "UTC"))) for t in batches()],
    )
    session.run_available()
    session.stop()
    assert died.exists()
    check(session, batches())
