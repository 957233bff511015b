"""What the two ways to write many windows on Spark alone have in common: session, source, sink.

Fair by these settings: as many shuffle partitions as cores; the checkpoint file manager that Thalweg uses, which saves
70 to 90 ms a batch; changelog checkpointing for RocksDB; Arrow and AQE play no part in such queries.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.engines.progress import batches, keep_all
from benchmarks.spec import Batch, Run

MANAGER = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
STORES = {
    "rocksdb": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "memory": "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
}
AGGREGATES = ("MIN", "MAX", "SUM", "COUNT")
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "6g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.checkpointFileManagerClass": MANAGER,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}

Query = Callable[[Any, Run], Any]
"""From the rows of the stream, with their watermark, to result rows."""


def execute(run: Run, query: Query) -> tuple[Batch, ...]:
    """Run a streaming query over all files of a run."""
    if run.aggregate not in AGGREGATES:
        raise ValueError(f"no aggregate {run.aggregate} among {', '.join(AGGREGATES)}")
    spark = _session(run.state)
    try:
        keep_all(spark)
        rows = (
            spark.readStream.schema("k int, ts timestamp, v double")
            .option("maxFilesPerTrigger", run.batch_files)
            .option("maxFileAge", "36500d")
            .parquet(f"{run.directory}/in")
            .withWatermark("ts", "0 seconds")
        )
        sink = (
            query(rows, run)
            .writeStream.outputMode("append")
            .option("checkpointLocation", f"{run.directory}/checkpoint")
        )
        sink = (
            sink.format("noop")
            if run.sink == "noop"
            else sink.format("parquet").option("path", f"{run.directory}/out")
        )
        streaming = sink.trigger(availableNow=True).start()
        streaming.awaitTermination()
        return batches(streaming.recentProgress)
    finally:
        spark.stop()


def _session(state: str) -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("benchmark").master("local[*]")
    own = {
        "spark.sql.shuffle.partitions": str(os.cpu_count()),
        "spark.sql.streaming.stateStore.providerClass": STORES[state],
    }
    for key, value in {**SETTINGS, **own}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark
