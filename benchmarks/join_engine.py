"""Runs one plan of a join in the engine without Spark's scheduler, and reads what its steps took from the manifests.

DuckDB's own optimizers of joins are off in tasks, or LAP would be what DuckDB makes of it: the plan that is forced is measured.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from benchmarks.join_data import files
from benchmarks.join_points import QUERY, Point
from thalweg.engine.task import Report, Task
from thalweg.model.settings import Config
from thalweg.optimizer.planner import planner_for
from thalweg.testing.local import Chunk, LocalEngine, local_job

# One hash range: the steps' own time is then that of one core, and a statement runs once.
PARTITIONS = 1


@dataclass(frozen=True)
class BatchFigures:
    """One micro-batch: ms by kind of step, added over the tasks, and the state after it."""

    steps: dict[str, float]
    state_rows: int
    state_bytes: int

    @property
    def ms(self) -> float:
        """What the plan does with rows; reading the files is the same for all plans and left out."""
        return sum(ms for kind, ms in self.steps.items() if kind != "scan")


@dataclass(frozen=True)
class PlanRun:
    """One plan over all micro-batches of a point. ms: of the measured batches. rows: the results, in any order."""

    batches: tuple[BatchFigures, ...]
    ms: float
    rows: pa.Table

    @property
    def state_bytes(self) -> int:
        """State after the last batch."""
        return self.batches[-1].state_bytes

    @property
    def state_rows(self) -> int:
        """Rows of state after the last batch."""
        return self.batches[-1].state_rows


def run_plan(point: Point, config: Config, root: Path, partitions: int = PARTITIONS) -> PlanRun:
    """Run a point by the plan that the settings name; files and state are under `root`, the state only for the time of the run."""
    bound = point.bound()
    paths = [files(feed, point.spans, root / "data") for feed in point.feeds]
    home = root / "session"
    shutil.rmtree(home, ignore_errors=True)
    streams = tuple(replace(s, path=str(root / "data")) for s in bound.streams.values())
    engine = LocalEngine(home, streams, tuple(bound.queries.values()), planner_for(config), partitions)
    found = []
    try:
        engine.runner.job = _unlooking
        engine.changed()
        for chunks in zip(*paths, strict=True):
            engine.batch([(f"s{n}", str(path)) for n, path in enumerate(chunks)])
            found.append(_figures(engine.runner.manifest))
        rows = engine.results(bound.queries[QUERY])
        return PlanRun(tuple(found), sum(b.ms for b in found[point.fills :]), rows)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _unlooking(chunks: Any, task: Task) -> list[Report]:
    """The job of a batch without counting distinct values: a session does so now and then, but in every plan alike."""
    given: list[Chunk] = chunks
    return local_job(given, replace(task, look=False))


def _figures(manifest: Any) -> BatchFigures:
    steps: dict[str, float] = {}
    for name, time in manifest.steps.items():
        kind = name.partition(" ")[0]
        steps[kind] = steps.get(kind, 0.0) + time.ms
    return BatchFigures(steps, sum(f.rows for f in manifest.files), sum(f.bytes for f in manifest.files))


def fingerprint(rows: pa.Table) -> tuple[int, int]:
    """How many rows, and the sum of their hashes: equal for the same rows in any order.

    >>> one, other = pa.table({"k": [1, 2], "n": [3, 4]}), pa.table({"k": [2, 1], "n": [4, 3]})
    >>> fingerprint(one) == fingerprint(other), fingerprint(one) == fingerprint(one.slice(1))
    (True, False)
    """
    columns = ", ".join(f'"{name}"' for name in rows.column_names)
    ((count, total),) = duckdb.sql(f"SELECT count(*), coalesce(sum(hash({columns})), 0) FROM rows").fetchall()
    return int(count), int(total)
