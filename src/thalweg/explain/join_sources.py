"""From a plan to the joins that EXPLAIN shows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from thalweg.config import Config
from thalweg.explain.join_model import InputView, JoinRun, JoinView, KeptState, SideView
from thalweg.explain.join_steps import example_instants, join_steps
from thalweg.explain.measured import kept_state, measured_time
from thalweg.explain.paper_costs import paper_costs
from thalweg.known import Known
from thalweg.logical.join import JoinQuery
from thalweg.optimizer.cost.early_aggregation import plan_name
from thalweg.optimizer.join_plans import BEST, Considered, JoinChoice
from thalweg.plan.instants import changes_id, shape_of
from thalweg.plan.join_sides import sides_of
from thalweg.plan.join_views import side_sql
from thalweg.plan.nodes import Join, Plan, Side
from thalweg.planning import WindowPlanner, input_statistics, join_statistics
from thalweg.state.manifest import Manifest

SETTINGS = {"plan.early_aggregation": "early_aggregation", "plan.evaluate": "evaluate", "plan.join": "join"}
"""What narrows the choice of a join's plan."""


def join_views(plan: Plan, planner: WindowPlanner, measured: Manifest | None = None) -> tuple[JoinView, ...]:
    """The join queries of a plan."""
    reader = _Reader(plan, planner, measured)
    return tuple(reader.view(q) for q in plan.queries if isinstance(q, JoinQuery))


@dataclass(frozen=True)
class _Reader:
    """Reads the joins of a plan, with what is expected of them and what was measured."""

    plan: Plan
    planner: WindowPlanner
    measured: Manifest | None

    def view(self, query: JoinQuery) -> JoinView:
        """Everything of one query."""
        known = self.planner.known
        statistics = join_statistics(known, query)
        runs = tuple(self._run(query, j) for j in self.plan.joins if j.query == query.name)
        return JoinView(
            query=query,
            inputs=_inputs(query, known),
            statistics=statistics,
            groups=known.groups(query),
            batch=known.batch(query.streams),
            runs=runs,
            plans=self.planner.considered(query),
            settings=_narrowing(self.planner.config),
            freely=_with(self.planner, BEST, BEST, BEST).considered(query)[0],
            paper=paper_costs(query, statistics, runs[-1].choice.method),
            finished=measured_time(self.measured, f"finish {query.name}"),
            changes=kept_state(self.measured, changes_id(query)) if query.changes else None,
        )

    def _run(self, query: JoinQuery, join: Join) -> JoinRun:
        shape = shape_of(self.plan, join)
        return JoinRun(
            join=join,
            sides=tuple(self._side(self.plan.side(s.id)) for s in shape.sides),
            cost=self._cost(query, join),
            steps=join_steps(shape),
            instants=example_instants(shape),
            measured=self._evaluation(join),
        )

    def _cost(self, query: JoinQuery, join: Join) -> Considered:
        """What a running plan is expected to cost, also where the settings would no longer choose it."""
        early = tuple(self.plan.side(s).early for s in join.sides)
        cost = _with(self.planner, plan_name(early), join.evaluate, join.method).considered(query)[0].estimate
        return Considered(JoinChoice(early, join.evaluate, join.method, join.invalidate), cost)

    def _side(self, side: Side) -> SideView:
        users = tuple(dict.fromkeys(j.query for j in self.plan.joins if side.id in j.sides))
        return SideView(side, users, side_sql(side), None if side.static else kept_state(self.measured, side.id))

    def _evaluation(self, join: Join) -> KeptState | None:
        """What the evaluation did and keeps."""
        found = kept_state(self.measured, join.id)
        if found is None:
            return None
        time = measured_time(self.measured, f"{join.evaluate} {join.query}")
        return replace(found, times={**({join.evaluate: time} if time else {}), **found.times})


def _inputs(query: JoinQuery, known: Known) -> tuple[InputView, ...]:
    """Each input, whatever plan it is kept by."""
    figures = [known.input(side) for side in sides_of(query, (True,) * len(query.inputs))]
    return tuple(InputView(i, input_statistics(f, not i.is_stream), f) for i, f in zip(query.inputs, figures, strict=True))


def _with(planner: WindowPlanner, early: str, evaluate: str, join: str) -> WindowPlanner:
    return replace(planner, config=replace(planner.config, early_aggregation=early, evaluate=evaluate, join=join))


def _narrowing(config: Config) -> tuple[str, ...]:
    """The settings that leave less than all plans open."""
    return tuple(f"{key} = {value}" for key, name in SETTINGS.items() if (value := getattr(config, name)) != BEST)
