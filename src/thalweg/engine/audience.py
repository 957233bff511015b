"""Who listens to a run: told by a thread of its own, so that nothing which a listener does can hold up or end a batch."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
WAITING = 1000
"""What is kept for listeners that are slower than batches; of more, the oldest is left out."""
_log = logging.getLogger("thalweg")


class Audience(Generic[T]):
    """Tells listeners one thing after another, in order. One that raises is reported, and told nothing more."""

    def __init__(self, listeners: list[Callable[[T], None]] | None = None) -> None:
        self.listeners: list[Callable[[T], None]] = [] if listeners is None else listeners
        self._news: deque[T] = deque(maxlen=WAITING)
        self._change = threading.Condition()
        self._telling: threading.Thread | None = None

    def tell(self, news: T) -> None:
        """Have something told, at once where nobody is slow; never waits."""
        with self._change:
            self._news.append(news)
            if self._telling is None:
                self._telling = threading.Thread(target=self._run, daemon=True, name="thalweg-audience")
                self._telling.start()

    def told(self, timeout: float | None = None) -> bool:
        """Whether all was told, at the latest after a time. Asked by a listener itself, it does not wait."""
        if threading.current_thread() is self._telling:
            return False
        with self._change:
            return self._change.wait_for(lambda: self._telling is None, timeout)

    def _run(self) -> None:
        while True:
            with self._change:
                if not self._news:
                    self._telling = None
                    self._change.notify_all()
                    return
                news = self._news.popleft()
            for listener in tuple(self.listeners):
                self._give(listener, news)

    def _give(self, listener: Callable[[T], None], news: T) -> None:
        try:
            listener(news)
        except (
            BaseException
        ) as error:  # also one that would end the process: here it would only end this thread
            if listener in self.listeners:
                self.listeners.remove(listener)
            name = getattr(listener, "__qualname__", type(listener).__name__)
            _log.warning("listener %s is told nothing more: %s: %s", name, type(error).__name__, error)
