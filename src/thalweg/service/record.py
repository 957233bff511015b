"""What the last batches did, kept in memory: all that pages and metrics need besides the last manifest."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from thalweg.engine.progress import BatchProgress
from thalweg.service.encoding import json_of

KEPT = 900
RECENT = 60.0
"""Seconds over which rates are taken."""
BOUNDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Seconds of the histogram of batch times."""


@dataclass(frozen=True)
class Batch:
    """A batch: when it ended (seconds since 1970), what it read, wrote and left, and how long ago the frontier of event time was then."""

    batch: int
    at: float
    rows: int
    seconds: float
    late: int
    state_rows: int
    state_bytes: int
    results: Mapping[str, int]
    bad_rows: int = 0
    bad_files: int = 0
    lag: float | None = None
    streams: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Times:
    """How long batches took since the start: how many up to each bound and beyond, all of them, and the sum of their seconds."""

    counts: tuple[int, ...] = (0,) * (len(BOUNDS) + 1)
    seconds: float = 0.0

    @property
    def number(self) -> int:
        """How many there were."""
        return sum(self.counts)

    def plus(self, seconds: float) -> Times:
        """One more."""
        place = bisect_left(BOUNDS, seconds)
        return Times(tuple(n + (i == place) for i, n in enumerate(self.counts)), self.seconds + seconds)


class Record:
    """Listens to a session. `shown` is the last batch whose results can all be read."""

    def __init__(self, shown: int, clock: Callable[[], float] = time.time) -> None:
        self.shown, self.began, self.times = shown, clock(), Times()
        self._clock, self._lock = clock, threading.Lock()
        self._batches: deque[Batch] = deque(maxlen=KEPT)
        self._texts: deque[tuple[int, bytes]] = deque(maxlen=KEPT)

    def listen(self, done: BatchProgress) -> None:
        """A batch was committed and its results are shown."""
        now, frontiers = self._clock(), [f for f in done.frontiers.values() if f is not None]
        made = Batch(
            done.batch,
            now,
            done.rows,
            round(done.seconds, 4),
            done.late,
            done.state_rows,
            done.state_bytes,
            done.results,
            done.bad_rows,
            done.bad_files,
            round(now - min(frontiers) / 1e6, 3) if frontiers else None,
            done.streams,
        )
        text = json_of(Batch, made)
        with self._lock:
            self._batches.append(made)
            self._texts.append((made.batch, text))
            self.times = self.times.plus(done.seconds)
            self.shown = max(self.shown, done.batch)

    def batches(self, after: int = -1) -> tuple[Batch, ...]:
        """The last batches later than one, oldest first."""
        with self._lock:
            return tuple(b for b in self._batches if b.batch > after)

    def told_after(self, after: int = -1) -> list[tuple[int, bytes]]:
        """The last batches later than one, each as JSON, oldest first."""
        with self._lock:
            return [told for told in self._texts if told[0] > after]

    def recent(self) -> tuple[tuple[Batch, ...], float]:
        """The batches of the last minute, and how many seconds that is: less, where the service is younger."""
        now = self._clock()
        span = max(min(RECENT, now - self.began), 1.0)
        return tuple(b for b in self.batches() if b.at > now - span), span

    def rates(self) -> dict[str, float]:
        """Result rows a second of every query that had any in the last minute."""
        batches, span = self.recent()
        return _rates((b.results for b in batches), span)

    def stream_rates(self) -> dict[str, float]:
        """Rows a second that were read of every stream in the last minute."""
        batches, span = self.recent()
        return _rates((b.streams for b in batches), span)


def _rates(found: Iterable[Mapping[str, int]], span: float) -> dict[str, float]:
    sums: Counter[str] = Counter()
    for rows in found:
        sums.update(rows)
    return {name: rows / span for name, rows in sums.items()}
