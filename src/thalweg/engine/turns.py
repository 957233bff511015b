"""When batches run and when they rest."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """Whether a batch runs, how many have `begun`, and how long batches and pauses took: `last` is that of the last batch. `turned` is
    notified when a batch begins and when it ends. Nobody rests while others are `hurried`."""

    def __init__(self) -> None:
        self.turned = threading.Condition()
        self.is_busy, self.hurried, self.begun = False, 0, 0
        self.last, self.last_pause = 0.0, 0.0
        self._busy, self._since = 0.0, 0.0

    @property
    def busy_seconds(self) -> float:
        """The time that batches took so far, this one included."""
        with self.turned:
            return self._busy + (time.monotonic() - self._since if self.is_busy else 0.0)

    @property
    def rested(self) -> float:
        """The seconds since the last batch ended; none while one runs."""
        with self.turned:
            return 0.0 if self.is_busy else time.monotonic() - self._since

    @property
    def due(self) -> float:
        """When the batch that runs ends if it takes as long as the last one, by the monotonic clock."""
        with self.turned:
            return self._since + self.last if self.is_busy else 0.0

    def rest(self, until: float) -> None:
        """Wait while a batch runs, at most until an instant of the monotonic clock."""
        with self.turned:
            self.turned.wait_for(
                lambda: not self.is_busy or self.hurried > 0, max(until - time.monotonic(), 0.0)
            )

    def follow(self, begun: int, pause: float) -> None:
        """Wait until another batch has begun after so many, or there was none for so many seconds."""
        with self.turned:
            self.turned.wait_for(lambda: self.begun != begun or not self.is_busy or self.hurried > 0)
            self.turned.wait_for(lambda: self.begun != begun or self.hurried > 0, pause)

    @contextmanager
    def hurry(self) -> Iterator[None]:
        """Nobody rests meanwhile."""
        with self.turned:
            self.hurried += 1
            self.turned.notify_all()
        try:
            yield
        finally:
            with self.turned:
                self.hurried -= 1

    def turn(self, is_busy: bool) -> None:
        """A batch begins, or ends."""
        with self.turned:
            now = time.monotonic()
            self.last_pause = now - self._since if is_busy and self._since else self.last_pause
            self.last = now - self._since if self.is_busy and not is_busy else self.last
            self._busy, self._since = self._busy + (now - self._since if self.is_busy else 0.0), now
            self.is_busy, self.begun = is_busy, self.begun + is_busy
            self.turned.notify_all()
