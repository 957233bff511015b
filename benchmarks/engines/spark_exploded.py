"""Native Spark by a trick: one stateful operator for all windows, fed by a row per event and window.

Spark refuses append mode unless the grouping key carries a watermark, and only `window()` gives it one; the internal tag
`spark.watermarkDelayMs` in the column's metadata does the same for a struct of one's own making.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as F

from benchmarks.engines import native
from benchmarks.spec import Batch, Run, window_id


def execute(run: Run) -> tuple[Batch, ...]:
    """Run it over the files of a run."""
    return native.execute(run, _exploded)


def _exploded(rows: Any, run: Run) -> Any:
    """A row per event and window, then one per instance where windows hop, then one grouping for all."""
    lengths = F.array(
        *(
            F.struct(F.lit(w.range).alias("r"), F.lit(w.slide).alias("s"), F.lit(window_id(w)).alias("id"))
            for w in run.windows
        )
    )
    each = rows.select("k", "v", F.unix_micros("ts").alias("us"), F.explode(lengths).alias("l")).select(
        "k", "v", "us", "l.r", "l.s", "l.id"
    )
    last = F.expr("us - us % s")
    if all(w.tumbling for w in run.windows):
        each = each.withColumn("st", last)
    else:
        earliest = F.expr("us - us % s - (r - 1) div s * s")
        each = each.withColumn("st", F.explode(F.sequence(earliest, last, F.col("s")))).where("st + r > us")
    instance = F.struct(
        F.timestamp_micros("st").alias("start"), F.timestamp_micros(F.expr("st + r")).alias("end")
    )
    keyed = each.select("k", "v", "id", instance.alias("w", metadata={"spark.watermarkDelayMs": 0}))
    grouped = keyed.groupBy("w", "id", "k").agg(F.expr(f"{run.aggregate}(v)").alias("m"))
    return grouped.select("k", F.col("id").alias("window_id"), "w.start", "w.end", "m").toDF(
        "k", "window_id", "window_start", "window_end", "m"
    )
