"""What a batch costs whatever rows it has: statements of each hash range, of which there is one where partial aggregates are few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.engine.task import Report, Task
from thalweg.model.query import Query
from thalweg.optimizer.cost.calibration import JoinConstants
from thalweg.optimizer.estimate import estimate
from thalweg.optimizer.join_plans import Wish
from thalweg.optimizer.join_search import cheapest
from thalweg.statistics.records import FEW_ROWS, InputStatistics, JoinStatistics
from thalweg.testing.bound import bind_statements
from thalweg.testing.local import Chunk, LocalSession, local_job

STREAM = "CREATE STREAM {0} (k BIGINT, x BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{1}', time = 'at');"
QUERY = "SELECT {} AS r FROM x [RANGE 4 SECONDS], y [RANGE 4 SECONDS] WHERE x.k = y.k EVERY 2 SECONDS"
SECOND = 1_000_000
FEW, MANY = InputStatistics(100, 50, 50), InputStatistics(2 * FEW_ROWS, 2 * FEW_ROWS, 2 * FEW_ROWS)


def asked(aggregate: str = "COUNT(*)") -> Query:
    declared = "".join(STREAM.format(name, f"none/{name}") for name in "xy")
    return bind_statements(f"{declared} CREATE QUERY q AS {QUERY.format(aggregate)};").queries["q"]


def statements(query: Query, early: tuple[bool, ...], evaluate: str, given: JoinStatistics) -> float:
    return dict(estimate(query, early, evaluate, "hash", given, JoinConstants()).terms)["statements"]


@pytest.mark.parametrize(
    ("early", "inputs", "aggregate", "times"),
    [
        ((True, True), (FEW, FEW), "COUNT(*)", 1),
        ((True, False), (FEW, FEW), "COUNT(*)", 4),
        ((False, False), (FEW, FEW), "COUNT(*)", 4),
        ((True, True), (FEW, MANY), "COUNT(*)", 4),
        ((True, True), (FEW, FEW), "MEDIAN(x.x)", 4),
    ],
)
def test_statements_run_in_every_range_unless_there_are_few_partial_aggregates(
    early: tuple[bool, ...], inputs: tuple[InputStatistics, ...], aggregate: str, times: int
) -> None:
    alone = JoinStatistics(inputs, 1, 2 * SECOND)
    one, four = (statements(asked(aggregate), early, "snapshot", replace(alone, ranges=n)) for n in (1, 4))
    assert four == times * one


def test_streams_and_sets_take_statements() -> None:
    given = JoinStatistics((FEW, FEW), 1, 2 * SECOND)
    cost = {
        (e, bits): statements(asked(), bits, e, given)
        for e in ("snapshot", "expiry", "delta")
        for bits in ((False, False), (True, True))
    }
    assert cost["snapshot", (False, False)] < cost["expiry", (False, False)] < cost["delta", (False, False)]
    assert cost["delta", (True, True)] > cost["delta", (False, False)]
    assert statements(asked(), (True, True), "wide", given) > cost["delta", (True, True)]


def test_few_rows_are_aggregated_early_where_that_saves_an_exchange() -> None:
    given = JoinStatistics((FEW, FEW), 1, 2 * SECOND, ranges=8)
    best = cheapest(asked(), given, Wish(), JoinConstants())
    assert best is not None and best.choice.early == (True, True)


@pytest.mark.parametrize(
    ("plan", "exchange", "ranges"),
    [("LAP", "best", 3), ("EAP10", "best", 3), ("EAP11", "best", 1), ("EAP11", "always", 3)],
)
def test_the_engine_has_as_many_ranges_as_the_model_says(
    tmp_path: Path, plan: str, exchange: str, ranges: int
) -> None:
    session, used = LocalSession(tmp_path / "run", 3), list[int]()

    def job(chunks: Sequence[Chunk], task: Task) -> list[Report]:
        used.append(1 if task.near else task.partitions)
        return local_job(chunks, task)

    try:
        for name in "xy":
            (tmp_path / name).mkdir()
            session.sql(STREAM.format(name, tmp_path / name))
        session.sql(f"SET plan.early_aggregation = '{plan}'; SET plan.evaluate = 'snapshot'")
        session.sql(f"SET plan.exchange = '{exchange}'")
        session.query(QUERY.format("COUNT(*)"), name="q")
        session.begin()
        session.runner.job = job
        for batch in range(3):
            at = pa.array([batch * 2 * SECOND + n * 100_000 for n in range(20)], pa.timestamp("us"))
            rows = pa.table({"k": [n % 5 for n in range(20)], "x": list(range(20)), "at": at})
            chunks = [(name, str(tmp_path / name / f"{batch}.parquet")) for name in "xy"]
            for _, path in chunks:
                pq.write_table(rows, path)
            session.runner.on_batch(chunks, batch)
        (known,) = [p for p in session.explain().data["joins"][0]["plans"] if p["name"] == f"{plan} snapshot"]
    finally:
        session.close()
    statements_of_one = 8 * JoinConstants().step / 1e6 / 2
    assert used[-1] == ranges
    assert known["terms"]["statements"] == pytest.approx(ranges * statements_of_one, rel=0.3)
