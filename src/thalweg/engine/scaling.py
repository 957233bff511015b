"""How many partitions batches have: twice as many where they take too long, half as many where these would do.

latency |- - - -#- -#- - - - - - - - - - - - - - -     # a batch; its height is the time it takes
        |       #   #
        |   #   #   #   #   #                          two above the latency: 2 -> 4 partitions
        |#  #   #   #   #   #  #     #     #     #     sixteen far below it, with long rests: 4 -> 2
        +------------------------------------------> time
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from thalweg.model.settings import Config

LONG = 2
"""Batches one after another that take too long before there are more partitions."""
CALM, CALM_SECONDS, LOW_USE = 16, 60.0, 0.25
"""Batches, seconds and share of time that batches take, by which use is low."""
ROOM = 4.0
"""How many times shorter than the latency a batch is that may take twice as long: then it is still far from being too long."""
WORTH = 0.9
"""What part of the time batches may take at the most after there were more partitions, so that even more are tried."""


@dataclass(frozen=True)
class Limits:
    """Seconds that a batch may take, and between which numbers of partitions may be chosen."""

    latency: float
    fewest: int
    most: int

    def within(self, partitions: int) -> int:
        """The number nearest to one."""
        return min(max(partitions, self.fewest), self.most)


@dataclass(frozen=True)
class Load:
    """Seconds that a batch took, and those before it in which none ran."""

    seconds: float
    rest: float


@dataclass(frozen=True)
class Scaling:
    """Another number of partitions, and why."""

    before: int
    after: int
    why: str

    @property
    def words(self) -> str:
        """The change in words.

        >>> Scaling(2, 4, "set").words, Scaling(2, 1, "low use").words
        ('2 to 4 partitions (set)', '2 to 1 partition (low use)')
        """
        return f"{self.before} to {self.after} partition{'s' if self.after > 1 else ''} ({self.why})"


def rescaled(
    partitions: int, loads: Sequence[Load], limits: Limits, raised_at: float | None = None
) -> Scaling | None:
    """What the batches with so many partitions ask for; None where nothing is to change.

    `raised_at` are the seconds that batches took before the number was raised to this one: where that helped little, it is not raised
    further. A number that was halved is not raised again by the same load: at worst batches take twice as long, half of the latency.
    """
    if (allowed := limits.within(partitions)) != partitions:
        return Scaling(partitions, allowed, "limits")
    last = [load.seconds for load in loads[-LONG:]]
    if len(last) == LONG and min(last) > limits.latency:
        helped = raised_at is None or median(last) < WORTH * raised_at
        more = limits.within(2 * partitions)
        return _more(partitions, more, median(last), limits) if helped and more > partitions else None
    fewer = limits.within(partitions // 2)
    return _fewer(partitions, fewer, loads[-CALM:], limits) if fewer < partitions else None


def _more(before: int, after: int, seconds: float, limits: Limits) -> Scaling:
    expected = seconds * before / after
    why = f"batches took {seconds:.3g} s, more than {limits.latency:.3g} s; {expected:.3g} s or more expected"
    return Scaling(before, after, why)


def _fewer(before: int, after: int, loads: Sequence[Load], limits: Limits) -> Scaling | None:
    busy, longest = sum(load.seconds for load in loads), max((load.seconds for load in loads), default=0.0)
    whole = busy + sum(load.rest for load in loads)
    is_calm = len(loads) == CALM and whole >= CALM_SECONDS and busy < LOW_USE * whole
    if not is_calm or longest * ROOM > limits.latency:
        return None
    expected = median(load.seconds for load in loads) * before / after
    why = f"batches took {busy / whole:.0%} of the time; {expected:.3g} s a batch or less expected"
    return Scaling(before, after, why)


class Scale:
    """The number of partitions of a session, and the batches since it was chosen. A fixed number is followed at the next batch."""

    def __init__(self, partitions: int) -> None:
        self.partitions = partitions
        self._loads: list[Load] = []
        self._raised_at: float | None = None
        self._is_new = True

    def follow(self, config: Config, cores: Callable[[], int]) -> Scaling | None:
        """Choose the number for the next batch."""
        found = self._asked(config, cores)
        if found is not None:
            last = [load.seconds for load in self._loads[-LONG:]]
            self._raised_at = median(last) if last and found.after > found.before else None
            self.partitions, self._loads, self._is_new = found.after, [], True
        return found

    def took(self, seconds: float, rest: float) -> None:
        """A batch was committed. The first with a number is left out: it also cuts state anew."""
        if not self._is_new:
            self._loads = [*self._loads[-CALM:], Load(seconds, rest)]
        self._is_new = False

    def _asked(self, config: Config, cores: Callable[[], int]) -> Scaling | None:
        if config.partitions is not None:
            is_other = config.partitions != self.partitions
            return Scaling(self.partitions, config.partitions, "set") if is_other else None
        fewest, most = config.limits or (1, max(cores(), 1))
        return rescaled(self.partitions, self._loads, Limits(config.latency, fewest, most), self._raised_at)
