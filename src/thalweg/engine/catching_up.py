"""A thread that runs earlier batches again beside the batches, at a pace that these hardly feel."""

from __future__ import annotations

import threading
import time

from thalweg.engine.replays import NEAR, Replays
from thalweg.engine.runner import Runner

SHARE = 0.1
"""Of the time that batches take, so much may be shared with steps of replays."""
MOST = 0.5
"""Seconds of such time that are saved up at most."""
LOOK, AGAIN = 0.05, 5.0
"""Seconds until it looks again: whether it may go on; and after what the environment has refused."""


class CatchingUp:
    """Has the steps of replays done while batches run, until it is stopped.

    Between batches there is nothing to hold up, as long as a step ends before the next batch begins; when that is, the last pause tells. A
    batch that begins while a step is under way shares the cores with it for the rest of that step: this time is counted, and only a `SHARE`
    of all that batches take is spent so knowingly.
    """

    def __init__(self, replays: Replays, live: Runner) -> None:
        self._replays, self._live = replays, live
        self._turn = threading.Condition()
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._credit, self._busy, self._took = 0.0, live.turns.busy_seconds, 0.0
        replays.changed = self.look

    def look(self) -> None:
        """See whether there is something to do."""
        with self._turn:
            if self._replays.lagging and self._thread is None and not self._stopping:
                self._thread = threading.Thread(target=self._run, daemon=True, name="thalweg-replays")
                self._thread.start()

    def wait(self, timeout: float | None = None) -> bool:
        """Whether nothing is left to do, at the latest after a time."""
        self.look()
        with self._turn:
            return self._turn.wait_for(
                lambda: self._thread is None or self._replays.trouble is not None, timeout
            )

    def stop(self) -> None:
        """End after the step that is under way."""
        with self._turn:
            self._stopping = True
            self._turn.notify_all()
            self._turn.wait_for(lambda: self._thread is None)

    def _run(self) -> None:
        try:
            while not self._stopping and self._replays.lagging:
                if self._may_go_on():
                    self._step()
                else:
                    self._pause(LOOK)
        finally:
            with self._turn:
                self._thread = None
                self._turn.notify_all()

    def _step(self) -> None:
        started, before = time.monotonic(), self._live.turns.busy_seconds
        done = self._replays.step()
        self._took = time.monotonic() - started
        self._credit -= self._live.turns.busy_seconds - before
        if not done:
            self._pause(AGAIN if self._replays.trouble is not None else LOOK)

    def _may_go_on(self) -> bool:
        """Whether batches have time for a step: they rest, or have been held up little. The last few are left to the next batch."""
        busy = self._live.turns.busy_seconds
        self._credit, self._busy = min(self._credit + SHARE * (busy - self._busy), MOST), busy
        if self._live.turns.is_busy:
            return self._credit > 0 and self._replays.lagging > NEAR
        rested, pause = self._live.turns.rested, self._live.turns.last_pause
        fits = rested < max(pause - self._took, pause / 2)  # one that fits in no pause begins early in one
        return self._credit > 0 or fits or rested > 2 * pause + min(self._took, 1.0)

    def _pause(self, seconds: float) -> None:
        with self._turn:
            self._turn.wait_for(lambda: self._stopping, seconds)
