"""Plans that follow each other, as they are written down and read again."""

from __future__ import annotations

from pathlib import Path

from workloads import counted, planned, queries, windows

from thalweg.model.settings import Config
from thalweg.plan.nodes import Plan
from thalweg.state.local import LocalStore
from thalweg.state.plans import LONGEST, PlanLog, plan_at


def members(plan: Plan) -> tuple[object, ...]:
    """A plan whatever the order of its parts."""
    return (
        *(frozenset(part) for part in (plan.streams, plan.queries, plan.nodes, plan.joins, plan.emissions)),
        plan.settings,
    )


def test_what_is_read_is_what_was_written_however_plans_follow_each_other(tmp_path: Path) -> None:
    asked = queries(
        windows(),
        counted(),
        windows("x > 1"),
        windows("x > 2", "MAX(x) AS m"),
        counted("l.x > 1"),
        windows("x > 3"),
    )
    log, plan = PlanLog(LocalStore(tmp_path)), Plan()
    for round_ in range(2 * LONGEST):
        live = tuple(q for i, q in enumerate(asked) if (round_ * 7 + i * i) % 3)
        config = Config(
            windows=("naive", "best")[round_ % 2], early_aggregation=("LAP", "EAP11")[round_ // 2 % 2]
        )
        plan = planned(live, plan, config, top=round_ * 10_000_000, again=round_ % 4 == 3)
        name = log.write(plan, round_)
        assert members(plan_at(tmp_path / name)) == members(plan)
        assert members(PlanLog(LocalStore(tmp_path)).read(name)) == members(plan)
        log.forget()
        assert len(log.chain) <= LONGEST and {p.name for p in tmp_path.iterdir()} == set(log.chain)


def test_a_plan_goes_on_where_another_process_stopped(tmp_path: Path) -> None:
    asked = queries(windows(), counted())
    first = planned(asked[:1])
    name = PlanLog(LocalStore(tmp_path)).write(first, 1)
    log = PlanLog(LocalStore(tmp_path))
    second = planned(asked, log.read(name))
    following = log.write(second, 2)
    assert members(plan_at(tmp_path / following)) == members(second)
    assert (tmp_path / following).stat().st_size < (tmp_path / name).stat().st_size * 2
