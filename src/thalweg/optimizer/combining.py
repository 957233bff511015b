"""How few instances of one window make up an instance of another: beyond the paper's covering sets.

The paper combines all 1 + (r1 - r2) / s2 instances of W2 within an instance of W1. One at every r2 from the start, and the
last, cover it as well (*sparse covering*); where r2 divides r1 and s2 divides r2 these are disjoint (*tiling*), so a
hopping W2 serves aggregates that bear no overlap.
"""

from __future__ import annotations

from thalweg.model.windows import Window
from thalweg.optimizer.coverage import partitioned_by
from thalweg.optimizer.traits import Features, Traits


def combined(w1: Window, w2: Window, traits: Traits, features: Features) -> int:
    """The least number of instances of W2 that make up one of W1, 0 if none do.

    >>> minimum, total, everything = Traits(overlap_safe=True), Traits(), Features()
    >>> combined(Window(10, 2), Window(4, 2), minimum, everything), combined(Window(10, 2), Window(4, 2), total, everything)
    (3, 0)
    >>> combined(Window(12, 2), Window(4, 2), total, everything)
    3
    """
    s2 = w2.slide
    if w1.slide % s2 or (w1.offset - w2.offset) % s2:
        return 0
    span, r2 = w1.range - w2.range, w2.range
    if span <= 0:
        return 1 if span == 0 and w1.slide != s2 else 0
    stride, uneven = divmod(r2, s2)
    if span % s2 or not stride:
        return 0
    last = span // s2
    if r2 == s2:
        return 1 + last
    steps, rest = divmod(last, stride)
    if features.tiling and not uneven and not rest:
        return 1 + steps
    if not traits.may_overlap:
        return 0
    return 1 + steps + (rest > 0) if features.sparse else 1 + last


def prefix_possible(w1: Window, w2: Window, traits: Traits, features: Features) -> bool:
    """Whether W1 may be the difference of two running totals over W2; for a tumbling W1 plain combining is never dearer."""
    allowed = features.prefix and traits.invertible and not traits.holistic
    return allowed and not w1.tumbling and partitioned_by(w1, w2)
