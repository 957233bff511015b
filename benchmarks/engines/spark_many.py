"""Native Spark on many joins of rows: a streaming query each, one with a union of all, and one with foreachBatch and state by hand.

State is in RocksDB in the newest format. By hand, the rows of the longest window are kept, joined with the new ones, and forgotten by
event time; that is quick to write, not exactly once, and shares what Spark's own operators can't.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import reduce
from pathlib import Path
from typing import Any

import duckdb
from pyspark.sql import functions as F

from benchmarks.engines import native
from benchmarks.engines.progress import batches, keep_all
from benchmarks.join_engine import fingerprint
from benchmarks.sharing_apart import ManyRun
from benchmarks.sharing_run import Measured, Results
from benchmarks.sharing_template import ATTRIBUTES, WINDOWS

SCHEMA = ", ".join([*(f"a{i} int" for i in range(ATTRIBUTES)), "ts timestamp"])
FORMAT = "4"


def execute(run: ManyRun) -> Measured:
    """Run it over all files."""
    spark = native._session("rocksdb")
    try:
        spark.conf.set("spark.sql.streaming.join.stateFormatVersion", FORMAT)
        keep_all(spark)
        ms, kept = FORMS[run.form](spark, run)
        shown = {f"q{i}": _names(sql) for i, sql in enumerate(run.queries)}
        return Measured(run.events, len(run.queries), ms, kept, None, _results(run, shown))
    finally:
        spark.stop()


def _each(spark: Any, run: ManyRun) -> tuple[tuple[float, ...], int]:
    """A streaming query for each query, all at once."""
    for name in _streams(run):
        _rows(spark, run, name).createOrReplaceTempView(name)
    running = [_started(spark.sql(sql), run, f"q{i}") for i, sql in enumerate(run.queries)]
    for query in running:
        query.awaitTermination()
    reports = [query.recentProgress for query in running]
    ended = [[_end(r) for r in found if r.numInputRows] for found in reports]
    return (round_ms(ended, run.warmup),), sum(_state(found) for found in reports)


def round_ms(ended: Sequence[Sequence[float]], warmup: int) -> float:
    """The mean time in which all queries do a batch, from when all are warm; `ended` is in seconds, a list a query.

    >>> round_ms([[1, 2, 4, 6], [1, 3, 5, 7]], 2)
    2000.0
    """
    warm, last = max(times[warmup - 1] for times in ended), max(times[-1] for times in ended)
    done = sum(t > warm for times in ended for t in times)
    return (last - warm) * 1_000 / (done / len(ended))


def _union(spark: Any, run: ManyRun) -> tuple[tuple[float, ...], int]:
    """One streaming query with all joins."""
    for name in _streams(run):
        _rows(spark, run, name).createOrReplaceTempView(name)
    running = _started(_together([spark.sql(sql) for sql in run.queries]), run, "all")
    running.awaitTermination()
    return _times(running, run), _state(running.recentProgress)


def _by_hand(spark: Any, run: ManyRun) -> tuple[tuple[float, ...], int]:
    """One streaming query that only reads, and a batch job for all joins with the rows kept."""
    names = _streams(run)
    new_pair = " OR ".join(f"{name}.is_new" for name in names)
    queries = [f"{sql} AND ({new_pair})" for sql in run.queries]
    kept: list[Any] = []

    def on_batch(rows: Any, number: int) -> None:
        new = rows.withColumn("is_new", F.lit(True)).persist()
        both = new.union(kept.pop().withColumn("is_new", F.lit(False))) if kept else new
        for name in names:
            both.where(F.col("stream") == name).createOrReplaceTempView(name)
        _together([rows.sparkSession.sql(sql) for sql in queries]).write.mode("append").parquet(
            f"{run.own}/out/all"
        )
        top = new.agg(F.max("ts")).first()[0]
        oldest = F.lit(top) - F.expr(f"INTERVAL {WINDOWS[-1]} SECONDS")
        kept.append(both.where(F.col("ts") > oldest).drop("is_new").localCheckpoint())
        new.unpersist()

    rows = reduce(
        lambda a, b: a.union(b), (_rows(spark, run, name).withColumn("stream", F.lit(name)) for name in names)
    )
    sink = rows.writeStream.foreachBatch(on_batch).option("checkpointLocation", f"{run.own}/checkpoint")
    running = sink.trigger(availableNow=True).start()
    running.awaitTermination()
    return _times(running, run), kept[0].count()


FORMS = {"each": _each, "union": _union, "by hand": _by_hand}


def _streams(run: ManyRun) -> list[str]:
    return sorted(p.name for p in Path(run.directory, "in").iterdir())


def _rows(spark: Any, run: ManyRun, name: str) -> Any:
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).option("maxFileAge", "36500d")
    return reader.parquet(f"{run.directory}/in/{name}").withWatermark("ts", "0 seconds")


def _started(rows: Any, run: ManyRun, name: str) -> Any:
    sink = rows.writeStream.outputMode("append").option("checkpointLocation", f"{run.own}/checkpoint/{name}")
    return sink.format("parquet").option("path", f"{run.own}/out/{name}").trigger(availableNow=True).start()


def _together(found: list[Any]) -> Any:
    """All results as one, each with its query's name and NULL for columns that others show."""
    columns = sorted({c for rows in found for c in rows.columns})
    padded = [
        rows.select(
            F.lit(f"q{i}").alias("q"),
            *(F.col(c) if c in rows.columns else F.lit(None).cast("int").alias(c) for c in columns),
        )
        for i, rows in enumerate(found)
    ]
    return reduce(lambda a, b: a.union(b), padded)


def _times(running: Any, run: ManyRun) -> tuple[float, ...]:
    return tuple(b.ms for b in batches(running.recentProgress)[run.warmup :])


def _end(report: Any) -> float:
    return (
        datetime.fromisoformat(report.timestamp).timestamp()
        + float(report.durationMs["triggerExecution"]) / 1_000
    )


def _state(reports: Any) -> int:
    """Rows of state after the last batch with input."""
    last = [r for r in reports if r.numInputRows][-1]
    return sum(int(operator.numRowsTotal) for operator in last.stateOperators)


def _names(sql: str) -> list[str]:
    """The columns that a query of the template shows."""
    shown = sql.removeprefix("SELECT ").partition(" FROM ")[0]
    return [column.partition(" AS ")[2] for column in shown.split(", ")]


def _results(run: ManyRun, shown: dict[str, list[str]]) -> Results:
    return {name: fingerprint(_read(run, name, columns)) for name, columns in shown.items()}


def _read(run: ManyRun, name: str, columns: list[str]) -> Any:
    folder = run.own / "out" / name
    alone = folder.exists()
    condition = "" if alone else f" WHERE q = '{name}'"
    found = folder if alone else run.own / "out" / "all"
    return duckdb.sql(
        f"SELECT {', '.join(columns)} FROM read_parquet('{found}/*.parquet'){condition}"
    ).to_arrow_table()
