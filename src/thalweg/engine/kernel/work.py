"""The second stage of a batch: one task per hash range merges state, closes windows, writes state and results."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from thalweg.engine import frontier
from thalweg.engine.faults import reach
from thalweg.engine.kernel.buckets import Sender, receive
from thalweg.engine.kernel.compiled import Compiled, compiled, manifest
from thalweg.engine.kernel.connection import Tables, query
from thalweg.engine.kernel.joins import JoinWork
from thalweg.engine.kernel.reporting import REPORT, partition, reported
from thalweg.engine.kernel.shelf import Shelf, stack
from thalweg.engine.task import Report, Task
from thalweg.plan.compile import EmissionStep, bundle_facts, bundle_name, bundle_sql, derive_sql, merge_sql
from thalweg.plan.nodes import Emission, Fragment
from thalweg.plan.ranges import LOWEST, Range, emitted, finalized, needed_from, source_range
from thalweg.sinks.parquet import stage


def work(batches: Iterable[pa.RecordBatch], task: Task, part: int | None = None) -> Iterator[pa.RecordBatch]:
    """Do the work of one hash range and report it; the range is Spark's partition unless it is given.

    Where joins are aggregated the report goes on with the partial results, to the stage that finishes them.
    """
    report, sender = Report(partition() if part is None else part), Sender(task.partitions)
    moved: dict[str, Any] = {}
    reported(report, task, lambda: moved.update(_worked(batches, task, report, sender)))
    if not compiled(task.plan).goes_on:
        yield pa.RecordBatch.from_pydict({"report": [report.json()]})
        return
    failed = report.error is not None or any(c["error"] for c in report.controls)
    sender.control({REPORT: report.json(), "part": report.part, "failed": failed, "frontiers": moved})
    yield from sender.batches()


def _worked(batches: Iterable[pa.RecordBatch], task: Task, report: Report, sender: Sender) -> dict[str, Any]:
    """The frontiers after the batch, once its work is done."""
    reach("work:start", task.fault)
    tables, controls = receive(batches)
    report.controls = controls if report.part == 0 else []
    if any(c["error"] for c in controls):
        return {}
    running = _Work(task, report, tables, controls)
    running.run()
    if running.plan.joins:
        JoinWork(running.compiled, running.shelf, tables, running.frontiers, sender).run()
    return running.frontiers


def moved_frontiers(task: Task, compiled_plan: Compiled, controls: Iterable[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Highest event times and frontiers after the batch, as every partition and the driver compute them alike."""
    seen = [(s, facts["top"]) for c in controls for s, facts in c["streams"].items()]
    awake = {s for s, top in seen if top is not None}
    tops = frontier.raised(task.tops, seen)
    delays = {s.name: s.delay for s in compiled_plan.plan.streams}
    return tops, frontier.advance(task.frontiers, tops, delays, set(task.idle) - awake)


