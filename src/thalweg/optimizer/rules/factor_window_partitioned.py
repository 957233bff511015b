"""Algorithm 5: the best factor window under "partitioned by" semantics."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd

from thalweg.model.windows import Window
from thalweg.optimizer.cost.windows import lambda_, no_worse
from thalweg.optimizer.coverage import partitioned_by
from thalweg.optimizer.divisors import divisors
from thalweg.optimizer.rules.factor_window_helps import factor_window_helps


def factor_window_partitioned(
    w: Window, downstream: Sequence[Window], r: int, eta: Fraction = Fraction(1)
) -> Window | None:
    """The best tumbling factor window between W and its downstream windows, if one helps. The virtual root has `eta` instances in a unit.

    The paper takes r_d as the gcd of the ranges; by theorem 4 r_f must divide the slides too, and the differences of
    the offsets.

    >>> factor_window_partitioned(Window(1, 1), [Window(20, 20), Window(30, 30)], 120)
    Window(range=10, slide=10, offset=0)
    """
    if not w.tumbling:
        return None
    lam = lambda_(downstream, r)
    offset = downstream[0].offset
    rd = gcd(*(length for wj in downstream for length in (wj.range, wj.slide, wj.offset - offset)))
    candidates = [
        Window(w.range * d, w.range * d, offset)
        for d in reversed(divisors(rd // w.range))
        if d > 1 or eta > 1
    ]
    helpful = [wf for wf in candidates if factor_window_helps(wf, w, downstream, lam, r, eta)]
    independent = [
        wf for wf in helpful if not any(other != wf and partitioned_by(other, wf) for other in helpful)
    ]
    best: Window | None = None
    for wf in independent:
        if best is None or no_worse(wf.range, best.range, w.range, lam):
            best = wf
    return best
