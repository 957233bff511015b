"""Work beside the batches: in a thread of its own, one piece at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Beside:
    """Does a piece of work in a thread that ends when there is no more to do. Asked again meanwhile, it does it once more."""

    def __init__(self, work: Callable[[], None], name: str) -> None:
        self._work, self._name = work, name
        self._lock = threading.Lock()
        self._asked = False
        self._thread: threading.Thread | None = None

    def ask(self) -> None:
        """Have it done, soon after now."""
        with self._lock:
            self._asked = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name=self._name)
                self._thread.start()

    def settle(self) -> None:
        """Wait until all that was asked for is done."""
        while (thread := self._working()) is not None:
            thread.join()

    def _working(self) -> threading.Thread | None:
        with self._lock:  # a thread that is known here has been started
            return self._thread

    def _run(self) -> None:
        try:
            while self._taken():
                self._work()
        except BaseException:
            with self._lock:
                self._thread = None
            raise

    def _taken(self) -> bool:
        with self._lock:
            asked, self._asked = self._asked, False
            if not asked:
                self._thread = None
            return asked
