"""From a plan to the joins that EXPLAIN shows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from thalweg.compile.evaluations import EVALUATIONS
from thalweg.compile.retention import changes_id
from thalweg.explain.costs import paper_costs
from thalweg.explain.measured import LastBatch
from thalweg.explain.model import Expected, InputView, JoinRun, JoinView, NodeView
from thalweg.explain.nodes import input_estimates
from thalweg.explain.steps import join_steps
from thalweg.model.query import Query
from thalweg.model.settings import Config
from thalweg.optimizer.estimate import estimate
from thalweg.optimizer.join_plans import BEST, Considered, JoinChoice
from thalweg.optimizer.planner import WindowPlanner, size_text
from thalweg.optimizer.pool_costs import input_statistics, join_statistics
from thalweg.plan.nodes import Emission, Join, Plan
from thalweg.plan.shape import shape_of
from thalweg.plan.sides import sides_of
from thalweg.statistics.constants import join_constants
from thalweg.statistics.known import Known
from thalweg.statistics.records import JoinStatistics

SETTINGS = {
    "plan.early_aggregation": "early_aggregation",
    "plan.evaluate": "evaluate",
    "plan.join": "join",
    "plan.order": "order",
}
"""What narrows the choice of a join's plan."""


def join_views(
    plan: Plan,
    planner: WindowPlanner,
    views: Mapping[str, NodeView],
    last: LastBatch,
    wanted: Collection[str],
) -> tuple[JoinView, ...]:
    """The join queries of a plan that are wanted."""
    reader = _Reader(plan, planner, views, last)
    return tuple(reader.view(q) for q in plan.queries if not (q.windows or q.unites) and q.name in wanted)


@dataclass(frozen=True)
class _Reader:
    """Reads the joins of a plan, with what is expected of them and what was measured."""

    plan: Plan
    planner: WindowPlanner
    nodes: Mapping[str, NodeView]
    last: LastBatch

    def view(self, query: Query) -> JoinView:
        """Everything of one query."""
        known = self.planner.known
        statistics = join_statistics(known, query)
        config = self.planner.config
        plans, idle = self.planner.considered(query), idle_settings(config, query)
        settings = tuple(s for s in _narrowing(config) if s not in idle)
        runs = tuple(self._run(query, e, plans, statistics) for e in self.plan.given_to(query.name))
        leader = next(first for first, names in self.plan.alike.items() if query.name in names)
        return JoinView(
            query=query,
            inputs=_inputs(query, known),
            statistics=statistics,
            groups=known.groups(query),
            batch=known.batch(query.streams),
            runs=runs,
            plans=plans,
            settings=settings,
            freely=_free(self.planner).least(query) if settings else plans[0],
            paper=paper_costs(query, statistics, runs[-1].choice.method),
            finished=self.last.step("finish", leader),
            changes=self.last.node(changes_id(self.plan, query)) if query.changes else None,
            listed=_asked_for(self.planner, query),
            idle=tuple(f"{setting} has no effect: {why}" for setting, why in idle.items()),
        )

    def _run(
        self, query: Query, emission: Emission, plans: tuple[Considered, ...], statistics: JoinStatistics
    ) -> JoinRun:
        join = self.plan.join(emission.nodes[0])
        shape, cost = shape_of(self.plan, join), self._cost(query, join, plans, statistics)
        return JoinRun(
            join=join,
            emission=emission,
            queries=self.plan.queries_of(join.id),
            sides=tuple(self.nodes[id] for id in join.sides),
            cost=cost,
            expected=_alone(cost, input_estimates(self.plan, join, statistics)),
            steps=join_steps(shape, query),
            measured=self.last.node(join.id),
        )

    def _cost(
        self, query: Query, join: Join, plans: tuple[Considered, ...], statistics: JoinStatistics
    ) -> Considered:
        """What a running plan is expected to cost, also where it would no longer be chosen."""
        early = tuple(self.plan.fragment(s).early for s in join.sides)
        runs = JoinChoice(early, join.evaluate, join.method, join.invalidate, join.order)
        if (found := next((p for p in plans if p.choice == runs), None)) is not None:
            return found
        return Considered(
            runs, estimate(query, early, join.evaluate, join.method, statistics, join_constants(), join.order)
        )


def _alone(cost: Considered, inputs: list[Expected]) -> Expected:
    """What a join takes besides its inputs."""
    rows = cost.estimate.state_rows - sum(i.state_rows for i in inputs)
    return Expected(state_rows=max(rows, 0.0), nanos=cost.estimate.nanos - sum(i.nanos for i in inputs))


def _inputs(query: Query, known: Known) -> tuple[InputView, ...]:
    """Each input, whatever plan it is kept by."""
    figures = [known.input(side) for side in sides_of(query, (True,) * len(query.inputs))]
    return tuple(
        InputView(i, input_statistics(f, not i.is_stream), f)
        for i, f in zip(query.inputs, figures, strict=True)
    )


def _asked_for(planner: WindowPlanner, query: Query) -> tuple[Considered, ...]:
    """Plans that are compared but not taken freely: materialized pairs, and nested loops where rows are joined by columns."""
    config = planner.config
    if query.every is not None:
        apart = [e.name for e in EVALUATIONS.values() if e.asked_for and e.serves(query)]
        ways = [replace(config, evaluate=name) for name in apart] if config.evaluate == BEST else []
    else:
        ways = [replace(config, join="loop")] if config.join == BEST and query.equalities else []
    return tuple(replace(planner, config=way).least(query) for way in ways)


def idle_settings(config: Config, query: Query) -> dict[str, str]:
    """The settings of joins that have no effect on a query, and why."""
    rows, found = query.every is None, dict[str, str]()
    for key, value, idle, why in (
        (
            "plan.invalidate",
            config.invalidate,
            not rows and config.invalidate != "slot",
            "aggregates over joins forget by slot",
        ),
        (
            "plan.early_aggregation",
            config.early_aggregation,
            rows and config.early_aggregation != BEST,
            "joined rows are not aggregated",
        ),
        (
            "plan.evaluate",
            config.evaluate,
            rows and config.evaluate != BEST,
            "joined rows have one evaluation",
        ),
        (
            "plan.order",
            config.order,
            len(query.inputs) < 3 and config.order != BEST,
            "two inputs have one order",
        ),
        (
            "plan.invalidate",
            config.invalidate,
            rows and bool(query.attached) and config.invalidate != "slot",
            "rows that wait for partners are forgotten by slot",
        ),
    ):
        found |= {f"{key} = {value}": why} if idle else {}
    return found


def _free(planner: WindowPlanner) -> WindowPlanner:
    """A planner that no setting narrows."""
    return replace(
        planner,
        config=replace(
            planner.config, early_aggregation=BEST, evaluate=BEST, join=BEST, order=BEST, memory=None
        ),
    )


def _narrowing(config: Config) -> tuple[str, ...]:
    """The settings that leave less than all plans open."""
    found = [f"{key} = {value}" for key, name in SETTINGS.items() if (value := getattr(config, name)) != BEST]
    return (*found, *([f"plan.memory = {size_text(config.memory)}"] if config.memory is not None else []))
