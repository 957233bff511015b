"""What the factor-windows paper says a plan over many windows costs: events processed in a period R, exactly.

Ranges and slides are in whole units. Where a range is not a multiple of its slide (the paper leaves that case open) the
recurrence count of equation 1 is a fraction: the instances that end within R, with the last one in proportion.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fractions import Fraction
from math import lcm

from thalweg.model.windows import Window
from thalweg.optimizer.cost.edges import Vertex, Weigh
from thalweg.optimizer.coverage import covering_multiplier
from thalweg.optimizer.forest import Forest, Step
from thalweg.optimizer.slices import share
from thalweg.optimizer.traits import Traits


def period(windows: Iterable[Window]) -> int:
    """R: the least common multiple of the ranges.

    >>> period([Window(10, 10), Window(20, 20), Window(30, 30), Window(40, 40)])
    120
    """
    return lcm(*(w.range for w in windows))


def multiplicity(w: Window, r: int) -> Fraction:
    """m_i = R / r_i."""
    return Fraction(r, w.range)


def recurrence_count(w: Window, r: int) -> Fraction:
    """n_i of equation 1: the instances of a window within a period R.

    >>> recurrence_count(Window(10, 2), 20), recurrence_count(Window(10, 4), 20)
    (Fraction(6, 1), Fraction(7, 2))
    """
    return 1 + Fraction(r - w.range, w.slide)


def instance_cost(w: Window, source: Window | None, eta: int | Fraction = 1) -> int | Fraction:
    """mu_i: the events of an instance, or by observation 1 the instances of a source that cover it."""
    return eta * w.range if source is None else covering_multiplier(w, source)


def forest_cost(forest: Forest, eta: int | Fraction = 1, r: int | None = None) -> Fraction:
    """C of a plan: the sum of c_i = n_i * mu_i over its windows, R being that of the windows asked for."""
    r = period(s.window for s in forest.steps if not s.factor) if r is None else r
    return sum((step_cost(s, r, eta) for s in forest.steps), Fraction(0))


def step_cost(step: Step, r: int, eta: int | Fraction = 1) -> Fraction:
    """c_i of one window; a difference of running totals adds each instance of the source to the total once, and not every slot has a slice."""
    n = recurrence_count(step.window, r)
    if step.source is None:
        return n * eta * step.window.range
    if step.how == "prefix":
        return n * step.combined + recurrence_count(step.source, r)
    return n * step.combined * share(step.source)


def benefit(wf: Window, w: Window, downstream: Collection[Window], r: int) -> Fraction:
    """delta_f of equation 2: what is saved when Wf is put between W and its downstream windows."""
    nf, kf, kw = recurrence_count(wf, r), Fraction(wf.range, wf.slide), Fraction(w.range, w.slide)
    saved = sum(
        recurrence_count(wj, r) / nf * (kf - Fraction(wj.range, wf.slide) + Fraction(wj.range, w.slide) - kw)
        for wj in downstream
    )
    return nf * (saved - (1 + Fraction(wf.range, w.slide) - kw))


def lambda_(downstream: Iterable[Window], r: int) -> Fraction:
    """Equation 4: the sum of n_j / m_j."""
    return sum((recurrence_count(w, r) / multiplicity(w, r) for w in downstream), Fraction(0))


def no_worse(rf: int, other: int, rw: int, lam: Fraction) -> bool:
    """Theorem 9: whether the tumbling factor window of range rf costs at most as much as that of another range.

    Equation 5 is multiplied out, since lambda - r'_f / r_W may be negative or zero.

    >>> no_worse(10, 5, 1, Fraction(2))
    True
    """
    return rf * (lam - Fraction(other, rw)) >= other * (lam - Fraction(rf, rw))


def paper_weights(r: int, traits: Traits, eta: float = 1.0) -> Weigh:
    """The paper's cost for the search, at eta events per unit, divided by R since R may be too long for a float.

    A holistic aggregate processes every event of an instance, wherever it comes from.
    """

    def weigh(w: Window, factor: bool) -> Vertex:
        times = float(recurrence_count(w, r) / r)
        return Vertex(
            w, times, 1.0, 1.0, eta * w.range if traits.holistic else 0.0, 0.0, times * eta * w.range, factor
        )

    return weigh