class _Work:
    """One hash range of one batch."""

    def __init__(self, task: Task, report: Report, tables: dict[str, list[pa.Table]], controls: list[dict[str, Any]]) -> None:
        self.task, self.report, self.arrived = task, report, tables
        self.compiled = compiled(task.plan)
        self.plan = self.compiled.plan
        self.shelf = Shelf(task, report, manifest(task.manifest))
        _, self.frontiers = moved_frontiers(task, self.compiled, controls)
        self.needed = needed_from(self.plan, self.frontiers)
        self.emitted = {i: emitted(e, *self._moves(self.plan.query(e.query).stream)) for i, e in enumerate(self.plan.emissions)}
        self.tables = Tables()

    def run(self) -> None:
        """Fragments in order, then results, then nothing is left in memory."""
        with self.tables:
            for fragment in self.plan.fragments:
                if fragment.id not in self.compiled.inlined:
                    self._fragment(fragment)
            self._results()

    def _moves(self, stream: str) -> tuple[int | None, int | None]:
        return self.task.frontiers.get(stream), self.frontiers.get(stream)

    def _final(self, fragment: Fragment) -> Range:
        return finalized(fragment.window, *self._moves(fragment.stream))

    def _fragment(self, fragment: Fragment) -> None:
        """Bring one fragment forward: what arrived or is derived, what its users need now, what stays as state."""
        new = self.arrived.get(fragment.id, []) if fragment.source is None else self._derive(fragment)
        foreign = self.shelf.foreign(fragment.id, fragment.cut)
        uses = self._uses(fragment)
        if uses:
            needs = (min(low for _, (low, _) in uses), max(high for _, (_, high) in uses))
            self._offer(fragment, [*new, *foreign], needs, len({reader for reader, _ in uses}))
        self._keep(fragment, [*new, *foreign])

    def _uses(self, fragment: Fragment) -> list[tuple[object, Range]]:
        """The statements that read a fragment in this batch, with the ranges of instances that they need."""
        emissions = enumerate(self.plan.emissions)
        direct = [(i, self.emitted[i]) for i, e in emissions if fragment.source is None and fragment.id in e.fragments]
        children = [c for c in self.plan.fragments if c.source == fragment.id]
        derived = [(self.compiled.readers.get(c.id, c.id), source_range(c, fragment.window, self._final(c))) for c in children]
        return [(reader, needs) for reader, needs in (*direct, *derived) if needs[0] < needs[1]]

    def _offer(self, fragment: Fragment, tables: list[pa.Table], needs: Range, readers: int) -> None:
        """Register `all_F`: new instances and those of the state that are needed; merged once where several statements read them."""
        files = [f for f in self.shelf.files(fragment.id, needs[0]) if f.low < needs[1]]
        inputs = [t for t in (*tables, *map(self.shelf.read, files)) if t.num_rows]
        if not inputs:
            return
        whole = stack(inputs)
        if len(inputs) > 1 and readers > 1:
            whole = self._merge(fragment, whole, needs)
        self.tables.offer(f"all_{fragment.id}", whole)

    def _merge(self, fragment: Fragment, table: pa.Table, needs: Range) -> pa.Table:
        started = time.perf_counter()
        self.tables.offer(f"in_{fragment.id}", table)
        merged = query(merge_sql(_present(fragment, table.column_names), f'"in_{fragment.id}"'), {"low": needs[0], "high": needs[1]})
        self.report.time(f"merge {fragment.id}", merged.num_rows, time.perf_counter() - started)
        return merged

    def _derive(self, fragment: Fragment) -> list[pa.Table]:
        low, high = self._final(fragment)
        if low >= high or fragment.source is None or f"all_{fragment.source}" not in self.tables.columns:
            return []
        started = time.perf_counter()
        source = self.compiled.fragments[fragment.source]
        sql = derive_sql(_present(fragment, self.tables.columns[f"all_{source.id}"]), source.window)
        table = query(sql, {"low": low, "high": high})
        self.tables.offer(f"new_{fragment.id}", table)
        self.report.time(f"derive {fragment.id}", table.num_rows, time.perf_counter() - started)
        return [table]

    def _keep(self, fragment: Fragment, tables: list[pa.Table]) -> None:
        """Write what later batches need."""
        if fragment.id in self.needed:
            oldest = self.needed[fragment.id]
            self.shelf.keep(fragment.id, tables, oldest, lambda whole: self._merge(fragment, whole, (oldest, -LOWEST)))

    def _results(self) -> None:
        by_query: dict[str, list[int]] = {}
        for i, e in enumerate(self.plan.emissions):
            if self.emitted[i][0] < self.emitted[i][1] and self._has_input(self.compiled.emissions[i]):
                by_query.setdefault(e.query, []).append(i)
        for name, emissions in by_query.items():
            started = time.perf_counter()
            table = query(*self._result_sql(name, emissions))
            if table.num_rows:
                reach("work:before-results", self.task.fault)
                staged = stage(self.task.outputs[name], table, self.task.batch, self.report.part)
                reach("work:after-results", self.task.fault)
                self.report.results.append((name, staged, table.num_rows))
            self.report.time(f"emit {name}", table.num_rows, time.perf_counter() - started)

    def _result_sql(self, name: str, emissions: list[int]) -> tuple[str, dict[str, int]]:
        """The statement for a query's windows that close now: those with a common source in one pass, the others each by itself."""
        together: dict[str, list[int]] = {}
        for i in emissions:
            if i in self.compiled.bundles:
                together.setdefault(self.compiled.bundles[i][1], []).append(i)
        together = {source: members for source, members in together.items() if len(members) > 1}
        texts = [self._bundle_sql(name, source, members) for source, members in together.items()]
        alone = [i for i in emissions if i not in {i for m in together.values() for i in m}]
        bounds = {f"{side}_{i}": self.emitted[i][k] for i in alone for k, side in enumerate(("low", "high"))}
        return " UNION ALL ".join([*texts, *(self.compiled.emissions[i].sql for i in alone)]), bounds

    def _bundle_sql(self, name: str, source: str, emissions: list[int]) -> str:
        asked, fragment, members = self.plan.query(name), self.compiled.fragments[source], self._members(emissions)
        self.tables.offer(bundle_name(asked, fragment), pa.table(bundle_facts(fragment.window, members)))
        return bundle_sql(asked, fragment, members)

    def _members(self, emissions: list[int]) -> list[tuple[Emission, Fragment, Range]]:
        chosen = [(self.plan.emissions[i], i) for i in emissions]
        return [(e, self.compiled.fragments[e.fragments[0]], self.emitted[i]) for e, i in chosen]

    def _has_input(self, step: EmissionStep) -> bool:
        """Rows of a result reach all of its fragments, so where one has nothing there is no result."""
        found: set[str] = set().union(*(self.tables.columns.get(n, set()) for n in step.inputs))
        return all(n in self.tables.columns for n in step.inputs) and step.parts <= found


def _present(fragment: Fragment, columns: Iterable[str]) -> Fragment:
    """The fragment with the parts that a table has: older files lack the parts of newer queries."""
    found = set(columns)
    return replace(fragment, parts=tuple(p for p in fragment.parts if p.name in found))
