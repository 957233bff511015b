"""What a whole plan is expected to cost, in the units that EXPLAIN has: what several queries share counts once."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.optimizer.planner import join_estimate, plan_cost
from thalweg.plan.nodes import Join, Plan
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
