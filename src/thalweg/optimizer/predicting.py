"""What a whole plan is expected to cost, in the units that EXPLAIN has: what several queries share counts once."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.optimizer.cost.join_engine import Estimate
from thalweg.optimizer.estimate import estimate
from thalweg.optimizer.planner import plan_cost
from thalweg.optimizer.pool_costs import join_statistics, pool_cost, pool_statistics, widest
from thalweg.plan.nodes import Join, Plan
from thalweg.statistics.constants import join_constants
from thalweg.statistics.known import Known


@dataclass(frozen=True)
class Predicted:
    """Hash-table updates a batch for windows, and milliseconds a second of stream for joins."""

    updates: float = 0.0
    millis: float = 0.0


def predicted(plan: Plan, known: Known) -> Predicted:
    """The expected cost of a plan."""
    return Predicted(plan_cost(plan, known), sum(_join_nanos(plan, j, known) for j in plan.joins) / 1e6)


def _join_nanos(plan: Plan, join: Join, known: Known) -> float:
    beside, made = join_estimate(plan, join, known)
    return beside + made.nanos


def join_estimate(plan: Plan, join: Join, known: Known) -> tuple[float, Estimate]:
    """What a join of a plan is expected to cost beside itself, in a pool, and by itself."""
    queries = [plan.query(name) for name in plan.queries_of(join.id)]
    early = tuple(plan.fragment(side).early for side in join.sides)
    if not join.pool:
        statistics, asked, beside = join_statistics(known, queries[0]), queries[0], 0.0
    else:
        statistics, asked, beside = (
            pool_statistics(known, queries),
            widest(queries),
            pool_cost(known, queries),
        )
    return beside, estimate(
        asked, early, join.evaluate, join.method, statistics, join_constants(), join.order
    )
