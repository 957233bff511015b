"""Equal queries with EMIT CHANGES that share nothing: each gives what it would give alone."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from thalweg.testing.crowd import check_lives
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalSession

SECOND = 1_000_000
TEXT = "SELECT s.k, COUNT(*) AS n FROM s [RANGE 3 SECONDS], s AS t [RANGE 2 SECONDS] WHERE s.k = t.k GROUP BY s.k EVERY 1 SECOND EMIT CHANGES"


def rows(batch: int) -> pa.Table:
    ticks = [2 * batch * SECOND + i * SECOND // 3 for i in range(6)]
    return pa.table({"k": [(i * i + batch) % 4 for i in range(6)], "at": pa.array(ticks, pa.timestamp("us"))})


def test_equal_changes_apart(tmp_path: Path) -> None:
    session = LocalSession(tmp_path / "run", 2)
    session.sql(
        f"CREATE STREAM s (k BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{tmp_path / 's'}', time = 'at')"
    )
    session.sql("SET plan.sharing = 'off'")
    fed = [{"s": rows(b)} for b in range(6)]
    files = write_batches(tmp_path / "s", session.catalog.streams["s"], [b["s"] for b in fed])
    handles = [session.query(TEXT, name=name) for name in ("one", "two")]
    for path in files:
        session.batch([("s", str(path))])
    kept = [f for f in session.latest_manifest().files if f.fragment.startswith("changes_")]
    assert len(kept) == len({f.part for f in kept})
    assert check_lives(handles, session.catalog.streams, fed) > 0
    session.close()
