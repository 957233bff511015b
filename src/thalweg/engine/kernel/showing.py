"""Rows of results to the files of the queries that asked for them."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from thalweg.connectors.base import sink_at
from thalweg.engine.faults import reach
from thalweg.engine.task import Notes, Result, Task


def show(task: Task, report: Notes, queries: Iterable[str], table: pa.Table, stage_name: str) -> int:
    """Stage a result for every query that it is of."""
    for name in queries if table.num_rows else ():
        reach(f"{stage_name}:before-results", task.fault)
        staged = sink_at(task.outputs[name]).stage(table, task.batch, report.part)
        reach(f"{stage_name}:after-results", task.fault)
        report.results.append(Result(name, staged, table.num_rows))
    return int(table.num_rows)
