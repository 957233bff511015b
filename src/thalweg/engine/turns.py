"""When batches run and when they rest."""

from __future__ import annotations

import threading
import time


class Turns:
    """Whether a batch runs, and how long batches and pauses took: `last` is that of the last batch. `turned` is notified when a batch
    begins and when it ends."""

    def __init__(self) -> None:
        self.turned = threading.Condition()
        self.is_busy = False
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

    def rest(self, until: float) -> None:
        """Wait while a batch runs, at most until an instant of the monotonic clock."""
        with self.turned:
            self.turned.wait_for(lambda: not self.is_busy, max(until - time.monotonic(), 0.0))

    def turn(self, is_busy: bool) -> None:
        """A batch begins, or ends."""
        with self.turned:
            now = time.monotonic()
            self.last_pause = now - self._since if is_busy and self._since else self.last_pause
            self.last = now - self._since if self.is_busy and not is_busy else self.last
            self._busy, self._since = self._busy + (now - self._since if self.is_busy else 0.0), now
            self.is_busy = is_busy
            self.turned.notify_all()
