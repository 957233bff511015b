"""Ctrl-C and SIGTERM as a wish to stop between two batches."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

WATCHED = (signal.SIGINT, signal.SIGTERM)


class StopWish:
    """Notes that the user wants to stop. Asking again changes nothing: the batch at work is always finished."""

    def __init__(self, on_ask: Callable[[], None]) -> None:
        self.asked = False
        self._on_ask = on_ask
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> StopWish:
        self._before = {s: signal.getsignal(s) for s in WATCHED}
        self.listen()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def listen(self) -> None:
        """Take the signals; again after Spark has started, since it takes Ctrl-C for itself."""
        for number in WATCHED:
            signal.signal(number, self._ask)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if not self.asked:
            self.asked = True
            self._on_ask()
