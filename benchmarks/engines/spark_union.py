"""Native Spark, as people write it: one streaming query, a `window()` aggregate per window, and a union."""

from __future__ import annotations

from functools import reduce
from typing import Any

from pyspark.sql import functions as F

from benchmarks.engines import native
from benchmarks.spec import Batch, Run, window_id
from thalweg.model.windows import Window, duration_text


def execute(run: Run) -> tuple[Batch, ...]:
    """Run it over the files of a run."""
    return native.execute(run, _union)


def _union(rows: Any, run: Run) -> Any:
    return reduce(lambda a, b: a.union(b), (_windowed(rows, w, run.aggregate) for w in run.windows))


def _windowed(rows: Any, window: Window, aggregate: str) -> Any:
    instance = F.window("ts", duration_text(window.range), duration_text(window.slide)).alias("w")
    grouped = rows.groupBy("k", instance).agg(F.expr(f"{aggregate}(v)").alias("m"))
    return grouped.select("k", F.lit(window_id(window)).alias("window_id"), "w.start", "w.end", "m").toDF(
        "k", "window_id", "window_start", "window_end", "m"
    )
