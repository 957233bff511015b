"""When rate, keys and groups of the streams change, another plan takes over in mid-stream, and no result is lost or doubled."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from thalweg.calibrated import save
from thalweg.config import Config
from thalweg.logical.join import JoinQuery
from thalweg.optimizer.cost.calibration import JoinConstants
from thalweg.plan.nodes import Plan
from thalweg.planning import WindowPlanner, planner_for
from thalweg.testing.bound import bind_statements
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalEngine
from thalweg.testing.reference_joins import reference_join

CHANGE, BATCHES = 20, 44
# The last batch whose statistics the plan is looked at again with is 31.
COLUMNS = "k BIGINT, g BIGINT, x BIGINT, at TIMESTAMP"
STREAM = f"CREATE STREAM {{n}} ({COLUMNS}) WITH (format='parquet', path='{{d}}/{{n}}', time='at', watermark='0 seconds');"
QUERY = """CREATE QUERY q AS SELECT a.g, COUNT(*) AS n, SUM(b.x) AS s, MAX(a.x) AS m
    FROM a [RANGE 4 SECONDS], b [RANGE 2 SECONDS] WHERE a.k = b.k GROUP BY a.g EVERY 1 SECOND"""


class Learning(WindowPlanner):
    """The planner of a session: by what the last batch of an engine knew."""

    engine: LocalEngine

    def join(self, query: JoinQuery):
        return planner_for(Config(), self.engine.runner.manifest).join(query)


def rows(batch: int, stream: int, count: int, keys: int, groups: int) -> pa.Table:
    seed = batch * 100_003 + stream * 7_919
    return duckdb.sql(
        f"""SELECT (hash(i + {seed}) % {keys})::BIGINT AS k, (hash(i + {seed} + 1000003) % {groups})::BIGINT AS g,
            (hash(i + {seed} + 77) % 10)::BIGINT AS x, make_timestamp(({batch} * 1000000 + i * 1000000 // {count})::BIGINT) AS at
            FROM range({count}) AS r(i)"""
    ).to_arrow_table()


def early(plan: Plan) -> tuple[bool, ...]:
    """Which inputs the plan that goes on aggregates early."""
    join = [j for j in plan.joins if j.until is None][-1]
    return tuple(plan.side(s).early for s in join.sides)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((300, 5, 3), (300, 1_000_000, 3)),
        ((300, 1_000_000, 3), (300, 5, 3)),
        ((40, 1_000, 1_000), (900, 6, 2)),
    ],
    ids=["selectivity falls", "selectivity rises", "rate rises, groups fall"],
)
def test_drift_changes_the_plan_and_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: tuple[int, int, int], after: tuple[int, int, int]
) -> None:
    monkeypatch.setenv("THALWEG_HOME", str(tmp_path / "home"))
    save(JoinConstants(step=1.0))  # so few rows as here would be lost beside what statements cost
    bound = bind_statements("".join(STREAM.format(n=n, d=tmp_path) for n in "ab") + QUERY)
    planner = Learning(Config())
    engine = LocalEngine(tmp_path / "run", tuple(bound.streams.values()), tuple(bound.queries.values()), planner, 2)
    object.__setattr__(planner, "engine", engine)
    batches, plans = [], []
    for i in range(BATCHES):
        batches.append({n: rows(i, k, *(before if i < CHANGE else after)) for k, n in enumerate("ab")})
        engine.batch([(n, str(write_batches(tmp_path / n, bound.streams[n], [t])[0])) for n, t in batches[-1].items()])
        plans.append(engine.runner.plan)
    assert early(plans[CHANGE - 1]) != early(plans[-1])
    assert any(j.until is not None for p in plans for j in p.joins), "one plan took over from another"
    assert all(j.until is None for j in plans[-1].joins), "and the old one has gone"
    query = bound.queries["q"]
    assert isinstance(query, JoinQuery)
    compare(engine.results(query), reference_join(query, bound.streams, batches), 1e-9, 1e-9)
