"""The limit: DuckDB alone over the files of each batch, all cores, one statement, no state and nothing carried over.

Only for windows that are computed at once from the rows; what a batch cuts in two at its ends is left in two.
"""

from __future__ import annotations

import time
from pathlib import Path

import duckdb

from benchmarks.spec import Batch, Run, window_id
from thalweg.model.windows import Window


def execute(run: Run) -> tuple[Batch, ...]:
    """Run it over the files of a run."""
    connection = duckdb.connect()
    paths = sorted(Path(run.directory, "in").glob("*.parquet"))
    out = Path(run.directory, "out")
    out.mkdir(exist_ok=True)
    batches = []
    for number, first in enumerate(range(0, run.files, run.batch_files)):
        started = time.perf_counter()
        sql = _statement(run, [str(p) for p in paths[first : first + run.batch_files]])
        if run.sink == "parquet":
            connection.execute(f"COPY ({sql}) TO '{out}/{number:06d}.parquet'")
        else:
            connection.sql(sql).to_arrow_table()
        batches.append(Batch(number, (time.perf_counter() - started) * 1000))
    return tuple(batches)


def _statement(run: Run, paths: list[str]) -> str:
    return " UNION ALL ".join(_window(w, run.aggregate, paths) for w in run.windows)


def _window(window: Window, aggregate: str, paths: list[str]) -> str:
    if not window.tumbling:
        raise ValueError(f"{window}: only tumbling windows")
    start = f"slot * {window.range}"
    return (
        f"SELECT k, '{window_id(window)}' AS window_id, make_timestamp({start}) AS window_start, "
        f"make_timestamp({start} + {window.range}) AS window_end, m "
        f"FROM (SELECT k, epoch_us(ts) // {window.range} AS slot, {aggregate}(v) AS m FROM read_parquet({paths}) GROUP BY ALL)"
    )
