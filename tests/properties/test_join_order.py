"""The order in which inputs meet is part of the plan: it changes between two batches without a handover, and no result changes."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from test_join_drift import learning
from test_joins import EVALUATIONS, Forced

from thalweg.model.settings import Config
from thalweg.optimizer.cost.calibration import JoinConstants
from thalweg.optimizer.planner import planner_for
from thalweg.plan.nodes import Join, Plan
from thalweg.statistics.constants import save
from thalweg.testing.bound import Bound, bind_statements
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalEngine
from thalweg.testing.reference_joins import reference_join

STREAM = "CREATE STREAM {n} (k BIGINT, j BIGINT, x BIGINT, at TIMESTAMP) WITH (format='parquet', path='{d}/{n}', time='at', watermark='0 s');"
INPUTS = "FROM a [RANGE 4 SECONDS], b [RANGE 2 SECONDS], c [RANGE 3 SECONDS] WHERE a.k = b.k AND b.j = c.j"
COUNTED = f"CREATE QUERY q AS SELECT a.j, COUNT(*) AS n, SUM(c.x) AS s, SUM(a.x + c.x) AS t {INPUTS} GROUP BY a.j EVERY 1 SECOND;"
JOINED = f"CREATE QUERY q AS SELECT a.x AS x, b.x AS y, c.x AS z {INPUTS};"


def bound(root: Path, query: str) -> Bound:
    return bind_statements("".join(STREAM.format(n=n, d=root) for n in "abc") + query)


def rows(batch: int, name: str, count: int, keys: int = 5, values: int = 5) -> pa.Table:
    """A second of rows, with so many values of k and of j."""
    seed = batch * 100_003 + ord(name) * 7_919
    return duckdb.sql(
        f"""SELECT (hash(i + {seed}) % {keys})::BIGINT AS k, (hash(i + {seed} + 1000003) % {values})::BIGINT AS j,
            (hash(i + {seed} + 77) % 10)::BIGINT AS x, make_timestamp(({batch} * 1000000 + i * 1000000 // {count})::BIGINT) AS at
            FROM range({count}) AS r(i)"""
    ).to_arrow_table()


def run_batch(engine: LocalEngine, found: Bound, root: Path, tables: dict[str, pa.Table]) -> Plan:
    engine.batch([(n, str(write_batches(root / n, found.streams[n], [t])[0])) for n, t in tables.items()])
    return engine.runner.plan


def only(plan: Plan) -> Join:
    """The join of a plan, which nothing hands over to."""
    (join,) = plan.joins
    assert all(e.until is None for e in plan.emissions) and not join.takes_over
    return join


@pytest.mark.parametrize("evaluate", ["rows", *EVALUATIONS])
@pytest.mark.parametrize("bits", [0, 5])
def test_another_order_in_every_batch(tmp_path: Path, evaluate: str, bits: int) -> None:
    """The join, its state and its results stay the same."""
    found = bound(tmp_path, JOINED if evaluate == "rows" else COUNTED)
    planners = [Forced(Config(), bits=bits, evaluate=evaluate, seed=i) for i in range(8)]
    engine = LocalEngine(
        tmp_path / "run", tuple(found.streams.values()), tuple(found.queries.values()), planners[0], 2
    )
    batches, plans = [], []
    for i, planner in enumerate(planners):
        engine.replan(planner)
        if i == 5:
            engine.restart(3)
        batches.append({n: rows(i, n, 20) for n in "abc"})
        plans.append(run_batch(engine, found, tmp_path, batches[-1]))
    assert len({only(p).id for p in plans}) == 1
    assert [only(p).order for p in plans[:5]] == [p.join(found.queries["q"]).order for p in planners[:5]]
    assert only(plans[5]).order == only(plans[4]).order, "after a restart all goes on as it was"
    query = found.queries["q"]
    compare(engine.results(query), reference_join(query, found.streams, batches), 1e-9, 1e-9)


@pytest.mark.parametrize("switch", [1, 3])
def test_what_is_joined_before_and_after_another_order_is_the_whole(tmp_path: Path, switch: int) -> None:
    """AJoin's figure 13 with a, b, c as S1, S2, S3 and T1 = T2 the switch: what is given out until then is what the rows until then make
    (IR1); then comes all that has a row since then (IR2 and IR3 with S1), whichever of its rows are older; nothing comes twice."""
    found = bound(tmp_path, JOINED)
    query = found.queries["q"]
    wanted: dict[bool | None, Forced] = {}
    for seed in range(20):
        planner = Forced(Config(), bits=0, evaluate="rows", seed=seed)
        first = {m.inputs.index(0) < 2 for m in planner.join(query).order if m.fresh == 1}
        wanted.setdefault(first.pop() if first else None, planner)
    engine = LocalEngine(
        tmp_path / "run", tuple(found.streams.values()), tuple(found.queries.values()), wanted[True], 2
    )
    batches: list[dict[str, pa.Table]] = []
    for i in range(6):
        if i == switch:
            engine.replan(wanted[False])
        batches.append({n: rows(i, n, 12) for n in "abc"})
        run_batch(engine, found, tmp_path, batches[-1])
        compare(engine.results(query), reference_join(query, found.streams, batches), 1e-9, 1e-9)
    assert only(engine.runner.plan).order == wanted[False].join(query).order != wanted[True].join(query).order


def test_statistics_change_the_order_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While few rows of `a` come they meet first; then few of `c` do."""
    monkeypatch.setenv("THALWEG_HOME", str(tmp_path / "home"))
    save(JoinConstants(step=1.0))  # so few rows as here would be lost beside what statements cost
    found = bound(tmp_path, JOINED)
    engine = learning(
        LocalEngine(
            tmp_path / "run",
            tuple(found.streams.values()),
            tuple(found.queries.values()),
            planner_for(Config()),
            2,
        )
    )
    before, after = {"a": 2, "b": 300, "c": 300}, {"a": 300, "b": 300, "c": 2}
    batches, plans = [], []
    for i in range(36):
        batches.append({n: rows(i, n, count, 50, 50) for n, count in (before if i < 12 else after).items()})
        plans.append(run_batch(engine, found, tmp_path, batches[-1]))
    first, last = only(plans[11]), only(plans[-1])
    assert first.id == last.id and first.order != last.order
    assert [m.inputs.index(0) < 2 for m in first.order if m.fresh == 1] == [True]
    assert [m.inputs.index(2) < 2 for m in last.order if m.fresh == 1] == [True]
    query = found.queries["q"]
    compare(engine.results(query), reference_join(query, found.streams, batches), 1e-9, 1e-9)
