"""Work beside the batches: in a thread of its own, one piece at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Beside:
    """Does a piece of work in a thread that ends when there is no more to do. Asked again meanwhile, it does it once more."""

    def __init__(self, work: Callable[[], None], name: str) -> None:
        self._work, self._name = work, name
        self._turn = threading.Condition()
        self._asked = False
        self._thread: threading.Thread | None = None

    def ask(self) -> None:
        """Have it done, soon after now."""
        with self._turn:
            self._asked = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name=self._name)
                self._thread.start()

    def settle(self) -> None:
        """Wait until all that was asked for is done. Many may wait: a thread itself can't be joined by several at once."""
        with self._turn:
            self._turn.wait_for(lambda: self._thread is None)

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
            asked, self._asked = self._asked, False
            if not asked:
                self._end()
            return asked

    def _end(self) -> None:
        self._thread = None
        self._turn.notify_all()
