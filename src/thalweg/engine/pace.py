"""How often Spark looks for new data: again at once while there is some, ever more rarely while there is none."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from py4j.protocol import Py4JError

# Milliseconds between two looks: as Spark has them, and the most after a long silence.
QUICK, SLOW = 10, 400
# Milliseconds of delay for every second of silence.
GROWTH = 40
LOOK = 1.0
EXECUTION = "org.apache.spark.sql.execution.streaming.runtime.StreamExecution"


def delay_after(silence: float) -> int:
    """Milliseconds between two looks after so many seconds without data.

    >>> [delay_after(s) for s in (0, 1, 5, 60)]
    [10, 40, 200, 400]
    """
    return max(QUICK, min(SLOW, int(silence * GROWTH)))


class Pace:
    """Lets a streaming query of Spark look less often the longer nothing comes. Where Spark can't be told, its own pace stays."""

    def __init__(self, query: Any) -> None:
        self._tell, self._delay = _teller(query), QUICK
        self._last, self._lock, self._ended = time.monotonic(), threading.Lock(), threading.Event()
        if self._tell is not None:
            threading.Thread(target=self._slow_down, daemon=True, name="thalweg-pace").start()

    def hurry(self) -> None:
        """Data has come: look again at once."""
        self._last = time.monotonic()
        self._become(QUICK)

    def end(self) -> None:
        """The query is about to end."""
        self._ended.set()

    def _slow_down(self) -> None:
        while not self._ended.wait(LOOK):
            wanted = delay_after(time.monotonic() - self._last)
            if wanted > self._delay:
                self._become(wanted)

    def _become(self, delay: int) -> None:
        with self._lock:
            if self._tell is None or delay == self._delay or self._ended.is_set():
                return
            try:
                self._tell(delay)
                self._delay = delay
            except (Py4JError, OSError):  # its process has gone
                self._ended.set()


def _teller(query: Any) -> Callable[[int], None] | None:
    """What changes the delay of a query, which Spark itself sets once and for all."""
    from pyspark import SparkContext

    try:
        jvm, running = SparkContext._active_spark_context._jvm, query._jsq.streamingQuery()
        field = jvm.java.lang.Class.forName(EXECUTION).getDeclaredField("pollingDelayMs")
        field.setAccessible(True)
    except (Py4JError, AttributeError, TypeError):
        return None
    return lambda delay: field.setLong(running, delay)
