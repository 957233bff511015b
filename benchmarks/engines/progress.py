"""The times of micro-batches as Structured Streaming itself reports them, for Spark's own queries and for Thalweg's alike."""

from __future__ import annotations

import threading
from typing import Any

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from benchmarks.spec import Batch

PATIENCE = 60


class Progress(StreamingQueryListener):
    """Collects `durationMs` of every batch that had input; `triggerExecution` is the time of the whole batch."""

    def __init__(self, spark: Any) -> None:
        self._batches: list[Batch] = []
        self._ended = threading.Event()
        self._spark = spark
        spark.streams.addListener(self)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Nothing to do."""

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Nothing to do."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Keep a batch; one without input only emits what the last one closed, and is left out."""
        progress = event.progress
        if progress.numInputRows:
            parts = {name: float(ms) for name, ms in progress.durationMs.items()}
            self._batches.append(Batch(progress.batchId, parts["triggerExecution"], parts))

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """All progress came before this."""
        self._ended.set()

    def batches(self) -> tuple[Batch, ...]:
        """The batches of a query that has ended, in order."""
        if not self._ended.wait(PATIENCE):
            raise TimeoutError("Spark reported no end of the streaming query")
        self._spark.streams.removeListener(self)
        return tuple(self._batches)
