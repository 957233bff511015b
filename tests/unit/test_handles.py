"""What a handle tells: since when a query runs, from which event times on, until when, and what it found; also of dropped ones."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.errors import StateError, UsageError
from thalweg.testing.comparison import compare
from thalweg.testing.lifetimes import reference_of
from thalweg.testing.local import LocalSession

SECOND = 1_000_000
STREAM = (
    "CREATE STREAM s (k BIGINT, v BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{}', time = 'at');"
)
SUMS = "SELECT k, window_end, SUM(v) AS total FROM s GROUP BY k, TUMBLE '1 second'"
PAIRS = "SELECT a.v, b.v AS w FROM s AS a [RANGE 2 SECONDS], s AS b [RANGE 1 SECOND] WHERE a.k = b.k"


class Fed:
    """A session over one stream, fed two seconds a batch."""

    def __init__(self, root: Path) -> None:
        self.root, self.rows = root, list[dict[str, pa.Table]]()
        (root / "in").mkdir(exist_ok=True)
        self.session = self.opened()

    def opened(self) -> LocalSession:
        """The session, from its directory; queries are the caller's to declare again."""
        session = LocalSession(self.root / "run")
        session.sql(STREAM.format(self.root / "in"))
        return session

    def batch(self) -> None:
        """Feed and run one more batch."""
        number = len(self.rows)
        times = pa.array([(number * 2 * SECOND) + i * SECOND // 5 for i in range(10)], pa.timestamp("us"))
        self.rows.append(
            {
                "s": pa.table(
                    {"k": [i % 3 for i in range(10)], "v": list(range(number, number + 10)), "at": times}
                )
            }
        )
        path = self.root / "in" / f"{number}.parquet"
        pq.write_table(self.rows[-1]["s"], path)
        self.session.batch([("s", str(path))])


@pytest.fixture
def fed(tmp_path: Path) -> Fed:
    return Fed(tmp_path)


def test_a_life_from_its_epoch_to_its_end(fed: Fed) -> None:
    first = fed.session.query(SUMS, name="first")
    assert (first.epoch, first.begins, first.ended, first.status) == (None, None, None, "stopped")
    fed.batch()
    later = fed.session.query(PAIRS, name="later")
    assert [h.epoch for h in (first, later)] == [0, None]
    fed.batch()
    fed.batch()
    assert (first.epoch, first.begins, first.ended) == (0, {"s": None}, None)
    assert (later.epoch, later.begins) == (1, {"s": 1_800_001})
    first.drop()
    assert [first.ended, first.status] == [None, "dropped"]
    fed.batch()
    assert (first.epoch, first.ended, later.ended) == (0, 3, None)
    streams = fed.session.catalog.streams
    for handle in (first, later):
        assert handle.results().num_rows > 0
        compare(handle.results(), reference_of(handle, streams, fed.rows))


def test_dropped_queries_can_be_read_also_after_a_restart(fed: Fed) -> None:
    query = fed.session.query(SUMS, name="q")
    quiet = fed.session.query(SUMS.replace("SUM", "MAX"), name="quiet", into=str(fed.root / "elsewhere"))
    fed.batch()
    fed.session.query(SUMS.replace("SUM", "MIN"), name="never")
    fed.session.drop(query)
    quiet.drop()
    fed.session.drop("never")
    assert fed.session.handle("q").results().equals(query.results()) and query.query.name == "q"
    never = fed.session.handle("never")
    assert (never.epoch, never.ended, never.results().num_rows) == (None, None, 0)
    assert never.results().column_names == ["k", "window_end", "total"]
    with pytest.raises(UsageError, match="q was dropped already"):
        fed.session.drop(query)
    fed.batch()
    fed.session.close()
    again = fed.opened().handle("q")
    assert (again.epoch, again.begins, again.ended, again.status) == (0, {"s": None}, 1, "dropped")
    assert again.results().equals(query.results()) and again.results().num_rows > 0
    assert fed.opened().handle("quiet").directory == str(fed.root / "elsewhere")
    with pytest.raises(UsageError, match="dropped before this session was opened"):
        _ = again.query
    with pytest.raises(UsageError, match="no query named quit"):
        fed.opened().handle("quit")


def test_a_query_lives_on_after_a_restart(fed: Fed) -> None:
    fed.session.query(SUMS, name="q")
    fed.batch()
    fed.session.close()
    fed.session = fed.opened()
    query = fed.session.query(SUMS, name="q")
    assert query.epoch == 0
    fed.batch()
    assert (query.epoch, query.begins, query.ended) == (0, {"s": None}, None)
    compare(query.results(), reference_of(query, fed.session.catalog.streams, fed.rows))


@pytest.mark.parametrize("then", [(), (SUMS.replace("SUM", "MAX"),), (PAIRS, SUMS)])
def test_lives_of_a_batch_that_was_never_committed_do_not_count(fed: Fed, then: tuple[str, ...]) -> None:
    fed.batch()
    query = fed.session.query(SUMS, name="q")
    fed.session.runner.fault = "driver:before-manifest"
    with pytest.raises(BaseException, match="driver:before-manifest"):
        fed.batch()
    assert query.epoch is None
    fed.session.close()
    fed.rows.pop()
    fed.session = fed.opened()
    assert fed.session.lives() == ()
    for number, select in enumerate(then):
        fed.session.query(select, name=f"then_{number}")
    fed.batch()
    fed.session.close()
    expected = [("q", 1), *((f"then_{n}", 1) for n in range(len(then)))]
    assert [(v.name, v.epoch) for v in fed.opened().lives()] == expected, (
        "q was accepted, and is in force from the first batch on that is"
    )


def test_a_name_is_free_again_but_not_its_results(fed: Fed) -> None:
    old = fed.session.query(SUMS, name="q")
    fed.batch()
    old.drop()
    with pytest.raises(UsageError, match="holds results of an earlier query"):
        fed.session.query(PAIRS, name="q")
    new = fed.session.query(PAIRS, name="q", into=str(fed.root / "other"))
    fed.batch()
    assert (old.epoch, old.ended, new.epoch, new.ended) == (0, 1, 1, None)
    assert fed.session.handle("q").directory == new.directory != old.directory
    assert old.results().column_names == ["k", "window_end", "total"]


def test_a_closed_session_takes_no_query(fed: Fed) -> None:
    query = fed.session.query(SUMS, name="q")
    fed.batch()
    fed.session.close()
    assert fed.session.status == "closed" and query.results().num_rows > 0
    with pytest.raises(UsageError, match="the session is closed"):
        fed.session.query(SUMS, name="r")
    with pytest.raises(UsageError, match="the session is closed"):
        fed.session.start()


def test_waiting_for_a_session_that_does_not_run(fed: Fed) -> None:
    with pytest.raises(UsageError, match="does not run"):
        fed.session.query(SUMS, name="q").wait(5)


def test_damaged_lives_are_named(fed: Fed) -> None:
    fed.session.query(SUMS, name="q")
    fed.batch()
    fed.session.close()
    (path,) = (fed.root / "run" / "queries").iterdir()
    path.write_text(path.read_text().replace('"epoch": 0', '"epoch": 1'))
    with pytest.raises(StateError, match=path.name):
        _ = fed.opened().handle("q").epoch


def test_a_handle_keeps_to_its_life_where_a_later_query_asks_the_same(fed: Fed) -> None:
    first = fed.session.query(SUMS, name="a")
    fed.batch()
    fed.batch()
    second = fed.session.query(SUMS.replace("SUM", "MAX"), name="a", replace=True)
    fed.batch()
    third = fed.session.query(SUMS, name="a", replace=True)
    fed.batch()
    fed.batch()
    assert [(h.epoch, h.ended) for h in (first, second, third)] == [(0, 2), (2, 3), (3, None)]
    assert len({h.directory for h in (first, second, third)}) == 3
    found = [set(map(str, h.results()["window_end"].to_pylist())) for h in (first, second, third)]
    assert all(found) and not found[0] & found[2], "instances of the first are not shown for the third"
    assert fed.session.handle("a").epoch == 3 and [h.is_live for h in (first, third)] == [False, True]


def test_only_the_last_dropped_queries_are_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Queries come and go for as long as a session runs."""
    monkeypatch.setattr("thalweg.api.session.DROPPED", 2)
    fed = Fed(tmp_path)
    for n in range(4):
        fed.session.query(SUMS, name=f"q{n}").drop()
    assert [fed.session.handle(f"q{n}").status for n in (2, 3)] == ["dropped"] * 2
    with pytest.raises(UsageError, match="no query named q1"):
        fed.session.handle("q1")
