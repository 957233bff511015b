"""The time unit of a window set: the paper counts ranges and slides in whole units, windows are in microseconds."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from fractions import Fraction

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


@dataclass(frozen=True)
class Scale:
    """How windows in microseconds are counted: in units of `size` microseconds, from an instant `base` on. `rate` is how much of the unit
    that ranges and slides have in common one of these is."""

    size: int
    base: int = 0
    rate: Fraction = Fraction(1)

    def down(self, window: Window) -> Window:
        """A window in units."""
        return Window(
            window.range // self.size,
            window.slide // self.size,
            (window.offset - self.base) % window.slide // self.size,
        )

    def up(self, window: Window) -> Window:
        """A window in units, back in microseconds.

        >>> scale = Scale(1_000_000, 500_000)
        >>> scale.up(scale.down(Window(3_000_000, 3_000_000, 2_500_000)))
        Window(range=3000000, slide=3000000, offset=2500000)
        """
        return Window(
            window.range * self.size,
            window.slide * self.size,
            window.offset * self.size + self.base,
            edges=tuple(
                (slide * self.size, (offset * self.size + self.base) % (slide * self.size))
                for slide, offset in window.edges
            ),
        )


def scale_of(windows: Collection[Window]) -> Scale:
    """The largest unit in which windows can be counted, and the instant to count from: an offset that they have in common is none.

    >>> scale_of([Window(2_000_000, 2_000_000, 500_000), Window(3_000_000, 3_000_000, 500_000)])
    Scale(size=1000000, base=500000, rate=Fraction(1, 1))
    >>> scale_of([Window(2_000_000, 2_000_000), Window(3_000_000, 3_000_000, 500_000)])
    Scale(size=1000, base=0, rate=Fraction(1, 1000))
    """
    if not windows:
        return Scale(1)
    whole = counting_unit(windows)[1]
    found = [(_unit(windows, base), -base) for base in sorted({0, *(w.offset % w.slide for w in windows)})]
    size, base = max(found)
    return Scale(size, -base, Fraction(size, whole))


def _unit(windows: Iterable[Window], base: int) -> int:
    return time_unit([Window(w.range, w.slide, w.offset - base) for w in windows])[1]
