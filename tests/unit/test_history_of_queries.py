"""What a history can't be, what can't be read again, and what is told of a query that catches up."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from thalweg.api.checks import check_history
from thalweg.errors import SqlError, UsageError
from thalweg.model.stream import Stream
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalSession
from thalweg.testing.reference import reference

SECOND = 1_000_000
STREAM = "CREATE STREAM s (k BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{0}', time = 'at')"
COUNT = "SELECT k, window_start, COUNT(*) AS n FROM s GROUP BY k, TUMBLE '1 second'"
MOST = "SELECT window_start, MAX(k) AS most FROM s GROUP BY TUMBLE '2 seconds'"


class Fed:
    """A session over one stream of six batches of two seconds each, of which four have run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.session = LocalSession(root / "run", logged=True)
        self.session.sql(STREAM.format(root / "in"))
        self.tables = [_rows(b) for b in range(6)]
        self.files = write_batches(root / "in", self.session.catalog.streams["s"], self.tables)
        self.session.query(MOST, name="live")
        for batch in range(4):
            self.batch(batch)

    def batch(self, batch: int) -> None:
        self.session.batch([("s", str(self.files[batch]))])

    def expected(self, name: str, batches: int, begin: int | None = None) -> pa.Table:
        return reference(self.session.handle(name).query, self.stream, self.tables[:batches], begin=begin)

    @property
    def stream(self) -> Stream:
        return self.session.catalog.streams["s"]


