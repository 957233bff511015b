"""What the tasks of a batch are told to do, by what the batches before it made."""

from __future__ import annotations

import time
from pathlib import Path

from thalweg.engine.arrivals import Ground
from thalweg.engine.commit import controls_of, rows_made
from thalweg.engine.kernel.showing import POOL
from thalweg.engine.ledger import Ledger
from thalweg.engine.task import Report, Task
from thalweg.engine.workload import Workload
from thalweg.model.nesting import with_frontiers
from thalweg.model.target import address_of
from thalweg.optimizer.retiring import is_retired
from thalweg.plan.functions import functions_called
from thalweg.plan.levels import last_stage
from thalweg.plan.nodes import Plan, holds_values
from thalweg.state.directory import Directory
from thalweg.state.manifest import Manifest
from thalweg.statistics.records import FEW_ROWS

# Batches that count distinct values for the statistics of joins.
COUNT_IN, COUNT_EVERY = (0, 1, 4), 8


class Orders:
    """Writes tasks: over so many partitions, or near the driver where there is little to do."""

    def __init__(self, directory: Directory, ledger: Ledger, exchange: str, scan: str) -> None:
        self._directory, self._ledger = directory, ledger
        self._exchange, self._scan = exchange, scan
        self._last_rows: dict[str, float] = {}
        self._made: int | None = None

    def task(
        self,
        plan: Plan,
        path: Path,
        batch: int,
        workload: Workload,
        before: Manifest,
        ground: Ground,
        partitions: int,
        counts: bool,
        fault: str | None,
    ) -> Task:
        """The task of a batch that runs the plan in a file; with `counts` it counts distinct values in any case."""
        near = self._is_near(plan, ground)
        return Task(
            batch=batch,
            partitions=1 if near else partitions,
            near=near,
            scan=self._scan,
            plan=str(path),
            manifest=None if before.batch < 0 else self._ledger.manifest_path(before),
            state=str(self._directory.state),
            outputs=self.outputs(workload, plan),
            frontiers=with_frontiers(
                plan.nested, {s.name: before.frontiers.get(s.name) for s in plan.streams}
            ),
            tops={s.name: before.tops.get(s.name) for s in plan.streams},
            idle=self._idle(plan),
            durable=self._ledger.durable,
            look=bool(plan.joins) and (batch in COUNT_IN or batch % COUNT_EVERY == COUNT_EVERY - 1 or counts),
            fault=fault,
            readable=workload.readable,
            adopted=ground.files,
            moment=self._ledger.moment(batch) if any(s.is_stamped for s in plan.streams) else None,
            last=last_stage(plan),
            functions=functions_called(plan),
        )

    def outputs(self, workload: Workload, plan: Plan) -> dict[str, str]:
        """The addresses of sinks: those of queries, of those that others took the place of, and of pools."""
        names = dict.fromkeys([*(f.pool for f in plan.fragments if f.words), *(j.pool for j in plan.joins)])
        pools = {f"{POOL}{name}": str(self._directory.shared / name) for name in names if name}
        retired = {q.name: address_of(q.into, "") for q in plan.queries if is_retired(q.name)}
        return {**workload.outputs, **retired, **pools}

    def notice(self, reports: list[Report]) -> None:
        """When each stream had its last rows, and how much the last batch made."""
        now = time.monotonic()
        for control in controls_of(reports):
            self._last_rows.update({s: now for s, facts in control.streams.items() if facts.rows})
        self._made = rows_made(reports)

    def _idle(self, plan: Plan) -> tuple[str, ...]:
        """The streams that have had no rows for as long as their declaration says."""
        now = time.monotonic()
        for s in plan.streams:
            self._last_rows.setdefault(s.name, now)
        return tuple(
            s.name
            for s in plan.streams
            if s.idle_timeout is not None and (now - self._last_rows[s.name]) * 1e6 > s.idle_timeout
        )

    def _is_near(self, plan: Plan, ground: Ground) -> bool:
        """Whether the last batch made, and the state holds, so few rows that an exchange would cost more than it spreads.

        What holds values of rows (rows of joins, medians, sets) stays in the tasks, however little it is; and so does the first batch
        after a start, of which nothing is known.
        """
        if self._exchange == "always" or self._made is None or holds_values(plan):
            return False
        return self._made + sum(f.rows for f in ground.manifest.files) <= FEW_ROWS
