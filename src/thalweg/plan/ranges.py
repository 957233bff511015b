"""Which instances a micro-batch makes final, and which state it may forget: pure arithmetic on frontiers.

old frontier        new frontier
     |                   |
-----+-------------------+------> event time
  [ i0 ) final before
     [   i1   ) final now: end in (old, new]
               [   i2   ) open
"""

from __future__ import annotations

from collections.abc import Iterable

from thalweg.logical.windows import Window
from thalweg.plan.nodes import Emission, Fragment, Plan

LOWEST = -(2**61)
HIGHEST = 2**61
Range = tuple[int, int]


def finalized(window: Window, old: int | None, new: int | None) -> Range:
    """The instances [low, high) that become final when the frontier moves from old to new.

    >>> finalized(Window(10, 5), 20, 26)
    (3, 4)
    """
    if new is None:
        return (LOWEST, LOWEST)
    return (LOWEST if old is None else window.closed(old), window.closed(new))


def emitted(emission: Emission, old: int | None, new: int | None) -> Range:
    """The instances that an emission gives out when the frontier moves."""
    low, high = finalized(emission.window, old, new)
    if emission.begin is not None:
        low = max(low, emission.window.first_from(emission.begin))
    if emission.until is not None:
        high = min(high, emission.window.first_from(emission.until))
    return (low, high)


def base(fragment: Fragment, source: Window, instance: int) -> int:
    """The first source instance that an instance of a derived fragment combines."""
    return (fragment.window.start(instance) - source.offset) // source.slide


def source_range(fragment: Fragment, source: Window, instances: Range) -> Range:
    """The source instances that a range of a derived fragment's instances combines."""
    low, high = instances
    if low >= high:
        return (0, 0)
    first = LOWEST if low <= LOWEST else base(fragment, source, low) + min(fragment.pieces)
    return (first, base(fragment, source, high - 1) + max(fragment.pieces) + 1)


def drained(emission: Emission, frontier: int | None) -> bool:
    """Whether an emission that ends at `until` has given out all it ever will."""
    if emission.until is None:
        return False
    return frontier is not None and emission.window.closed(frontier) >= emission.window.first_from(emission.until)


def needed_from(plan: Plan, frontiers: dict[str, int | None]) -> dict[str, int]:
    """For each fragment with state to keep, the oldest instance that is still needed at these frontiers.

    A fragment of rows keeps open instances for its emissions; any fragment keeps what open instances of its children combine.
    """
    kept: dict[str, int] = {}
    for fragment in plan.fragments:
        frontier = frontiers.get(fragment.stream)
        uses = [*_emission_needs(plan, fragment, frontier), *_child_needs(plan, fragment, frontier)]
        if uses:
            kept[fragment.id] = min(uses)
    return kept


def _emission_needs(plan: Plan, fragment: Fragment, frontier: int | None) -> Iterable[int]:
    if fragment.source is not None:
        return
    for emission in plan.emissions:
        if fragment.id in emission.fragments and not drained(emission, frontier):
            yield LOWEST if frontier is None else fragment.window.closed(frontier)


def _child_needs(plan: Plan, fragment: Fragment, frontier: int | None) -> Iterable[int]:
    for child in plan.fragments:
        if child.source == fragment.id:
            yield LOWEST if frontier is None else base(child, fragment.window, child.window.closed(frontier)) + min(child.pieces)