def _rows(batch: int) -> pa.Table:
    ticks = [2 * batch * SECOND + i * SECOND // 5 for i in range(10)]
    return pa.table({"k": [i % 3 for i in range(10)], "at": pa.array(ticks, pa.timestamp("us"))})


@pytest.fixture
def fed(tmp_path: Path) -> Fed:
    return Fed(tmp_path)


@pytest.mark.parametrize(
    ("option", "said", "hint"),
    [
        ("history = 'never'", "history can't be 'never'", "history = 'all'"),
        ("history = '0 seconds'", "longer than nothing", "2 hours"),
        ("history = '-2 hours'", "longer than nothing", "2 hours"),
        ("history = '2 months'", "months differ in length", "2 hours"),
        ("histroy = 'all'", "unknown option histroy of a query", "did you mean history"),
        ("history = 'all', history = 'all'", "option history is given twice", "keep one"),
    ],
)
def test_a_history_that_is_none_is_refused_at_its_place(fed: Fed, option: str, said: str, hint: str) -> None:
    with pytest.raises(SqlError) as error:
        fed.session.sql(f"CREATE QUERY q WITH ({option}) AS {COUNT}")
    assert said in error.value.message and hint in (error.value.hint or "") and "(at 1:" in str(error.value)


def test_python_refuses_it_too(fed: Fed) -> None:
    with pytest.raises(UsageError, match="history can't be 'soon'"):
        fed.session.query(COUNT, history="soon")


def test_rows_that_are_not_kept_have_no_history(fed: Fed) -> None:
    catalog: Any = fed.session.catalog
    query = fed.session.query(COUNT, name="q").query
    frame = Stream("s", fed.stream.columns, "at", path=None, format="dataframe")
    with pytest.raises(UsageError, match="stream s is read from a DataFrame, whose rows are not kept"):
        check_history(catalog.__class__(streams={"s": frame}), query, {}, "CREATE")


def test_one_that_takes_the_place_of_another_has_no_history(fed: Fed) -> None:
    with pytest.raises(UsageError, match="query live exists"):
        fed.session.sql(f"CREATE OR REPLACE QUERY live WITH (history = 'all') AS {COUNT}")
    fed.session.drop("live")
    with pytest.raises(UsageError, match="was dropped, and the next batch has still to leave it out"):
        fed.session.query(MOST, name="live", history="all")


def test_how_far_it_is_is_told(fed: Fed) -> None:
    (made,) = fed.session.sql(f"CREATE QUERY q WITH (history = 'all') AS {COUNT}")
    assert str(made).endswith("begins with the first row")
    handle = fed.session.handle("q")
    assert handle.begins == {"s": None} and handle.epoch is None and handle.catching_up == (0, 4)
    assert fed.session.replay(1) == 1 and handle.catching_up == (1, 4)
    fed.batch(4)
    assert handle.epoch is None and handle.catching_up == (1, 5), (
        "more than a little behind, it does not hold a batch up"
    )
    fed.session.replay()
    assert handle.catching_up == (5, 5)
    compare(handle.results(), fed.expected("q", 5))
    fed.batch(5)
    assert handle.epoch == 5 and handle.begins == {"s": None} and handle.catching_up is None
    compare(handle.results(), fed.expected("q", 6))
    compare(fed.session.handle("live").results(), fed.expected("live", 6))
    assert fed.session.latest_manifest().queries["q"].rows == handle.results().num_rows
    assert not list((fed.root / "run" / "replays").iterdir())


def test_a_length_of_event_time(fed: Fed) -> None:
    handle = fed.session.query(COUNT, name="q", history="3 seconds")
    begin = 2 * 4 * SECOND - SECOND // 5 - 3 * SECOND
    assert handle.begins == {"s": begin} and handle.catching_up == (0, 2), (
        "batches without a row of it are not read"
    )
    fed.batch(4)
    assert handle.epoch is None or handle.epoch == 4
    fed.session.replay()
    fed.batch(5)
    compare(handle.results(), fed.expected("q", 6, begin))


def test_a_file_that_is_gone_is_told_and_what_comes_after_it_counts(fed: Fed) -> None:
    fed.files[1].unlink()
    (made,) = fed.session.sql(f"CREATE QUERY q WITH (history = 'all') AS {COUNT}")
    assert f"{fed.files[1]}, read in batch 1, is gone" in str(
        made
    ) and "begins with rows of 1970-01-01 00:00:03.8" in str(made)
    handle, begin = fed.session.handle("q"), 2 * 2 * SECOND - SECOND // 5 + 1
    assert handle.begins == {"s": begin}
    fed.session.replay()
    fed.batch(4)
    assert handle.epoch == 4
    compare(handle.results(), fed.expected("q", 5, begin))


def test_a_file_that_goes_while_it_catches_up_stops_the_query_alone(fed: Fed) -> None:
    handle = fed.session.query(COUNT, name="q", history="all")
    fed.session.replay(1)
    fed.files[3].unlink()
    fed.session.replay()
    fed.session.replay()
    assert handle.status == "failed" and "gone before query q has read it again" in str(handle.error)
    fed.batch(4)
    compare(fed.session.handle("live").results(), fed.expected("live", 5))


def test_a_sink_that_is_gone_stops_the_query_alone(fed: Fed) -> None:
    (fed.root / "out").write_text("no directory")
    fed.session.sql(f"CREATE QUERY q INTO '{fed.root / 'out'}' WITH (history = 'all') AS {COUNT}")
    fed.session.replay()
    fed.session.replay()
    assert fed.session.handle("q").status == "failed" and str(fed.root / "out") in str(
        fed.session.handle("q").error
    )
    fed.batch(4)
    compare(fed.session.handle("live").results(), fed.expected("live", 5))


def test_dropped_while_it_catches_up(fed: Fed) -> None:
    handle = fed.session.query(COUNT, name="q", history="all")
    fed.session.replay(1)
    handle.drop()
    assert fed.session.replay() == 0 and not list((fed.root / "run" / "replays").iterdir())
    fed.batch(4)
    assert handle.epoch is None and fed.session.latest_manifest().queries.keys() == {"live"}


def test_before_any_row_there_is_nothing_to_read_again(tmp_path: Path) -> None:
    session = LocalSession(tmp_path / "run", logged=True)
    session.sql(STREAM.format(tmp_path / "in") + f"; CREATE QUERY q WITH (history = 'all') AS {COUNT}")
    (path,) = write_batches(tmp_path / "in", session.catalog.streams["s"], [_rows(0)])
    session.batch([("s", str(path))])
    assert session.handle("q").epoch == 0 and session.handle("q").begins == {"s": None}


def test_a_frontier_that_moved_while_its_stream_was_silent(tmp_path: Path) -> None:
    """The last row of r is at 1.8 s; while it is silent its frontier follows that of s, and closes all that there is."""
    session = LocalSession(tmp_path / "run", logged=True)
    session.sql(STREAM.format(tmp_path / "in"))
    session.sql(
        f"CREATE STREAM r (k BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{tmp_path / 'r'}', time = 'at', "
        "watermark = '5 seconds', idle_timeout = '1 millisecond')"
    )
    ins = write_batches(tmp_path / "in", session.catalog.streams["s"], [_rows(b) for b in range(5)])
    (only,) = write_batches(tmp_path / "r", session.catalog.streams["r"], [_rows(0)])
    session.query(MOST, name="live")
    session.batch([("s", str(ins[0])), ("r", str(only))])
    for path in ins[1:4]:
        time.sleep(0.005)
        session.batch([("s", str(path))])
    early = session.query(
        "SELECT window_start, COUNT(*) AS n FROM r GROUP BY TUMBLE '1 second'", name="early", history="all"
    )
    session.replay()
    assert sorted(early.results().column("n").to_pylist()) == [5, 5]
    time.sleep(0.005)
    session.batch([("s", str(ins[4]))])
    assert early.epoch == 4 and early.results().num_rows == 2
