"""The second stage of a batch: one task per hash range merges state, closes windows, writes state and results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from thalweg.engine import frontier
from thalweg.engine.faults import reach
from thalweg.engine.kernel.buckets import Sender, receive
from thalweg.engine.kernel.compiled import compiled
from thalweg.engine.kernel.levels import pass_on, work_on
from thalweg.engine.kernel.reporting import partition, reported
from thalweg.engine.task import Control, Handover, Instants, Notes, Task
from thalweg.model.nesting import with_frontiers, with_tops
from thalweg.plan.nodes import Plan


def work(batches: Iterable[pa.RecordBatch], task: Task, part: int | None = None) -> Iterator[pa.RecordBatch]:
    """Do the work of one hash range and report it; the range is Spark's partition unless it is given.

    Where joins are aggregated, or results are read by others, the report goes on with these, to the stage that finishes them.
    """
    report, sender = Notes(partition() if part is None else part), Sender(task.partitions)
    moved: Instants = {}
    reported(report, task, lambda: moved.update(_worked(batches, task, report, sender)))
    if not task.last:
        yield pa.RecordBatch.from_pydict({"report": [report.json()]})
        return
    sender.control(Handover(report.report(), moved))
    yield from sender.batches()


def _worked(batches: Iterable[pa.RecordBatch], task: Task, report: Notes, sender: Sender) -> Instants:
    """The frontiers after the batch, once its work is done."""
    reach("work:start", task.fault)
    tables, controls = receive(batches, Control)
    report.controls = tuple(controls) if report.part == 0 else ()
    if any(c.trouble for c in controls):
        return {}
    _, frontiers = moved_frontiers(task, compiled(task.plan).plan, controls)
    work_on(0, tables, task, report, sender, frontiers)
    pass_on(task, report, sender)
    return frontiers


def moved_frontiers(task: Task, plan: Plan, controls: Iterable[Control]) -> tuple[Instants, Instants]:
    """Highest event times and frontiers after the batch, as every partition and the driver compute them alike."""
    tops, frontiers = task.moved or _moved(task, plan, controls)
    nested = plan.nested
    frontiers = with_frontiers(nested, frontiers)
    return with_tops(nested, tops, frontiers), frontiers


def _moved(task: Task, plan: Plan, controls: Iterable[Control]) -> tuple[Instants, Instants]:
    seen = [(s, facts.top) for c in controls for s, facts in c.streams.items()]
    awake = {s for s, top in seen if top is not None}
    tops = frontier.raised(task.tops, seen)
    delays = {s.name: s.delay for s in plan.streams}
    return tops, frontier.advance(task.frontiers, tops, delays, set(task.idle) - awake)
