"""When one window can be computed from another: coverage and partitioning (section II of the factor-windows paper).

The paper's windows start at 0. Here each has an offset, so an instance of W1 begins with one of W2 only where also
o1 - o2 is a multiple of s2. The paper takes s <= r; a window with gaps (s > r) covers no other window.
"""

from __future__ import annotations

from collections.abc import Callable

from thalweg.model.windows import Window

Relation = Callable[[Window, Window], bool]
"""Whether W1 can be computed from W2: `covered_by` or `partitioned_by`."""


def aligned(w1: Window, w2: Window) -> bool:
    """Whether every instance of W1 begins where some instance of W2 begins.

    >>> aligned(Window(10, 4, 1), Window(3, 2, 1)), aligned(Window(10, 4), Window(3, 2, 1))
    (True, False)
    """
    return w1.slide % w2.slide == 0 and (w1.offset - w2.offset) % w2.slide == 0


def covered_by(w1: Window, w2: Window) -> bool:
    """Definition 1 by theorem 1: s1 and r1 - r2 are multiples of s2, with r1 > r2, or both are the same window.

    >>> covered_by(Window(10, 2), Window(8, 2)), covered_by(Window(10, 2), Window(7, 2))
    (True, False)
    """
    if w1 == w2:
        return True
    return w1.range > w2.range >= w2.slide and aligned(w1, w2) and (w1.range - w2.range) % w2.slide == 0


def partitioned_by(w1: Window, w2: Window) -> bool:
    """Definition 5 by theorem 4: s1 and r1 are multiples of s2, and W2 is tumbling.

    >>> partitioned_by(Window(10, 2), Window(2, 2)), partitioned_by(Window(10, 2), Window(8, 2))
    (True, False)
    """
    return w2.tumbling and covered_by(w1, w2)


def covering_multiplier(w1: Window, w2: Window) -> int:
    """M(W1, W2) of theorem 3: how many instances of W2 lie within one of W1, when W1 is covered by W2.

    >>> covering_multiplier(Window(10, 2), Window(8, 2))
    2
    """
    return 1 + (w1.range - w2.range) // w2.slide


def covering_set(w1: Window, w2: Window, instance: int) -> range:
    """Definition 2: the instances of W2 that lie within an instance of W1, when W1 is covered by W2.

    >>> [Window(8, 2).start(m) for m in covering_set(Window(10, 2), Window(8, 2), 1)]
    [2, 4]
    """
    first = (w1.start(instance) - w2.offset) // w2.slide
    return range(first, first + covering_multiplier(w1, w2))
