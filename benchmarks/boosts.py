"""Boosts, regrets and correlations, from the figures of plans. Pure arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.plan_figures import PlanFigures, SetFigures

Measure = Callable[[PlanFigures], float]
"""The time of a plan that is compared: `own`, `reading`, or of the whole batch."""


def own(plan: PlanFigures) -> float:
    """The steps' own time."""
    return plan.own


def reading(plan: PlanFigures) -> float:
    """The steps' own time and reading the files."""
    return plan.reading


def whole(plan: PlanFigures) -> float:
    """The whole batch, end to end."""
    return plan.batch


@dataclass(frozen=True)
class Boost:
    """How many times as fast as the naive plan, over the sets of a row."""

    mean: float
    highest: float

    def __str__(self) -> str:
        return f"{self.mean:.2f} / {self.highest:.2f}"


def boost(sets: Iterable[SetFigures], mode: str, measure: Measure = own) -> Boost:
    """The boost of a mode over naive; a set that the generator drew several times counts as often."""
    found = [(measure(s.plans["naive"]) / measure(s.plans[mode]), s.times) for s in sets]
    return Boost(sum(b * n for b, n in found) / sum(n for _, n in found), max(b for b, _ in found))


def regret(figures: SetFigures, mode: str, over: str, measure: Measure = own) -> float:
    """A mode's time over another's: above 1 it lost; exactly 1 where both are the same plan."""
    return measure(figures.plans[mode]) / measure(figures.plans[over])


def points(sets: Iterable[SetFigures], model: str, measure: Measure = own) -> list[tuple[float, float]]:
    """Predicted cost and measured time of every different plan."""
    plans = [p for s in sets for p in s.plans.values() if p.same_as == p.mode]
    return [(p.predicted[model], measure(p)) for p in plans if model in p.predicted]


def correlation(pairs: Sequence[tuple[float, float]]) -> float:
    """Pearson's coefficient, NaN where one side does not vary.

    >>> correlation([(1, 2), (2, 4), (3, 6)])
    1.0
    """
    x, y = (
        (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
        if pairs
        else (np.zeros(0), np.zeros(0))
    )
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    return round(float(np.corrcoef(x, y)[0, 1]), 6)


def rank_correlation(pairs: Sequence[tuple[float, float]]) -> float:
    """Spearman's coefficient: Pearson's of the ranks, ties sharing theirs.

    >>> rank_correlation([(1, 1), (2, 10), (3, 100), (4, 1000)])
    1.0
    """
    if not pairs:
        return float("nan")
    x, y = zip(*pairs, strict=True)
    return correlation(list(zip(_ranks(x), _ranks(y), strict=True)))


def _ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    return [ordered.index(v) + (ordered.count(v) - 1) / 2 for v in values]
