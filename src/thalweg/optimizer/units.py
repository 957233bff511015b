"""The time unit of a window set: the paper counts ranges and slides in whole units, windows are in microseconds."""

from __future__ import annotations

from collections.abc import Iterable

from thalweg.model.windows import UNITS, Window


def time_unit(windows: Iterable[Window]) -> tuple[str, int]:
    """The largest unit that divides every range, slide and offset, and its length in microseconds.

    >>> time_unit([Window(600_000_000, 600_000_000), Window(90_000_000, 30_000_000)])
    ('second', 1000000)
    """
    lengths = [length for w in windows for length in (w.range, w.slide, w.offset)]
    return next((name, size) for name, size in UNITS if all(length % size == 0 for length in lengths))


def counting_unit(windows: Iterable[Window]) -> tuple[str, int]:
    """The largest unit that divides every range and slide: costs are counted in it, whatever the offsets are.

    >>> counting_unit([Window(20_000_000, 10_000_000, 1_000)])
    ('second', 1000000)
    """
    return time_unit(Window(w.range, w.slide) for w in windows)


def in_units(window: Window, size: int) -> Window:
    """A window counted in units of `size` microseconds."""
    return Window(window.range // size, window.slide // size, window.offset // size)


def in_microseconds(window: Window, size: int) -> Window:
    """A window counted in units of `size` microseconds, back in microseconds."""
    return Window(window.range * size, window.slide * size, window.offset * size)
