"""What one hash range does on a level of the plan, and what goes on to the next one."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from thalweg.compile.retention import needed
from thalweg.engine.kernel.buckets import Sender, pack
from thalweg.engine.kernel.compiled import compiled, compiled_at, manifest
from thalweg.engine.kernel.ingest import Chunks, StreamIngest
from thalweg.engine.kernel.joins import JoinWork
from thalweg.engine.kernel.shelf import Shelf
from thalweg.engine.kernel.stock import Stock
from thalweg.engine.kernel.windows import WindowWork
from thalweg.engine.task import Control, Instants, Notes, Task
from thalweg.state.manifest import StepTime

Arrived = Mapping[str, list[pa.Table]]


def work_on(
    level: int, arrived: Arrived, task: Task, report: Notes, sender: Sender, frontiers: Instants
) -> None:
    """The windows and joins of a level; what is read on a later one goes there as it came."""
    whole = compiled(task.plan)
    kept = {
        id: oldest
        for id, oldest in needed(whole.plan, frontiers).items()
        if whole.last_uses.get(id, level) == level
    }
    stock = Stock(
        compiled_at(task.plan, level), Shelf(task, report, manifest(task)), arrived, frontiers, kept
    )
    with stock.tables:
        WindowWork(stock).run()
        JoinWork(stock, sender).run()
        stock.keep()
    for id, tables in arrived.items():
        if whole.last_uses.get(id, level) > level:
            sender.rows.extend((report.part, id, pack(t)) for t in tables)


def pass_on(task: Task, report: Notes, sender: Sender) -> None:
    """Results of nested queries become what is kept of them, as rows of streams do when they are read."""
    whole = compiled(task.plan)
    for name, tables in report.passed.items():
        steps: dict[str, StepTime] = {}
        ingest = StreamIngest(whole, whole.plan.stream(name), task, sender, steps)
        facts = ingest.run(Chunks(tables=tables))
        report.controls = (*report.controls, Control(steps=steps, nested={name: facts}))
    report.passed.clear()
