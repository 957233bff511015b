"""What plans of joins are expected to keep, against what they keep; and `plan.memory`, which bounds it."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.join_engine import run_plan
from benchmarks.join_points import Given, Point, join_query

from thalweg.errors import UsageError
from thalweg.model.settings import Config, with_setting
from thalweg.optimizer.cost.early_aggregation import plan_of
from thalweg.optimizer.estimate import estimate
from thalweg.optimizer.join_plans import Wish, consider, fitting
from thalweg.statistics.constants import join_constants
from thalweg.testing.local import LocalSession

SUMS = ("COUNT(*) AS n", "SUM(a.x) AS first", "SUM(b.x) AS second")
LOWS = ("COUNT(*) AS n", "MIN(a.x) AS first", "AVG(b.x) AS second")
PLANS = [(p, e, SUMS) for p in ("LAP", "EAP10", "EAP11") for e in ("snapshot", "delta", "expiry")]
PLANS += [(p, e, LOWS) for p in ("LAP", "EAP10", "EAP11") for e in ("snapshot", "expiry")]
EXTREMES = ("MIN(a.x) AS first", "MAX(b.x) AS second", "MAX(a.x) AS third")
PLANS += [("EAP11", "wide", SUMS), ("EAP11", "stairs", EXTREMES)]


def point(evaluate: str = "snapshot", aggregates: tuple[str, ...] = SUMS) -> Point:
    inputs = (Given(200, 20, 5), Given(200, 20))
    return Point("state", 0, inputs, 50, 1, 24, 2, 2, "hash", evaluate, fills=3, aggregates=aggregates)


@pytest.mark.parametrize(("plan", "evaluate", "aggregates"), PLANS)
def test_state_is_within_a_fifth_of_what_is_predicted(
    tmp_path: Path, plan: str, evaluate: str, aggregates: tuple[str, ...]
) -> None:
    given = point(evaluate, aggregates)
    ran = run_plan(given, Config(early_aggregation=plan, evaluate=evaluate), tmp_path)
    expected = estimate(
        join_query(given), plan_of(plan, 2), evaluate, "hash", given.statistics, join_constants()
    )
    assert 0.8 < expected.state_bytes / ran.state_bytes < 1.25


def test_of_the_plans_that_fit_the_cheapest_is_taken() -> None:
    given = point()
    plans = consider(join_query(given), given.statistics, Wish(), join_constants())
    sizes = sorted(p.estimate.state_bytes for p in plans)
    for size in (sizes[0], sizes[len(sizes) // 2], sizes[-1]):
        found = fitting(plans, int(size) + 1)
        assert found and all(p.estimate.state_bytes <= size + 1 for p in found)
        assert found == tuple(p for p in plans if p in found), "cheapest first"
    assert fitting(plans, 1)[0].estimate.state_bytes == sizes[0], "one that runs goes on with the least"
    assert fitting(plans, None) == plans


STREAM = "CREATE STREAM {n} (k BIGINT, x BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{d}/{n}', time = 'at');"
ASKED = "SELECT COUNT(*) AS n FROM a [RANGE 1 MINUTE], b [RANGE 1 MINUTE] WHERE a.k = b.k EVERY 1 SECOND"


def test_a_query_is_refused_where_no_plan_keeps_so_little(tmp_path: Path) -> None:
    session = LocalSession(tmp_path / "run", 1)
    session.sql("".join(STREAM.format(n=n, d=tmp_path) for n in "ab") + "SET plan.memory = '1 KB'")
    refused = r"query q has no plan with plan.memory = 1 KB: EAP11 \w+, which keeps least, is expected to keep \S+ MB"
    with pytest.raises(UsageError, match=refused):
        session.query(ASKED, name="q")
    session.sql("SET plan.memory = '2 GB'")
    session.query(ASKED, name="q")
    assert "plan.memory = 2 GB" in session.explain().text
    with pytest.raises(UsageError, match=r"has no plan with plan\.memory"):
        session.sql("SET plan.memory = '0.5 KB'")
    session.close()


@pytest.mark.parametrize(
    ("text", "size"), [("2 GB", 2 * 10**9), ("1.5mb", 1_500_000), ("10 bytes", 10), ("off", None)]
)
def test_sizes(text: str, size: int | None) -> None:
    assert with_setting(Config(), "plan.memory", text).memory == size


@pytest.mark.parametrize("text", ["2", "much", "0 GB", "-1 GB", "2 G"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"plan\.memory can't be"):
        with_setting(Config(), "plan.memory", text)
