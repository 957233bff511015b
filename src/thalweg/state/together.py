"""One write for many: who comes first does it for all that have asked by then, and the others wait for him."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

Done = tuple[int, Exception | None]
REMEMBERED = 64
"""Failures that those who wait may still have to hear of."""


class Together:
    """Has numbered requests carried out in order. `work` does all that there are; it returns the last number, and what went wrong."""

    def __init__(self, work: Callable[[], Done]) -> None:
        self._work = work
        self._turn = threading.Condition()
        self._done, self._is_busy = 0, False
        self._failed: deque[tuple[int, int, Exception]] = deque(maxlen=REMEMBERED)

    def wait(self, number: int) -> None:
        """Return once a request is carried out, or raise what prevented that."""
        with self._turn:
            self._turn.wait_for(lambda: self._done >= number or not self._is_busy)
            is_mine = self._done < number
            self._is_busy = self._is_busy or is_mine
        if is_mine:
            self._carry_out()
        self._check(number)

    def reached(self, number: int) -> None:
        """Nothing is to be done for the requests up to one."""
        with self._turn:
            self._done = max(self._done, number)

    def _carry_out(self) -> None:
        done, error = self._done, None
        try:
            done, error = self._work()
        finally:
            with self._turn:
                if error is not None:
                    self._failed.append((self._done, done, error))
                self._done, self._is_busy = done, False
                self._turn.notify_all()

    def _check(self, number: int) -> None:
        for after, last, error in tuple(self._failed):
            if after < number <= last:
                raise error
