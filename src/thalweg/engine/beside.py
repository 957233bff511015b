"""Work beside the batches: in a thread of its own, one piece at a time."""

from __future__ import annotations

import atexit
import threading
import weakref
from collections.abc import Callable
from functools import cache

PATIENCE = 20.0
"""Seconds that a process which ends waits for a piece of work."""


class Beside:
    """Does a piece of work in a thread that ends when there is no more to do. Asked again meanwhile, it does it once more."""

    def __init__(self, work: Callable[[], None], name: str) -> None:
        self._work, self._name = work, name
        self._turn = threading.Condition()
        self._asked = False
        self._thread: threading.Thread | None = None
        self._is_over = False

    def ask(self) -> None:
        """Have it done, soon after now."""
        _end_with_the_process()
        with self._turn:
            self._asked = True
            if self._thread is None and not self._is_over:
                _AT_WORK.add(self)
                self._thread = threading.Thread(target=self._run, daemon=True, name=self._name)
                self._thread.start()

    def settle(self, timeout: float | None = None) -> None:
        """Wait until all that was asked for is done, or the time is up. Many may wait: a thread itself can't be joined by several at once."""
        with self._turn:
            self._turn.wait_for(lambda: self._thread is None, timeout)

    def end(self) -> None:
        """Begin no other piece, and wait until the one at hand is done."""
        with self._turn:
            self._is_over = True
            self._turn.wait_for(lambda: self._thread is None, PATIENCE)

    def _run(self) -> None:
        try:
            while self._taken():
                self._work()
        except BaseException:
            with self._turn:
                self._end()
            raise

    def _taken(self) -> bool:
        with self._turn:
            asked, self._asked = self._asked and not self._is_over, False
            if not asked:
                self._end()
            return asked

    def _end(self) -> None:
        self._thread = None
        self._turn.notify_all()


_AT_WORK: weakref.WeakSet[Beside] = weakref.WeakSet()


@cache
def _end_with_the_process() -> None:
    """A thread that is inside of a statement when the process ends would take it down with it, so each ends its piece first. Asked for
    when there is work, so that it comes before connections are closed: what is registered last is done first."""
    atexit.register(_end_all)


def _end_all() -> None:
    for beside in list(_AT_WORK):
        beside.end()
