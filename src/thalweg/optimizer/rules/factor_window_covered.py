"""Algorithm 2: the best factor window under "covered by" semantics."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from fractions import Fraction
from math import gcd

from thalweg.model.windows import Window
from thalweg.optimizer.cost.windows import recurrence_count
from thalweg.optimizer.coverage import covered_by
from thalweg.optimizer.divisors import divisors


def factor_window_covered(
    w: Window, downstream: Collection[Window], r: int, eta: Fraction = Fraction(1)
) -> Window | None:
    """The factor window between W and its downstream windows with the greatest benefit, if any has one. Of the virtual root, `eta` instances
    begin in a unit.

    >>> factor_window_covered(Window(1, 1), [Window(20, 20), Window(30, 30)], 120)
    Window(range=10, slide=10, offset=0)
    """
    n = sum((recurrence_count(wj, r) for wj in downstream), Fraction(0))
    nr = sum((recurrence_count(wj, r) * wj.range for wj in downstream), Fraction(0))
    most, best = Fraction(0), None
    for wf in _candidates(w, downstream, eta):
        delta = _benefit(wf, w, n, nr, r) if eta == 1 else _benefit_over_events(wf, n, nr, r, eta)
        if delta > most:
            most, best = delta, wf
    return best


def _candidates(w: Window, downstream: Collection[Window], eta: Fraction) -> Iterator[Window]:
    """Eligible slides with, for each, the least and the greatest eligible range.

    With s_f fixed, delta_f is a convex parabola in r_f (its square has the factor 1 / (s_f * s_W)), so its maximum is at
    an end. The offsets of the downstream windows must agree modulo s_f, which divides their differences too.
    """
    first = next(iter(downstream))
    sd = gcd(*(wj.slide for wj in downstream), *(wj.offset - first.offset for wj in downstream))
    rmin = min(wj.range for wj in downstream)
    if sd % w.slide or w.range % w.slide:
        return
    for sf in (w.slide * d for d in divisors(sd // w.slide)):
        lowest, highest = sf if eta > 1 else sf * (w.range // sf + 1), sf * (rmin // sf)
        # A window is not covered by another of the same range.
        if highest == rmin and any(wj.range == rmin and wj.slide != sf for wj in downstream):
            highest -= sf
        for rf in sorted({lowest, highest}) if lowest <= highest else ():
            wf = Window(rf, sf, first.offset)
            if covered_by(wf, w) and all(covered_by(wj, wf) for wj in downstream):
                yield wf


def _benefit(wf: Window, w: Window, n: Fraction, nr: Fraction, r: int) -> Fraction:
    """Equation 2 with the sums over j taken beforehand: n of n_j, nr of n_j * r_j."""
    kf, kw = Fraction(wf.range, wf.slide), Fraction(w.range, w.slide)
    saved = n * (kf - kw) + nr * (Fraction(1, w.slide) - Fraction(1, wf.slide))
    return saved - recurrence_count(wf, r) * (1 + Fraction(wf.range, w.slide) - kw)


def _benefit_over_events(wf: Window, n: Fraction, nr: Fraction, r: int, eta: Fraction) -> Fraction:
    """The same where windows are computed from the rows: eta in each unit of an instance."""
    combining = n + (nr - n * wf.range) / wf.slide
    return eta * nr - combining - recurrence_count(wf, r) * eta * wf.range
