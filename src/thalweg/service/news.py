"""Those who wait for the next batch in the loop of the server: woken at once, and without anybody looking again and again."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable


class News:
    """Any thread tells that there is something new; whoever waits for it in a loop goes on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[asyncio.AbstractEventLoop, set[asyncio.Future[None]]] = {}

    def tell(self, what: object = None) -> None:
        """There is something new."""
        with self._lock:
            found, self._waiting = self._waiting, {}
        for loop, waiting in found.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_wake, waiting)

    async def wait(self, seconds: float, is_there: Callable[[], bool]) -> None:
        """Wait until something is told, at most so long; not at all where what is waited for is there."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        with self._lock:
            self._waiting.setdefault(loop, set()).add(future)
        timer = loop.call_later(seconds, _wake, {future})
        try:
            if not is_there():
                await future
        finally:
            timer.cancel()
            with self._lock:
                self._waiting.get(loop, set()).discard(future)


def _wake(waiting: set[asyncio.Future[None]]) -> None:
    for future in waiting:
        if not future.done():
            future.set_result(None)
