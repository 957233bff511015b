"""Ctrl-C and SIGTERM as a wish to stop between two batches."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

WATCHED = (signal.SIGINT, signal.SIGTERM)


class StopWish:
    """Notes that the user wants to stop. Asking again changes nothing: the batch at work is always finished.

    Until `listen` is called a signal ends the process as usual; it is called once Spark has started, which takes Ctrl-C for itself.
    """

    def __init__(self) -> None:
        self.asked = False
        self._said: Callable[[], None] = lambda: None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> StopWish:
        self._before = {s: signal.getsignal(s) for s in WATCHED}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def listen(self, say: Callable[[], None]) -> None:
        """Take the signals from here on; `say` tells the user that the wish is heard."""
        self._said = say
        for number in WATCHED:
            signal.signal(number, self._ask)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if not self.asked:
            self.asked = True
            self._said()
