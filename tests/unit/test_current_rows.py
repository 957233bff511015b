"""The present rows of a query that tells changes."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from thalweg.errors import UsageError
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalSession

STREAM = (
    "CREATE STREAM s (k BIGINT, v BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{}', time = 'at');"
)
SUMS = "SELECT k, SUM(v) AS total FROM s GROUP BY k HAVING SUM(v) <> 7 EVERY 1 SECOND"
LAST = "SELECT k, v FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY at DESC) = 1 EVERY 1 SECOND"


@pytest.fixture
def session(tmp_path: Path) -> LocalSession:
    made = LocalSession(tmp_path / "run", 2)
    made.sql(STREAM.format(tmp_path / "s"))
    return made


def feed(session: LocalSession, root: Path, *rows: tuple[int | None, int, int]) -> None:
    """A batch of (k, v, second)."""
    k, v, at = zip(*rows, strict=True)
    times = pa.array([datetime(2026, 1, 1) + timedelta(seconds=s) for s in at], pa.timestamp("us"))
    table = pa.table({"k": pa.array(k, pa.int64()), "v": pa.array(v, pa.int64()), "at": times})
    stream = session.catalog.streams["s"]
    session.batch([("s", str(write_batches(root / "s", stream, [table])[0]))])


def test_the_newest_row_of_each_group_is_left(session: LocalSession, tmp_path: Path) -> None:
    sums = session.query(SUMS, name="sums")
    feed(session, tmp_path, (1, 5, 0), (2, 3, 0), (None, 1, 1), (3, 9, 1))
    feed(session, tmp_path, (1, 5, 3), (2, 4, 4), (None, 1, 4), (9, 9, 9))
    present = {row["k"]: row["total"] for row in sums.state().to_pylist()}
    assert present == {1: 10, None: 2, 3: 9} and "deleted" not in sums.state().column_names
    assert sums.state({"k": 1}).column("total").to_pylist() == [10]
    assert sums.state({"k": None}).column("total").to_pylist() == [2] and sums.state({"k": 2}).num_rows == 0
    assert list(sums.state({"k": "3"}, format="pandas")["total"]) == [9]


def test_first_rows_that_are_left(session: LocalSession, tmp_path: Path) -> None:
    last = session.query(LAST, name="last")
    feed(session, tmp_path, (1, 5, 0), (2, 3, 1), (1, 6, 2))
    feed(session, tmp_path, (1, 5, 4), (2, 3, 5), (9, 9, 9))
    assert sorted(map(tuple, (r.values() for r in last.state().to_pylist()))) == [(1, 5), (2, 3)]


def test_what_has_no_present_rows_is_refused(session: LocalSession, tmp_path: Path) -> None:
    counts = session.query("SELECT k, COUNT(*) AS n FROM s GROUP BY k, TUMBLE '1 second'", name="counts")
    hidden = session.query("SELECT SUM(v) AS total FROM s GROUP BY k EVERY 1 SECOND", name="hidden")
    feed(session, tmp_path, (1, 5, 0), (1, 5, 3))
    for handle, where, words in (
        (counts, {}, "has no present rows"),
        (hidden, {}, "does not show all of its keys"),
        (hidden, {"z": 1}, "no column z"),
        (hidden, {"total": "much"}, "'much' is no value of column total"),
    ):
        with pytest.raises(UsageError, match=words) as error:
            handle.state(where)
        assert error.value.hint
