"""The third stage of a batch, where joins are aggregated: one task per hash range of groups makes results of partial ones."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thalweg.engine.faults import reach
from thalweg.engine.kernel.buckets import receive
from thalweg.engine.kernel.compiled import compiled, manifest
from thalweg.engine.kernel.connection import Tables, query, run
from thalweg.engine.kernel.joins import RESULT
from thalweg.engine.kernel.reporting import REPORT, partition, reported
from thalweg.engine.kernel.shelf import Shelf, renamed, stack
from thalweg.engine.task import Report, Task
from thalweg.plan.grid import Cut
from thalweg.plan.instants import changes_id, final_instants, needed_slots
from thalweg.plan.join_results import changes_sql, final_sql, groups_sql, last_groups_sql
from thalweg.plan.join_views import Shape
from thalweg.sinks.parquet import stage

PARTIAL = '"partial"'


def finish(batches: Iterable[pa.RecordBatch], task: Task, part: int | None = None) -> Iterator[pa.RecordBatch]:
    """Results of the groups of one hash range, added to the report of the work stage."""
    tables, controls = receive(batches)
    said = [c for c in controls if REPORT in c]
    mine = partition() if part is None else part
    report = next((Report(**json.loads(c[REPORT])) for c in said if c["part"] == mine), Report(mine))
    failed = any(c["failed"] for c in said)
    if said and not failed:
        reported(report, task, lambda: _Finish(task, report, tables, said[0]["frontiers"]).run())
    yield pa.RecordBatch.from_pydict({"report": [report.json()]})


class _Finish:
    """The groups of one hash range."""

    def __init__(self, task: Task, report: Report, tables: Mapping[str, list[pa.Table]], frontiers: dict[str, Any]) -> None:
        self.task, self.report, self.tables, self.frontiers = task, report, tables, frontiers
        self.compiled = compiled(task.plan)
        self.shelf = Shelf(task, report, manifest(task.manifest))
        self.needed = needed_slots(self.compiled.plan, frontiers)
        self.offered = Tables()
        self.instants = 1

    def run(self) -> None:
        """Every query once, whichever of its plans are running."""
        with self.offered:
            for shape in {s.query.name: s for s in self.compiled.joins if s.query.every is not None}.values():
                started = time.perf_counter()
                rows = self._changes(shape) if shape.query.changes else self._groups(shape)
                self.report.time(f"finish {shape.query.name}", rows, time.perf_counter() - started)

    def _groups(self, shape: Shape) -> int:
        partial = self.tables.get(RESULT + shape.query.name)
        if not partial:
            return 0
        shown = self._show(shape, query(final_sql(shape.query, f"({self._now(shape, partial)})")))
        if shape.query.having is None:
            self._learn(shape, shown)
        return shown

    def _now(self, shape: Shape, partial: list[pa.Table]) -> str:
        """The SQL of the groups of this batch."""
        whole = stack(partial)
        self.offered.offer("partial", whole)
        self.instants = max(len(pc.unique(whole.column("i"))), 1)
        if shape.query.having is not None and self.task.look:
            self._learn(shape, run(f"SELECT count(*) FROM ({groups_sql(shape, PARTIAL, having=False)})")[0][0])
        return groups_sql(shape, PARTIAL)

    def _learn(self, shape: Shape, groups: int) -> None:
        """How many groups an instant has is a statistic."""
        self.report.groups[shape.query.name] = groups / self.instants

    def _changes(self, shape: Shape) -> int:
        id, asked = changes_id(shape.query), shape.query
        moved = self.shelf.foreign(id, Cut((shape.keys,)))
        low, high = final_instants(asked, self.task.frontiers, self.frontiers)
        if low >= high:
            self.shelf.keep(id, moved, self.needed.get(id, high), None)
            return 0
        last = [t for t in (*self.shelf.tables(id, low - 1), *moved) if t.num_rows]
        partial = self.tables.get(RESULT + asked.name)
        sources = []
        if last:
            self.offered.offer("last", renamed(stack(last), "slot", "i"))
            sources.append("last")
        if partial:
            now = query(self._now(shape, partial))
            self.offered.offer("now", now)
            if asked.having is None:
                self._learn(shape, now.num_rows)
            sources.append("now")
        if not sources:
            return 0
        shown = self._show(shape, query(changes_sql(asked, sources, high)))
        self.shelf.keep(id, [query(last_groups_sql(asked, sources, high - 1))], self.needed.get(id, high), None)
        return shown

    def _show(self, shape: Shape, table: pa.Table) -> int:
        if table.num_rows:
            reach("finish:before-results", self.task.fault)
            staged = stage(self.task.outputs[shape.query.name], table, self.task.batch, self.report.part)
            reach("finish:after-results", self.task.fault)
            self.report.results.append((shape.query.name, staged, table.num_rows))
        return int(table.num_rows)
