"""What a join of rows keeps: no row longer than a partner may come, in few files, under every strategy."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from thalweg.model.settings import Config
from thalweg.optimizer.planner import planner_for
from thalweg.state import compaction
from thalweg.testing.bound import bind_statements
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalEngine
from thalweg.testing.reference_joins import reference_join

STRATEGIES = ("slot", "probe", "probe-and-insert", "probe-all", "both-all")
BATCHES, ROWS, STEP = 60, 40, 500_000
STREAM = "CREATE STREAM {n} (k BIGINT, x BIGINT, at TIMESTAMP) WITH (format='parquet', path='{d}/{n}', time='at', watermark='0 seconds');"
SHORT = "CREATE QUERY short AS SELECT a.k, a.x, b.x AS y FROM a [RANGE 2 SECONDS], b [RANGE 4 SECONDS] WHERE a.k = b.k;"
LONG = "CREATE QUERY long AS SELECT a.k, a.x, b.x AS y FROM a [RANGE 7 SECONDS], b [RANGE 4 SECONDS] WHERE a.k = b.k;"


def rows(batch: int, stream: int) -> pa.Table:
    seed = batch * 100_003 + stream * 7_919
    return duckdb.sql(
        f"""SELECT (hash(i + {seed}) % 9)::BIGINT AS k, (hash(i + {seed} + 77) % 10)::BIGINT AS x,
            make_timestamp(({batch} * {STEP} + i * {STEP} // {ROWS})::BIGINT) AS at FROM range({ROWS}) AS r(i)"""
    ).to_arrow_table()


def run(
    root: Path, queries: str, strategy: str
) -> tuple[LocalEngine, list[tuple[int, int, int]], list[tuple[pa.Table, pa.Table]]]:
    """The engine, rows, files and bytes of state after every batch, and of each query what was found and what the definition gives."""
    bound = bind_statements("".join(STREAM.format(n=n, d=root / strategy) for n in "ab") + queries)
    planner = planner_for(Config(invalidate=strategy))
    engine = LocalEngine(
        root / strategy, tuple(bound.streams.values()), tuple(bound.queries.values()), planner, 2
    )
    batches, kept = [], []
    for i in range(BATCHES):
        batches.append({n: rows(i, k) for k, n in enumerate("ab")})
        engine.batch(
            [
                (n, str(write_batches(root / strategy / n, bound.streams[n], [t])[0]))
                for n, t in batches[-1].items()
            ]
        )
        files = engine.runner.manifest.files
        kept.append((sum(f.rows for f in files), len(files), sum(f.bytes for f in files)))
    joins = [q for q in bound.queries.values() if not q.windows]
    return engine, kept, [(engine.results(q), reference_join(q, bound.streams, batches)) for q in joins]


def test_slot_keeps_no_more_than_the_least_of_the_others(tmp_path: Path) -> None:
    kept = {}
    for strategy in STRATEGIES:
        _, kept[strategy], [(found, expected)] = run(tmp_path, LONG, strategy)
        compare(found, expected)
    for i, (rows, files, size) in enumerate(kept["slot"]):
        assert rows <= min(kept[s][i][0] for s in STRATEGIES[1:])
        assert size <= min(kept[s][i][2] for s in STRATEGIES[1:])
        assert files <= 4, "two sides in two hash ranges"


def test_many_rows_lie_in_files_by_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "SMALL", 0)
    kept = {}
    for strategy in ("slot", "both-all"):
        _, kept[strategy], [(found, expected)] = run(tmp_path, LONG, strategy)
        compare(found, expected)
    assert all(slot[0] <= other[0] for slot, other in zip(kept["slot"], kept["both-all"], strict=True))
    assert 4 < max(files for _, files, _ in kept["slot"]) <= 2 * 2 * 3 * 9, (
        "two sides in two hash ranges: a few files per block of the window"
    )


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_side_that_two_joins_share_keeps_what_the_longer_window_needs(
    tmp_path: Path, strategy: str
) -> None:
    engine, _, results = run(tmp_path, SHORT + LONG, strategy)
    assert len(engine.runner.plan.joins) == 1 and len(engine.runner.plan.fragments) == 2, "one pool"
    for found, expected in results:
        assert expected.num_rows > 0
        compare(found, expected)
