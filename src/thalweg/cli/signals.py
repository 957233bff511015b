"""Ctrl-C and SIGTERM as a wish to stop between two batches."""

from __future__ import annotations

import os
import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any

WATCHED = (signal.SIGINT, signal.SIGTERM)
LAST_WORDS = 10.0
"""Seconds that a command has, once its run was stopped on request, to say so: a terminal or a pipe may take nothing more."""
PATIENCE = 10.0
"""Seconds after which asking again ends the process in mid-batch: something in it may never come to an end."""
ENDED = 130
"""The exit code then, as shells have it for Ctrl-C. Nothing is said: what takes no words may be what does not come to an end."""


class StopWish:
    """Notes that the user wants to stop. Asking again within some seconds changes nothing: the batch at work is finished.

    Until `listen` is called a signal ends the process as usual; it is called once Spark has started, which takes Ctrl-C for itself.
    From `done` on, when no batch is at work any more, a signal ends the process again.
    """

    def __init__(self) -> None:
        self.asked = False
        self._when = 0.0
        self._end = threading.Timer(LAST_WORDS, os._exit, (0,))
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> StopWish:
        self._before = {s: signal.getsignal(s) for s in WATCHED}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.cancel()
        self._give_back()

    def listen(self) -> None:
        """Take the signals from here on. Nothing is said here: what a signal interrupts may be what is said."""
        for number in WATCHED:
            signal.signal(number, self._ask)

    def done(self) -> None:
        """Nothing is at work any more. Where the user has asked to stop, what is left to say has its time, then the process ends."""
        if self.asked:
            self._end.daemon = True
            self._end.start()
        else:
            self._give_back()

    def _give_back(self) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked and time.monotonic() - self._when >= PATIENCE:
            os._exit(ENDED)
        if not self.asked:
            self.asked, self._when = True, time.monotonic()
