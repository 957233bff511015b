"""Thalweg through its own front door: SQL text in, a session that processes what is there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from benchmarks.engines.progress import batches, keep_all
from benchmarks.spec import Batch, Run, window_id
from thalweg.api.session import Session
from thalweg.engine.progress import BatchProgress
from thalweg.model.windows import Window, duration_text


def execute(run: Run, spark: Any = None) -> tuple[Batch, ...]:
    """Run it over the files of a run, on a Spark session of its own or on one that is there already."""
    if run.sink != "parquet":
        raise ValueError("Thalweg always writes its results")
    told: dict[int, BatchProgress] = {}
    with Session(f"{run.directory}/session", spark=spark, settings=run.settings) as session:
        session.listeners.append(lambda p: told.update({p.batch: p}))
        session.sql(script(run))
        keep_all(session.spark)
        session.run_available()
        found = batches(session.reports())
    return tuple(_with_steps(b, told[b.number]) for b in found)


def script(run: Run) -> str:
    """The stream and the query as a user writes them."""
    windows = ", ".join(f"{window_sql(w)} AS '{window_id(w)}'" for w in run.windows)
    return f"""
        CREATE STREAM events (k INT, ts TIMESTAMP, v DOUBLE)
          WITH (format = 'parquet', path = '{run.directory}/in', time = 'ts', watermark = '0 seconds', files_per_batch = {run.batch_files});
        CREATE QUERY bench INTO '{run.directory}/out' AS
          SELECT k, window_id, window_start, window_end, {run.aggregate}(v) AS m FROM events GROUP BY k, WINDOWS({windows});
    """


def window_sql(window: Window) -> str:
    """A window in Thalweg's SQL.

    >>> window_sql(Window(20_000_000, 10_000_000))
    "HOP '20 seconds' BY '10 seconds'"
    """
    if window.tumbling:
        return f"TUMBLE '{duration_text(window.range)}'"
    return f"HOP '{duration_text(window.range)}' BY '{duration_text(window.slide)}'"


def _with_steps(batch: Batch, told: BatchProgress) -> Batch:
    """Beside Spark's times the driver's own time for the batch, and the steps by kind, added over the tasks."""
    steps: dict[str, float] = {}
    for name, time in told.steps.items():
        kind = name.partition(" ")[0]
        steps[kind] = steps.get(kind, 0.0) + time.ms
    return replace(batch, parts={**batch.parts, "thalweg": told.seconds * 1000}, steps=steps)
