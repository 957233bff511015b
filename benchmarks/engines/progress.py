"""The times of micro-batches as Structured Streaming itself reports them, for Spark's own queries and for Thalweg's alike.

They are read when the query has ended: a listener in Python would take a core for a while after every batch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from benchmarks.spec import Batch

KEPT = "spark.sql.streaming.numRecentProgressUpdates"


def keep_all(spark: Any) -> None:
    """Let Spark keep the reports of all batches, not only of the last ones."""
    spark.conf.set(KEPT, "100000")


def batches(reports: Iterable[Any]) -> tuple[Batch, ...]:
    """`durationMs` of every batch that had input; `triggerExecution` is the time of the whole batch.

    One without input only emits what the last one closed, and is left out.
    """
    parts = {
        r.batchId: {name: float(ms) for name, ms in r.durationMs.items()} for r in reports if r.numInputRows
    }
    return tuple(Batch(number, found["triggerExecution"], found) for number, found in parts.items())
