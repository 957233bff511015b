"""Which window instances a micro-batch makes final, and which of them others are combined from: pure arithmetic on frontiers.

old frontier        new frontier
     |                   |
-----+-------------------+------> event time
  [ i0 ) final before
     [   i1   ) final now: end in (old, new]
               [   i2   ) open
"""

from __future__ import annotations

from collections.abc import Mapping

from thalweg.model.windows import Window
from thalweg.plan.nodes import Derived, Emission

LOWEST = -(2**61)
HIGHEST = 2**61
Range = tuple[int, int]
Frontiers = Mapping[str, int | None]


def finalized(window: Window, old: int | None, new: int | None) -> Range:
    """The instances [low, high) that become final when the frontier moves from old to new.

    >>> finalized(Window(10, 5), 20, 26)
    (3, 4)
    """
    if new is None:
        return (LOWEST, LOWEST)
    return (LOWEST if old is None else window.closed(old), window.closed(new))


def emitted(emission: Emission, old: int | None, new: int | None) -> Range:
    """The instances that an emission of a window gives out when the frontier moves."""
    window = window_of(emission)
    low, high = finalized(window, old, new)
    if emission.begin is not None:
        low = max(low, window.first_from(emission.begin))
    if emission.until is not None:
        high = min(high, window.first_from(emission.until))
    return (low, high)


def whole_from(emission: Emission) -> int | None:
    """The event time at which the first session may start that surely has no row from before the emission begins; None where it has
    always been there.

    >>> whole_from(Emission("q", (), window=Window(10, 1, session=True), begin=101))
    110
    """
    return None if emission.begin is None else window_of(emission).first_whole(emission.begin)


def window_of(emission: Emission) -> Window:
    """The window whose results are emitted."""
    assert emission.window is not None, f"{emission.query} has no window"
    return emission.window


def base(derived: Derived, source: Window, instance: int) -> int:
    """The first source instance that an instance is combined from."""
    return (derived.window.start(instance) - source.offset) // source.slide


def source_range(derived: Derived, source: Window, instances: Range) -> Range:
    """The source instances that a range of instances is combined from."""
    low, high = instances
    if low >= high:
        return (0, 0)
    return (
        LOWEST if low <= LOWEST else base(derived, source, low),
        base(derived, source, high - 1) + derived.pieces.highest + 1,
    )


def is_drained(emission: Emission, frontier: int | None) -> bool:
    """Whether an emission of a window that ends at `until` has given out all it ever will."""
    if emission.until is None or frontier is None:
        return False
    window = window_of(emission)
    return window.closed(frontier) >= window.first_from(emission.until)
