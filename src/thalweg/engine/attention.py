"""Joins that made, or took, ten times what was expected of them: their plan is looked at again at once, with values counted anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from thalweg.optimizer.planner import join_estimate
from thalweg.plan.nodes import Join, Plan
from thalweg.state.manifest import Manifest, StepTime
from thalweg.statistics.known import Known

OFF = 10.0
"""How many times what was expected is off."""
FEW_PAIRS, FEW_MILLIS = 10_000, 100.0
"""What a batch may make, and may take, whatever was expected."""
MOST_JOINS = 8
"""Joins of a batch that are looked at: those that took longest."""
BATCHES = 2
"""Batches before which plans are looked at then: with what is known, and with what the batch between them counts."""


class Attention:
    """Whether the plan of joins is to be looked at before the next batch. What was off is `told` once, until another plan runs."""

    def __init__(self) -> None:
        self.left = 0
        self.told: set[tuple[str, str]] = set()
        self._plan: Plan | None = None

    @property
    def counts(self) -> bool:
        """Whether the next batch counts values anew."""
        return self.left == BATCHES

    def pay(self, plan: Plan, made: Manifest, known: Callable[[], Known]) -> None:
        """Attention to what a batch made, by what was known before it."""
        if plan is not self._plan:
            self._plan, self.told = plan, set()
        self.left = max(self.left - 1, 0)
        if new := set(off(plan, made, known)) - self.told:
            self.told |= new
            self.left = BATCHES


def off(plan: Plan, made: Manifest, known: Callable[[], Known]) -> Iterator[tuple[str, str]]:
    """The joins of a batch of which there was far more than expected, and what: joined rows, or milliseconds."""
    busy = sorted((j for j in plan.joins if _is_much(j, made)), key=lambda j: -_took(j, made).ms)
    before = known() if busy else Known()
    for join in busy[:MOST_JOINS]:
        beside, expected = join_estimate(plan, join, before)
        seconds = before.batch(join.asked.streams).value / 1e6
        pairs, took = made.steps.get(f"pairs {join.id}", StepTime()).rows, _took(join, made).ms
        if pairs > FEW_PAIRS and pairs > OFF * expected.pairs * seconds:
            yield join.id, "pairs"
        if took > FEW_MILLIS and took > OFF * (beside + expected.nanos) / 1e6 * seconds:
            yield join.id, "ms"


def _is_much(join: Join, made: Manifest) -> bool:
    return (
        _took(join, made).ms > FEW_MILLIS or made.steps.get(f"pairs {join.id}", StepTime()).rows > FEW_PAIRS
    )


def _took(join: Join, made: Manifest) -> StepTime:
    return made.steps.get(f"{join.evaluate} {join.id}", StepTime())
