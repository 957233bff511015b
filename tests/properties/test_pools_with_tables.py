"""Queries over streams and static tables that differ in conditions on either: computed as one they give what they give alone."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_mixed_workloads import STREAM, rows

from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalSession

TABLE = "CREATE TABLE t (k BIGINT, kind BIGINT, name STRING) WITH (format = 'parquet', path = '{}');"
FROM = "FROM s [RANGE 2 SECONDS], r [RANGE 3 SECONDS], t WHERE s.k = r.k AND s.k = t.k AND {}"
LOOK_UP = "SELECT s.k, s.v, t.name FROM s, t WHERE s.k = t.k AND {}"
SELECTS = (
    f"SELECT s.k, r.v, t.name {FROM}",
    f"SELECT t.kind, COUNT(*) AS n, SUM(s.v) AS total {FROM} GROUP BY t.kind EVERY 1 SECOND",
    LOOK_UP,
)
CONDITIONS = (
    "t.kind = 1", "t.kind > 1 AND s.v < 12", "t.name LIKE 'b%'", "s.v > 5 AND r.v < 20", "t.kind = 1 AND r.v > 3", "s.v < r.v + t.kind",
    "TRUE", "t.name IN ('a', 'c')", "t.kind IS NOT NULL",
)  # fmt: skip


def run(root: Path, sharing: str, select: str, evaluate: str) -> tuple[LocalSession, list[pa.Table]]:
    session = LocalSession(root / sharing, 2)
    session.set("plan.sharing", sharing)
    session.set("plan.evaluate", evaluate)
    for name in ("s", "r"):
        session.sql(STREAM.format(name, root / sharing / name))
    session.sql(TABLE.format(root / "t.parquet"))
    conditions = [c.replace("r.v", "s.v") if select == LOOK_UP else c for c in CONDITIONS]
    made = [session.query(select.format(c), name=f"q{i}") for i, c in enumerate(conditions[:6])]
    random = Random(4)
    for i in range(7):
        if i == 2:
            made += [session.query(select.format(c), name=f"late{i}") for i, c in enumerate(conditions[6:])]
        if i in (3, 4):
            made[{3: 5, 4: 1}[i]].drop()
        batch = {n: rows(random, 1.5 * i, 15) for n in ("s", "r")}
        streams = session.catalog.streams
        session.batch(
            [(n, str(write_batches(root / sharing / n, streams[n], [t])[0])) for n, t in batch.items()]
        )
    return session, [q.results() for q in made]


@pytest.mark.parametrize("select", SELECTS, ids=["rows", "aggregate", "lookup"])
@pytest.mark.parametrize("evaluate", ["best", "expiry", "delta", "wide"])
def test_together_as_apart(select: str, evaluate: str, tmp_path: Path) -> None:
    check_together(select, evaluate, tmp_path)


def test_extremes_together_as_apart(tmp_path: Path) -> None:
    check_together(
        f"SELECT t.kind, MAX(s.v) AS most, MIN(r.v) AS least {FROM} GROUP BY t.kind EVERY 1 SECOND",
        "stairs",
        tmp_path,
    )


def check_together(select: str, evaluate: str, tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"k": [0, 1, 2, 3, 3], "kind": [1, 1, 2, None, 3], "name": ["a", "b", "bb", "c", "d"]}),
        tmp_path / "t.parquet",
    )
    apart, expected = run(tmp_path, "off", select, evaluate)
    together, found = run(tmp_path, "all", select, evaluate)
    assert len(together.runner.plan.joins) < len(apart.runner.plan.joins)
    assert sum(t.num_rows for t in expected) > 50
    for one, other in zip(found, expected, strict=True):
        compare(one, other)
    for session in (apart, together):
        session.close()
