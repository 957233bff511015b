"""Windows that are told while they are open, and groups of what changes: what they are refused, and queries that are read by name."""

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
COUNTS = "SELECT k, COUNT(*) AS n FROM s GROUP BY k EVERY 1 SECOND"
TOLD = "SELECT k, window_end, COUNT(*) AS n FROM s GROUP BY k, TUMBLE '4 seconds' EMIT EVERY 1 SECOND"


@pytest.fixture
def session(tmp_path: Path) -> LocalSession:
    made = LocalSession(tmp_path / "run", 2)
    made.sql(STREAM.format(tmp_path / "s"))
    return made


def feed(session: LocalSession, root: Path, *rows: tuple[int, int]) -> None:
    """A batch of (k, second)."""
    k, at = zip(*rows, strict=True)
    times = pa.array([datetime(2026, 1, 1) + timedelta(seconds=s) for s in at], pa.timestamp("us"))
    table = pa.table({"k": pa.array(k, pa.int64()), "v": pa.array(k, pa.int64()), "at": times})
    session.batch([("s", str(write_batches(root / "s", session.catalog.streams["s"], [table])[0]))])


def test_a_query_by_name_whose_changes_are_read(session: LocalSession, tmp_path: Path) -> None:
    counts = session.query(COUNTS, name="counts")
    sizes = session.query("SELECT n, COUNT(*) AS groups FROM counts GROUP BY n EVERY 1 SECOND", name="sizes")
    feed(session, tmp_path, (1, 0), (2, 0), (3, 1), (9, 2))
    feed(session, tmp_path, (1, 3), (3, 4), (3, 5), (9, 9))
    assert {r["n"]: r["groups"] for r in sizes.state().to_pylist()} == {1: 2, 2: 1, 3: 1}
    with pytest.raises(UsageError, match="counts is read by sizes"):
        counts.drop()


def test_open_windows_by_their_values(session: LocalSession, tmp_path: Path) -> None:
    told = session.query(TOLD, name="told")
    feed(session, tmp_path, (1, 0), (1, 1), (2, 1), (1, 2))
    assert sorted(r["n"] for r in told.state().to_pylist()) == [1, 2]
    feed(session, tmp_path, (1, 3), (2, 5), (2, 6))
    present = [(r["k"], r["window_end"].second, r["n"]) for r in told.state().to_pylist()]
    assert sorted(present) == [(1, 4, 4), (2, 4, 1), (2, 8, 1)]
    assert told.state({"k": 1}).num_rows == 1


@pytest.mark.parametrize("select", [TOLD, f"SELECT n, COUNT(*) AS c FROM ({COUNTS}) GROUP BY n"])
def test_neither_forgets_by_a_ttl(session: LocalSession, select: str) -> None:
    with pytest.raises(UsageError, match="ttl is for groups of one stream"):
        session.query(select, ttl="1 day")


def test_nobody_takes_the_place_of_open_windows(session: LocalSession, tmp_path: Path) -> None:
    session.query(TOLD, name="told")
    feed(session, tmp_path, (1, 0), (1, 1))
    for other in (TOLD.replace("COUNT(*)", "MAX(v)"), TOLD.partition(" EMIT")[0]):
        with pytest.raises(UsageError, match="windows that are told early"):
            session.sql(f"CREATE OR REPLACE QUERY told AS {other}")
    session.sql(f"CREATE OR REPLACE QUERY told AS {TOLD}")
