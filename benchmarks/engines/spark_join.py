"""Native Spark on a join of two streams: join then aggregate, the early aggregation written by hand, and the joined rows.

State is in RocksDB; the join's own format is a setting (2 is Spark's default, 4 the newest). Windows are joined by
equality, rows by a range of event time, so that Spark can forget state.
"""

from __future__ import annotations

import time
from typing import Any

from pyspark.sql import functions as F

from benchmarks.engines import native
from benchmarks.engines.progress import batches, keep_all
from benchmarks.join_run import JoinRun
from benchmarks.spec import Batch

SCHEMA = "k long, g long, x long, ts timestamp"


def execute(run: JoinRun) -> tuple[tuple[Batch, ...], float]:
    """Run it over all files; batches and seconds."""
    spark = native._session("rocksdb")
    try:
        spark.conf.set("spark.sql.streaming.join.stateFormatVersion", str(run.state_format))
        keep_all(spark)
        result = FORMS[run.form](_rows(spark, run, "s0"), _rows(spark, run, "s1"), run)
        sink = result.writeStream.outputMode("append").option(
            "checkpointLocation", f"{run.directory}/checkpoint"
        )
        started = time.perf_counter()
        streaming = (
            sink.format("parquet").option("path", f"{run.directory}/out").trigger(availableNow=True).start()
        )
        streaming.awaitTermination()
        seconds = time.perf_counter() - started
        return batches(streaming.recentProgress), seconds
    finally:
        spark.stop()


def _rows(spark: Any, run: JoinRun, name: str) -> Any:
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).option("maxFileAge", "36500d")
    return reader.parquet(f"{run.directory}/{name}").withWatermark("ts", "0 seconds")


def _windowed(rows: Any, run: JoinRun) -> Any:
    return rows.select(F.window("ts", f"{run.window} seconds").alias("w"), "k", "g", "x")


def _late(left: Any, right: Any, run: JoinRun) -> Any:
    a, b = (
        _windowed(left, run),
        _windowed(right, run).select(F.col("w").alias("w2"), F.col("k").alias("k2"), F.col("x").alias("y")),
    )
    joined = a.join(b, F.expr("w = w2 AND k = k2"))
    return _shown(
        joined.groupBy("w", "g").agg(
            F.count("*").alias("n"), F.sum("x").alias("first"), F.sum("y").alias("second")
        )
    )


def _early(left: Any, right: Any, run: JoinRun) -> Any:
    a = _windowed(left, run).groupBy("w", "k", "g").agg(F.count("*").alias("n1"), F.sum("x").alias("x1"))
    b = _windowed(right, run).groupBy("w", "k").agg(F.count("*").alias("n2"), F.sum("x").alias("x2"))
    b = b.select(F.col("w").alias("w2"), F.col("k").alias("k2"), "n2", "x2")
    joined = a.join(b, F.expr("w = w2 AND k = k2"))
    sums = {"n": "n1 * n2", "first": "x1 * n2", "second": "x2 * n1"}
    return _shown(
        joined.groupBy("w", "g").agg(*(F.sum(F.expr(sql)).alias(name) for name, sql in sums.items()))
    )


def _shown(grouped: Any) -> Any:
    return grouped.select("g", F.col("w.end").alias("window_end"), "n", "first", "second")


def _joined_rows(left: Any, right: Any, run: JoinRun) -> Any:
    a = left.select("k", F.col("x").alias("first"), "ts")
    b = right.select(F.col("k").alias("k2"), F.col("x").alias("second"), F.col("ts").alias("ts2"))
    near = f"ts2 > ts - INTERVAL {run.window} SECONDS AND ts2 < ts + INTERVAL {run.window} SECONDS"
    return a.join(b, F.expr(f"k = k2 AND {near}")).select("k", "first", "second")


FORMS = {"late": _late, "early": _early, "rows": _joined_rows}
