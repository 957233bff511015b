"""What a whole plan is expected to cost, in the units that EXPLAIN has: what several queries share counts once."""

from __future__ import annotations

from collections.abc import Iterable
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
    return _whole(plan, [_join_nanos(plan, j, known) for j in plan.joins], known)


def predicted_change(old: Plan, new: Plan, known: Known) -> tuple[Predicted, Predicted]:
    """The expected costs of a plan and of the one that follows it; what joins stay as they are is found out once."""
    joins = {j.id: j for j in old.joins}
    before = {j.id: _join_nanos(old, j, known) for j in old.joins}
    after = [
        before[j.id] if j.id in joins and _is_same(old, joins[j.id], new, j) else _join_nanos(new, j, known)
        for j in new.joins
    ]
    return _whole(old, before.values(), known), _whole(new, after, known)


def _whole(plan: Plan, nanos: Iterable[float], known: Known) -> Predicted:
    return Predicted(plan_cost(plan, known), sum(nanos) / 1e6)


def _is_same(old: Plan, before: Join, new: Plan, join: Join) -> bool:
    """Whether a join of a new plan costs what it did: it is planned as it was, for the same queries."""
    if (before.method, before.order) != (join.method, join.order):
        return False
    names = new.queries_of(join.id)
    return names == old.queries_of(join.id) and all(new.query(n) is old.query(n) for n in names)


def _join_nanos(plan: Plan, join: Join, known: Known) -> float:
    beside, made = join_estimate(plan, join, known)
    return beside + made.nanos
