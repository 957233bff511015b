"""Algorithm 4: whether a factor window is beneficial under "partitioned by" semantics."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from thalweg.model.windows import Window
from thalweg.optimizer.cost.windows import multiplicity


def factor_window_helps(
    wf: Window,
    w: Window,
    downstream: Sequence[Window],
    lam: Fraction,
    r: int,
    eta: Fraction = Fraction(1),
) -> bool:
    """Whether adding the tumbling Wf between the tumbling W and its downstream windows improves the overall cost.

    The shortcuts need windows without gaps (k_j >= 1) and a Wf of two instances or more; else only the comparison with lambda holds.
    The virtual root has `eta` instances in a unit.

    >>> factor_window_helps(Window(10, 10), Window(1, 1), [Window(20, 20), Window(30, 30)], Fraction(2), 120)
    True
    """
    gaps = any(wj.slide > wj.range for wj in downstream)
    instances = wf.range * eta / w.range
    short = not gaps and instances >= 2
    if len(downstream) >= 2 and short:
        return True
    if len(downstream) == 1 and short:
        k1, m1 = Fraction(downstream[0].range, downstream[0].slide), multiplicity(downstream[0], r)
        if k1 == 1:
            return False
        if k1 >= 3 and m1 >= 3:
            return True
    return lam > 1 and instances >= lam / (lam - 1)
