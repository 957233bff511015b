"""Joins by many different columns on Spark, with a restart between: rows are kept once, and each query equals the definition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support import batches, session_on, stream_sql

from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches
from thalweg.testing.reference_joins import reference_join

BY = (
    "s.k = t.k",
    "s.v = t.v",
    "s.k = t.v",
    "s.v = t.k",
    "s.k + 1 = t.k",
    "s.v + 2 = t.v",
    "s.k = t.k AND s.v = t.v",
    "s.k = t.k + 2",
)
SELECT = "CREATE QUERY q{} AS SELECT s.k, s.v, t.v AS w, s.at FROM s [RANGE 3 SECONDS], t [RANGE 5 SECONDS] WHERE {} AND s.v < {};"


def test_a_commons_goes_on_after_a_restart(spark: Any, tmp_path: Path) -> None:
    declared = stream_sql(tmp_path / "s") + stream_sql(tmp_path / "t", name="t")
    queries = "".join(SELECT.format(i, by, 40 + 10 * i) for i, by in enumerate(BY))
    fed = [{"s": table, "t": other} for table, other in zip(batches(4), reversed(batches(4)), strict=True)]
    fed = [{"s": b["s"], "t": b["s"].set_column(1, "v", b["t"].column("v"))} for b in fed]
    for part, number in ((fed[:2], 1), (fed[2:], 2)):
        session = session_on(
            spark, tmp_path, "SET plan.sharing = 'all'; SET partitions = 2;" + declared + queries
        )
        for batch in part:
            for name, table in batch.items():
                write_batches(tmp_path / name, session.catalog.streams[name], [table])
            session.run_available()
        plan = session.runner.plan
        assert {f.place for f in plan.fragments} == {0, 1}
        assert len(plan.fragments) == 4
        streams, asked = session.catalog.streams, dict(session.catalog.queries)
        found = {name: session.handle(name).results() for name in asked}
        session.close()
        assert sum(t.num_rows for t in found.values()) > 0, number
    for name, query in asked.items():
        compare(found[name], reference_join(query, streams, fed))
