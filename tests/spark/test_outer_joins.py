"""Outer and anti joins on Spark, with a restart between: rows that waited for partners come out once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from support import batches, session_on, stream_sql

from thalweg import QueryHandle, Session
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches
from thalweg.testing.reference_nesting import Data, reference_any

QUERIES = """
CREATE QUERY met AS SELECT s.k, s.v, r.v AS w FROM s [RANGE 3 SECONDS] LEFT JOIN r [RANGE 2 SECONDS] ON s.k = r.k AND r.v % 3 = 0;
CREATE QUERY alone AS SELECT k, v FROM s [RANGE 3 SECONDS] WHERE NOT EXISTS (SELECT 1 FROM r [RANGE 1 SECOND] WHERE r.k = s.k AND r.v > s.v);
CREATE QUERY counted AS SELECT k, window_end, COUNT(*) AS n, COUNT(w) AS partners FROM met GROUP BY k, TUMBLE '4 seconds';
"""


def test_rows_wait_through_a_restart(spark: Any, tmp_path: Path) -> None:
    sql = "".join(stream_sql(tmp_path / n, ", files_per_batch = 1", name=n) for n in ("s", "r"))
    fed: dict[str, list[pa.Table]] = {"s": batches(6), "r": batches(6, 15)}
    for part in (slice(0, 3), slice(3, 6)):
        with session_on(spark, tmp_path, sql + QUERIES) as session:
            for name, tables in fed.items():
                write_batches(tmp_path / name, session.catalog.streams[name], tables[part])
            session.run_available()
    with Session(tmp_path / "run", spark=spark) as session:
        session.sql(sql + QUERIES)
        data = Data(session.catalog.streams, [{n: t[i] for n, t in fed.items()} for i in range(6)])
        for query in session.catalog.queries.values():
            found = QueryHandle(session, query.name).results()
            assert found.num_rows
            compare(found, reference_any(query, data))
