"""What several Spark tests share: data, a session on it, and the check against the reference."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from thalweg import QueryHandle, Session
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches
from thalweg.testing.reference import reference
from thalweg.testing.reference_joins import reference_join

SECOND = 1_000_000
COLUMNS = "k BIGINT, v BIGINT, at TIMESTAMP"
QUERIES = """
CREATE QUERY sums AS SELECT k, window_id, window_start, SUM(v) AS total, COUNT(*) AS n, AVG(v) AS mean
  FROM s GROUP BY k, WINDOWS(TUMBLE '2 seconds', HOP '6 seconds' BY '2 seconds');
CREATE QUERY highs AS SELECT window_start, MAX(v) AS high, COUNT(DISTINCT k) AS keys
  FROM s WHERE v % 2 = 0 GROUP BY WINDOWS(TUMBLE '4 seconds');
"""

ROWS = """
CREATE VIEW odd AS SELECT k AS key, v * 10 AS tens, at FROM s WHERE v % 2 = 1;
CREATE QUERY rows AS SELECT key, tens + 1 AS more, at FROM odd WHERE key <> 3;
"""


def batches(count: int = 6, rows: int = 40) -> list[pa.Table]:
    """Batches over 4 s each, out of order within the watermark of 2 s, with one late row in the fourth."""
    made = []
    for b in range(count):
        ticks = [b * 4 * SECOND + (i * 37 % rows) * (4 * SECOND // rows) for i in range(rows)]
        if b == 3:
            ticks[5] = 1 * SECOND
        times = pa.array(ticks, pa.timestamp("us"))
        made.append(
            pa.table(
                {"k": [i % 5 for i in range(rows)], "v": [i * (b + 1) for i in range(rows)], "at": times}
            )
        )
    return made


def stream_sql(path: Path, more: str = "", format: str = "parquet", name: str = "s") -> str:
    """A stream over a directory."""
    return f"CREATE STREAM {name} ({COLUMNS}) WITH (format = '{format}', path = '{path}', time = 'at', watermark = '2 seconds'{more});"


def session_on(spark: Any, root: Path, sql: str) -> Session:
    """A session with statements run."""
    session = Session(root / "run", spark=spark)
    session.sql(sql)
    return session


def put(root: Path, session: Session, tables: Sequence[pa.Table]) -> None:
    """Write batches where the stream `s` reads them."""
    write_batches(root / "in", session.catalog.streams["s"], tables)


def bad_rows(directory: Path) -> list[tuple[str | None, ...]]:
    """What was set aside, as it is shown."""
    rows = [row for path in sorted(directory.glob("*.parquet")) for row in pq.read_table(path).to_pylist()]
    return sorted(
        (tuple(row[name] for name in ("file", "place", "column", "value", "reason")) for row in rows), key=str
    )


def check(session: Session, fed: Sequence[pa.Table]) -> None:
    """All results equal the definition over what was fed."""
    streams = session.catalog.streams
    for query in session.catalog.queries.values():
        rows = reference_join(query, streams, [{query.stream: t} for t in fed]) if query.passes else None
        expected = reference(query, streams[query.stream], fed) if rows is None else rows
        compare(QueryHandle(session, query.name).results(), expected)
