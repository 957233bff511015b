"""Of long windows of which only least and greatest values are asked little is kept, and what is kept is enough."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.model.settings import Config
from thalweg.optimizer.planner import planner_for
from thalweg.testing.bound import bind_statements
from thalweg.testing.comparison import compare
from thalweg.testing.local import LocalEngine
from thalweg.testing.reference_joins import reference_join

SECOND, BATCHES, SECONDS, RATE, KEYS, WINDOW = 1_000_000, 10, 8, 20, 4, 40
COLUMNS = "k BIGINT, g BIGINT, x BIGINT, y DOUBLE, at TIMESTAMP"
STREAMS = "".join(
    f"CREATE STREAM {s} ({COLUMNS}) WITH (format = 'parquet', path = 'none/{s}', time = 'at');" for s in "ab"
)
QUERY = "SELECT {} FROM a [{}], b [RANGE 25 SECONDS] WHERE a.k = b.k GROUP BY a.g EVERY 1 SECOND"
CALLS = {
    "MAX(a.x) AS r": f"RANGE {WINDOW} SECONDS",
    "MIN(a.x) AS r, MAX(b.x) AS s, MIN(b.y) AS t": f"RANGE {WINDOW} SECONDS",
    "MAX_BY(a.y, a.x) AS r, BOOL_OR(b.x > 990) AS s": f"RANGE {WINDOW} SECONDS",
    "MIN(a.y) AS r, MAX(a.x + b.x) AS s": "UNBOUNDED",
}


def rows(seed: int, batch: int) -> pa.Table:
    random, n = np.random.default_rng([seed, batch]), SECONDS * RATE
    at = batch * SECONDS * SECOND + np.arange(n) * (SECOND // RATE)
    x = pa.array(random.integers(0, 1_000, n), mask=random.random(n) < 0.1)
    y = np.where(random.random(n) < 0.02, np.nan, random.normal(size=n))
    found = {"k": random.integers(0, KEYS, n), "g": random.integers(0, 2, n), "x": x, "y": y}
    return pa.table({**found, "at": pa.array(at, pa.timestamp("us"))})


@pytest.mark.parametrize("calls", CALLS)
def test_long_windows_keep_few_rows(tmp_path: Path, calls: str) -> None:
    bound = bind_statements(f"{STREAMS} CREATE QUERY q AS {QUERY.format(calls, CALLS[calls])};")
    planner = planner_for(Config(early_aggregation="EAP11", evaluate="stairs"))
    streams = tuple(replace(s, path=str(tmp_path)) for s in bound.streams.values())
    engine = LocalEngine(tmp_path / "run", streams, tuple(bound.queries.values()), planner)
    batches = []
    for batch in range(BATCHES):
        batches.append({s: rows(n, batch) for n, s in enumerate("ab")})
        for s, table in batches[-1].items():
            pq.write_table(table, tmp_path / f"{s}{batch}.parquet")
        engine.batch([(s, str(tmp_path / f"{s}{batch}.parquet")) for s in "ab"])
        if batch == BATCHES // 2:
            engine.restart(3)
    (join,) = engine.runner.plan.joins
    kept = sum(f.rows for f in engine.runner.manifest.files if f.fragment == join.id)
    assert join.evaluate == "stairs"
    most = 2 * KEYS * (2 * WINDOW) if "x + b.x" not in calls else 10_000
    assert 0 < kept < most / 2, "of 40 slots with 8 kinds of rows far less than half are not beaten"
    query = bound.queries["q"]
    compare(engine.results(query), reference_join(query, bound.streams, batches), 1e-9, 1e-9)
