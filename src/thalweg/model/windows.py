"""Windows of event time and their arithmetic, in whole microseconds."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

SECOND = 1_000_000
UNITS = (
    ("day", 86_400 * SECOND),
    ("hour", 3_600 * SECOND),
    ("minute", 60 * SECOND),
    ("second", SECOND),
    ("millisecond", 1_000),
    ("microsecond", 1),
)


@dataclass(frozen=True, order=True)
class Window:
    """`W<range, slide>`: instances `[m*slide + offset, m*slide + offset + range)` for every integer m.

    Of a `session` each row of a key has the instance that starts with it, and those of a key that overlap are one window: it is as long
    as rows keep coming within `range`, the gap.
    A window with `edges`, each a (slide, offset) of instants, is *slices* of time: one begins at every edge and ends at the next. A slice has
    the number of the tumbling instance that begins with it, so between those that have rows there are numbers that none has.
    """

    range: int
    slide: int
    offset: int = 0
    session: bool = False
    edges: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        if not self.slide > 0 or not self.range > 0:
            raise ValueError(f"a window needs a positive range and slide, not {self.range} by {self.slide}")
        object.__setattr__(self, "offset", self.offset % self.slide)

    @property
    def tumbling(self) -> bool:
        """Whether each instant of time is in exactly one instance."""
        return self.range == self.slide and not self.session

    @property
    def grain(self) -> int:
        """The widest slot that every instance is a whole number of, with slots starting at `offset`.

        >>> Window(10, 4).grain
        2
        """
        return gcd(self.range, self.slide)

    def start(self, instance: int) -> int:
        """The first instant of an instance."""
        return instance * self.slide + self.offset

    def end(self, instance: int) -> int:
        """The first instant after an instance."""
        return self.start(instance) + self.range

    def closed(self, frontier: int) -> int:
        """The first instance that is still open at a frontier; every smaller one is final.

        >>> Window(10, 5).closed(20)
        3
        """
        return (frontier - self.range - self.offset) // self.slide + 1

    def first_from(self, instant: int) -> int:
        """The first instance that starts at or after an instant.

        >>> Window(10, 5).first_from(11)
        3
        """
        return -((self.offset - instant) // self.slide)

    def first_whole(self, instant: int) -> int:
        """The first instance that starts at or after an instant and has no row from before it, as far as a session could.

        >>> Window(10, 5).first_whole(11), session(10).first_whole(101)
        (3, 110)
        """
        return self.first_from(instant + self.range - 1 if self.session else instant)

    def __repr__(self) -> str:
        kind = ", session=True" if self.session else ""
        kind += f", edges={self.edges}" if self.edges else ""
        return f"Window(range={self.range}, slide={self.slide}, offset={self.offset}{kind})"

    def __str__(self) -> str:
        return default_id(self)


def session(gap: int) -> Window:
    """Sessions that end where no row of a key comes for a gap.

    >>> str(session(600 * SECOND))
    'session 10 minutes'
    """
    return Window(gap, 1, session=True)


@dataclass(frozen=True)
class NamedWindow:
    """A window of a query with the id that tells its results apart."""

    id: str
    window: Window


def duration_text(micros: int) -> str:
    """A duration in its largest whole unit.

    >>> duration_text(90 * SECOND), duration_text(60 * SECOND)
    ('90 seconds', '1 minute')
    """
    name, size = next(((n, s) for n, s in UNITS if micros and micros % s == 0), ("second", SECOND))
    count = micros // size
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


def default_id(window: Window) -> str:
    """The id of a window that the query gives none.

    >>> default_id(Window(3600 * SECOND, 600 * SECOND))
    '1 hour by 10 minutes'
    """
    text = duration_text(window.range)
    if window.session:
        return f"session {text}"
    if window.edges:
        return f"slices at {text}"
    if not window.tumbling:
        text += f" by {duration_text(window.slide)}"
    if window.offset:
        text += f" offset {duration_text(window.offset)}"
    return text
