"""When rate, keys and groups of the streams change, another plan takes over in mid-stream, and no result is lost or doubled."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from test_joins import Forced

from thalweg.model.query import Query
from thalweg.model.settings import Config
from thalweg.optimizer.cost.calibration import JoinConstants
from thalweg.optimizer.planner import planner_for
from thalweg.plan.nodes import Plan
from thalweg.statistics.constants import save
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


def learning(engine: LocalEngine) -> LocalEngine:
    """An engine that plans as a session does: by what the last batch knew."""
    engine.runner.planning.planner_of = engine.runner.planning.fresh_planner_of = lambda workload, manifest: (
        planner_for(Config(), manifest)
    )
    return engine


def rows(batch: int, stream: int, count: int, keys: int, groups: int) -> pa.Table:
    seed = batch * 100_003 + stream * 7_919
    return duckdb.sql(
        f"""SELECT (hash(i + {seed}) % {keys})::BIGINT AS k, (hash(i + {seed} + 1000003) % {groups})::BIGINT AS g,
            (hash(i + {seed} + 77) % 10)::BIGINT AS x, make_timestamp(({batch} * 1000000 + i * 1000000 // {count})::BIGINT) AS at
            FROM range({count}) AS r(i)"""
    ).to_arrow_table()


def early(plan: Plan) -> tuple[bool, ...]:
    """Which inputs the plan that goes on aggregates early."""
    (emission,) = [e for e in plan.emissions if e.until is None]
    return tuple(plan.fragment(s).early for s in plan.join(emission.nodes[0]).sides)


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
    engine = learning(
        LocalEngine(
            tmp_path / "run",
            tuple(bound.streams.values()),
            tuple(bound.queries.values()),
            planner_for(Config()),
            2,
        )
    )
    batches, plans = [], []
    for i in range(BATCHES):
        batches.append({n: rows(i, k, *(before if i < CHANGE else after)) for k, n in enumerate("ab")})
        engine.batch(
            [(n, str(write_batches(tmp_path / n, bound.streams[n], [t])[0])) for n, t in batches[-1].items()]
        )
        plans.append(engine.runner.plan)
    first, last = early(plans[CHANGE - 1]), early(plans[-1])
    assert first != last
    if all(a <= b for a, b in zip(first, last, strict=True)):
        assert any(j.takes_over for p in plans for j in p.joins), (
            "aggregation sets are made of the rows that there are"
        )
    else:
        assert any(e.until is not None for p in plans for e in p.emissions), (
            "two plans run until the rows of the new one reach back far enough"
        )
    assert all(e.until is None for e in plans[-1].emissions), "and the old one has gone"
    query = bound.queries["q"]
    assert isinstance(query, Query)
    compare(engine.results(query), reference_join(query, bound.streams, batches), 1e-9, 1e-9)


UNBOUNDED = """CREATE QUERY q AS SELECT a.g, COUNT(*) AS n, SUM(b.x) AS s
    FROM a [UNBOUNDED], b [RANGE 2 SECONDS] WHERE a.k = b.k GROUP BY a.g EVERY 1 SECOND"""


@pytest.mark.parametrize("evaluate", ["snapshot", "delta", "wide", "stairs", "expiry", "materialize"])
def test_windows_without_end_are_taken_over(tmp_path: Path, evaluate: str) -> None:
    """Rows that were kept from the beginning become aggregation sets, and the next plan's evaluation begins with them."""
    asked = (
        UNBOUNDED if evaluate != "stairs" else UNBOUNDED.replace("COUNT(*)", "MIN(a.x)").replace("SUM", "MAX")
    )
    bound = bind_statements("".join(STREAM.format(n=n, d=tmp_path) for n in "ab") + asked)
    first, second = Forced(Config(), bits=0, evaluate="expiry"), Forced(Config(), bits=3, evaluate=evaluate)
    engine = LocalEngine(
        tmp_path / "run", tuple(bound.streams.values()), tuple(bound.queries.values()), first, 2
    )
    batches, kept = [], []
    for i in range(12):
        if i == 6:
            engine.replan(second)
        if i == 8:
            engine.restart(3)
        batches.append({n: rows(i, k, 200, 7, 3) for k, n in enumerate("ab")})
        engine.batch(
            [(n, str(write_batches(tmp_path / n, bound.streams[n], [t])[0])) for n, t in batches[-1].items()]
        )
        a = next(s.id for s in engine.runner.plan.fragments if s.source == "a")
        kept.append(sum(f.rows for f in engine.runner.manifest.files if f.fragment == a))
    assert early(engine.runner.plan) == (True, True) and kept[5] == 1_200 and kept[6] <= 7 * 7 * 3
    query = bound.queries["q"]
    assert isinstance(query, Query)
    compare(engine.results(query), reference_join(query, bound.streams, batches), 1e-9, 1e-9)


def test_rows_that_are_gone_are_not_asked_for(tmp_path: Path) -> None:
    """From aggregation sets of windows without end no plan can go back to rows, so the old one stays."""
    bound = bind_statements("".join(STREAM.format(n=n, d=tmp_path) for n in "ab") + UNBOUNDED)
    engine = LocalEngine(
        tmp_path / "run",
        tuple(bound.streams.values()),
        tuple(bound.queries.values()),
        Forced(Config(), bits=3),
        2,
    )
    for i in range(3):
        engine.replan(Forced(Config(), bits=3 * (i < 2)))
        engine.batch(
            [(n, str(write_batches(tmp_path / n, bound.streams[n], [rows(i, 0, 50, 7, 3)])[0])) for n in "ab"]
        )
    assert early(engine.runner.plan) == (True, True)
