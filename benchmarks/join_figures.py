"""What the plans of a join were predicted to cost and what they took: regrets, ranks, and who won. Pure arithmetic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import mean

from benchmarks.join_points import Point

MEAN_REGRET, WORST_REGRET, MEAN_TAU = 1.10, 1.5, 0.8
NOISE = 0.05


@dataclass(frozen=True)
class PlanFigures:
    """One plan of a point, in ms of the steps' own time: predicted, by the paper's formula (in its own unit), and measured."""

    predicted: float
    paper: float
    measured: float
    steps: dict[str, float]
    state_rows: int


@dataclass(frozen=True)
class PointFigures:
    """All plans of a point. differing: the plans whose results are not those of the first."""

    point: Point
    plans: dict[str, PlanFigures]
    rows: int
    differing: tuple[str, ...]

    @property
    def chosen(self) -> str:
        """The plan that the optimizer takes: the cheapest predicted."""
        return min(self.plans, key=lambda p: self.plans[p].predicted)

    @property
    def best(self) -> str:
        """The plan that was fastest."""
        return min(self.plans, key=lambda p: self.plans[p].measured)

    @property
    def regret(self) -> float:
        """The chosen plan's time over the best plan's."""
        return self._regret(self.chosen)

    @property
    def paper_regret(self) -> float:
        """The same for the plan that is cheapest by the paper's formula."""
        return self._regret(min(self.plans, key=lambda p: self.plans[p].paper))

    def _regret(self, plan: str) -> float:
        return self.plans[plan].measured / self.plans[self.best].measured

    def tau(self, noise: float = 0.0, paper: bool = False) -> float | None:
        """Kendall's tau between predicted and measured times."""
        return kendall([(p.paper if paper else p.predicted, p.measured) for p in self.plans.values()], noise)


def kendall(pairs: Sequence[tuple[float, float]], noise: float = 0.0) -> float | None:
    """Kendall's tau: of all pairs of things, the part that both orders agree on, less the part that they don't.

    Two that one order holds equal count as neither. With `noise`, pairs whose second values are within that part of each other
    are left out; None where none is left.

    >>> kendall([(1, 10), (2, 20), (3, 30)]), kendall([(1, 30), (2, 20), (3, 10)]), kendall([(1, 10), (2, 20), (3, 19)])
    (1.0, -1.0, 0.3333333333333333)
    >>> kendall([(1, 10), (2, 20), (3, 19.5)], noise=0.05)
    1.0
    """
    apart = [(p, q) for p, q in combinations(pairs, 2) if abs(p[1] - q[1]) > noise * min(p[1], q[1])]
    signs = [
        _sign(p[0] - q[0]) * _sign(p[1] - q[1]) for p, q in (combinations(pairs, 2) if noise == 0 else apart)
    ]
    return sum(signs) / len(signs) if signs else None


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


@dataclass(frozen=True)
class Summary:
    """Over many points. wins: how often each plan was best; near: how often it was within the noise of the best."""

    points: int
    mean_regret: float
    worst_regret: float
    mean_tau: float
    mean_clear_tau: float
    paper_regret: float
    paper_tau: float
    wins: dict[str, int]
    near: dict[str, int]
    differing: int

    @property
    def reached(self) -> bool:
        """Whether the targets for regret and rank are reached."""
        return (
            self.mean_regret <= MEAN_REGRET
            and self.worst_regret <= WORST_REGRET
            and self.mean_tau >= MEAN_TAU
        )


def summary(figures: Sequence[PointFigures]) -> Summary:
    """The summary of at least one point."""
    regrets = [f.regret for f in figures]
    near = Counter(
        p for f in figures for p, m in f.plans.items() if m.measured <= (1 + NOISE) * f.plans[f.best].measured
    )
    return Summary(
        points=len(figures),
        mean_regret=mean(regrets),
        worst_regret=max(regrets),
        mean_tau=_mean(f.tau() for f in figures),
        mean_clear_tau=_mean(f.tau(NOISE) for f in figures),
        paper_regret=mean(f.paper_regret for f in figures),
        paper_tau=_mean(f.tau(paper=True) for f in figures),
        wins=dict(Counter(f.best for f in figures)),
        near=dict(near),
        differing=sum(bool(f.differing) for f in figures),
    )


def _mean(values: Iterable[float | None]) -> float:
    known = [v for v in values if v is not None]
    return mean(known) if known else float("nan")
