"""The driver's side of a micro-batch: plan, run one Spark job, commit, show results."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from thalweg.compile.retention import is_over
from thalweg.engine.accounting import accounted
from thalweg.engine.audience import Audience
from thalweg.engine.commit import checked, committed, controls_of, rows_made
from thalweg.engine.faults import reach
from thalweg.engine.kernel.showing import POOL
from thalweg.engine.ledger import Ledger
from thalweg.engine.mishaps import mishap
from thalweg.engine.stages import spark_job
from thalweg.engine.task import Report, Task
from thalweg.engine.workload import PlannerOf, Workload
from thalweg.errors import StateError
from thalweg.model.target import address_of
from thalweg.optimizer.planner import worth_replanning
from thalweg.optimizer.retiring import is_retired
from thalweg.optimizer.workload import Planner, advance, build
from thalweg.plan.members import base_of
from thalweg.plan.nodes import Plan, holds_values
from thalweg.state import lives
from thalweg.state.directory import Directory
from thalweg.state.lives import Lives
from thalweg.state.manifest import Manifest, StepTime
from thalweg.state.runs import ended

# Batches after which it is asked whether another plan would be better: two early ones, and every so many.
REPLAN_AFTER, REPLAN_EVERY = (1, 4), 32
# Batches that count distinct values for the statistics of joins.
COUNT_IN, COUNT_EVERY = (0, 1, 4), 8
# Rows of partial aggregates and state up to which a batch needs no exchange.
FEW_ROWS = 100_000
Job = Callable[[Any, Task], list[Report]]


@dataclass(frozen=True)
class BatchProgress:
    """What a batch did, for people and for tests."""

    batch: int
    rows: int
    seconds: float
    results: dict[str, int]
    late: int
    state_rows: int
    state_bytes: int
    frontiers: dict[str, int | None]
    steps: dict[str, StepTime]
    published: tuple[tuple[str, str], ...] = ()


class Stopping(Exception):
    """Raised inside a batch that must not start because the session is stopping."""


class Runner:
    """Runs micro-batches over a session directory. One at a time; each is committed by one atomic manifest.

    `workload` may be replaced by any thread at any time: a batch looks at it once, when it is planned, and has no other source of what
    it is to do. Whether another plan would be better is found out by `beside`, at once unless that is told otherwise. `turned` is
    notified when a batch begins and when it ends.
    """

    def __init__(
        self,
        directory: Directory,
        partitions: int,
        planner: PlannerOf,
        job: Job | None = None,
        exchange: str = "best",
        scan: str = "best",
        durable: bool = True,
    ) -> None:
        self.directory, self.partitions, self.planner_of, self.fresh_planner_of = directory, partitions, planner, planner
        self.beside: Callable[[Callable[[], None]], None] = lambda work: work()
        self._better: tuple[Plan, frozenset[str], Planner] | None = None
        self.exchange, self.scan = exchange, scan
        self.job = job or spark_job
        self.ledger = Ledger(directory, durable)
        self.manifest = self.ledger.latest()
        self.plan = self.ledger.plan_of(self.manifest)
        self.lives = lives.read(directory.queries, self.manifest.batch)
        self.workload = Workload()
        self.audience: Audience[BatchProgress] = Audience()
        self.failure: Exception | None = None
        self.stopping = False
        self.fault: str | None = None
        self._planned: Workload | None = None
        self._last_rows: dict[str, float] = {}
        self._made: int | None = None
        self.turned = threading.Condition()
        self.is_busy, self._under_way = False, Workload()

    def recover(self) -> None:
        """Finish what a crash interrupted: show committed results, sweep what was never committed."""
        self.ledger.recover(self.manifest, self._outputs(self.workload, self.plan).values())
        lives.forget(self.directory.queries, self.manifest.batch)

    def on_batch(self, frame: Any, batch: int) -> None:
        """What `foreachBatch` calls. An error is kept for the session, which tells the user."""
        try:
            if self.stopping:
                raise Stopping
            self._turn(True)
            self._batch(frame, batch)
        except Exception as e:
            self.failure = self.failure or e
            if not isinstance(e, Stopping):
                ended(self.directory.root, mishap(e))
            raise
        finally:
            self._turn(False)

    @property
    def last(self) -> tuple[Manifest, Plan]:
        """The last batch that was committed, and the plan that it ran."""
        with self.turned:
            return self.manifest, self.plan

    def will_run(self, query: str) -> bool:
        """Whether no batch is under way, and the next one will run a query."""
        with self.turned:
            return not self.is_busy and any(q.name == query for q in self.workload.queries)

    def writes_to(self, directory: str) -> bool:
        """Whether a query that was dropped may still add to a directory of results."""
        with self.turned:
            return self.is_busy and directory in self._under_way.outputs.values()

    def _turn(self, is_busy: bool) -> None:
        with self.turned:
            self.is_busy = is_busy
            self.turned.notify_all()

    def _batch(self, frame: Any, batch: int) -> None:
        started = time.perf_counter()
        self.directory.guard()
        if batch == self.manifest.batch:
            self.ledger.show(self.manifest, self.fault)
            return
        if batch != self.manifest.batch + 1:
            hint = "restore both from the same copy, or start anew in another directory"
            raise StateError(f"{self.directory.root}: Spark is at batch {batch}, the state at {self.manifest.batch}", hint)
        workload = self._taken()
        plan = self._current_plan(workload)
        path = self._logged(plan, batch)
        task = self._task(plan, path, batch, workload)
        reach("driver:before-job", self.fault)
        reports = self.job(frame, task)
        self.directory.guard()
        checked(reports)
        reach("driver:after-job", self.fault)
        made = committed(self._counted(plan), task, plan, path.name, reports)
        made = accounted(self.directory.checkpoint, self.manifest, made, plan.streams, reports)
        after = self._lives_after(plan, workload, batch)
        made = self.ledger.commit(self.manifest, made, self.fault)
        self._noticed(reports)
        with self.turned:
            before, self.manifest, self.plan, self._planned, self.lives = self.manifest, made, plan, workload, after
        self.ledger.show(made, self.fault)
        self.ledger.clean(before, made, self.fault)
        lives.forget(self.directory.queries, batch)
        self._tell(made, workload, reports, time.perf_counter() - started)

    def _taken(self) -> Workload:
        """The workload of this batch, whatever is asked for meanwhile."""
        with self.turned:
            self._under_way = self.workload
        return self._under_way

    def _lives_after(self, plan: Plan, workload: Workload, batch: int) -> Lives:
        """Since when each query runs, once this batch is committed; logged where it changes."""
        if plan is self.plan:
            return self.lives
        live = [q for q in plan.queries if not is_retired(q.name)]
        pools = {q.name: pools_of(plan, q.name) for q in live if q.into is None}
        after = lives.lived(self.lives, live, self._continuing(plan), batch, self.manifest.tops, workload.outputs, pools)
        if after != self.lives:
            lives.write(self.directory.queries, batch, after)
        return after

    def _continuing(self, plan: Plan) -> set[str]:
        """The queries of a plan that the batch before had too, asking the same."""
        before = {q.name: q for q in self.plan.queries}
        return {q.name for q in plan.queries if q.name in before and q.meaning == before[q.name].meaning}

    def _counted(self, plan: Plan) -> Manifest:
        """The last manifest; what it counted of a query that another took the place of is not the new one's."""
        if plan is self.plan:
            return self.manifest
        continuing = self._continuing(plan)
        return replace(self.manifest, queries={n: c for n, c in self.manifest.queries.items() if n in continuing})

    def _current_plan(self, w: Workload) -> Plan:
        """The plan in force, or its successor where the workload changed or a handed-over plan has drained."""
        frontiers, tops = self.manifest.frontiers, self.manifest.tops
        done = any(e.until is not None and is_over(self.plan, e, frontiers) for e in self.plan.emissions)
        changed = w != self._planned
        if self._is_time() and not changed:
            self.beside(partial(self._look, w, self.plan, self.manifest))
        better, planner = self._seen_better(changed)
        if not changed and not done and not better:
            return self.plan
        asked = w.settings != self.plan.settings or (self._planned is not None and w.replan != self._planned.replan)
        replan = frozenset(q.name for q in w.queries) if asked else better
        planner = planner or self.planner_of(w, self.manifest)
        places = {life.name: life.directory for life in self.lives if life.ended is None}
        plan = advance(self.plan, w.streams, w.queries, planner, tops, frontiers, replan, w.relations, places)
        return replace(plan, settings=w.settings)

    def _is_time(self) -> bool:
        """Soon after the start, when the first statistics are there, and now and then."""
        return self._planned is not None and (self.manifest.batch in REPLAN_AFTER or self.manifest.batch % REPLAN_EVERY == REPLAN_EVERY - 1)

    def _look(self, w: Workload, plan: Plan, manifest: Manifest) -> None:
        """Find the queries that would clearly be better off with another plan. While an earlier switch is still going on, all wait."""
        if all(e.until is None for e in plan.emissions):
            planner = self.fresh_planner_of(w, manifest)
            candidate = build(w.streams, w.queries, planner, relations=w.relations)
            self._better = plan, worth_replanning(plan, candidate, planner.known), planner

    def _seen_better(self, changed: bool) -> tuple[frozenset[str], Planner | None]:
        """What the last look found, if nothing has changed since."""
        found, self._better = self._better, None
        if found is None or changed or found[0] is not self.plan or not found[1]:
            return frozenset(), None
        return found[1], found[2]

    def _logged(self, plan: Plan, batch: int) -> Path:
        """The file of a plan: that of the batch before, or a new one."""
        if plan is self.plan and self.manifest.plan:
            return self.directory.plans / self.manifest.plan
        return self.ledger.write_plan(plan, batch, self.fault)

    def _task(self, plan: Plan, path: Path, batch: int, workload: Workload) -> Task:
        now = time.monotonic()
        for s in plan.streams:
            self._last_rows.setdefault(s.name, now)
        idle = [s.name for s in plan.streams if s.idle_timeout is not None and (now - self._last_rows[s.name]) * 1e6 > s.idle_timeout]
        before, near = self.manifest, self._is_near(plan)
        return Task(
            batch=batch,
            partitions=1 if near else self.partitions,
            near=near,
            scan=self.scan,
            plan=str(path),
            manifest=None if before.batch < 0 else self.ledger.manifest_path(before),
            state=str(self.directory.state),
            outputs=self._outputs(workload, plan),
            frontiers={s.name: before.frontiers.get(s.name) for s in plan.streams},
            tops={s.name: before.tops.get(s.name) for s in plan.streams},
            idle=tuple(idle),
            durable=self.ledger.durable,
            look=bool(plan.joins) and (batch in COUNT_IN or batch % COUNT_EVERY == COUNT_EVERY - 1),
            fault=self.fault,
            readable=workload.readable,
        )

    def _outputs(self, workload: Workload, plan: Plan) -> dict[str, str]:
        """The addresses of sinks."""
        pools = {f"{POOL}{f.pool}": str(self.directory.shared / f.pool) for f in plan.fragments if f.pool}
        return {**workload.outputs, **retired_outputs(plan), **pools}

    def _is_near(self, plan: Plan) -> bool:
        """Whether the last batch made, and the state holds, so few rows that an exchange would cost more than it spreads.

        What holds values of rows (rows of joins, medians, sets) stays in the tasks, however little it is; and so does the first batch
        after a start, of which nothing is known.
        """
        if self.exchange == "always" or self._made is None or holds_values(plan):
            return False
        return self._made + sum(f.rows for f in self.manifest.files) <= FEW_ROWS

    def _noticed(self, reports: list[Report]) -> None:
        """When each stream had its last rows, and how much the last batch made."""
        now = time.monotonic()
        for control in controls_of(reports):
            self._last_rows.update({s: now for s, facts in control.streams.items() if facts.rows})
        self._made = rows_made(reports)

    def _tell(self, made: Manifest, workload: Workload, reports: list[Report], seconds: float) -> None:
        results: dict[str, int] = {}
        for report in reports:
            for query, rows in ((q, n) for r in report.results for q, n in r.by_query.items()):
                results[query] = results.get(query, 0) + rows
        facts = [f for c in controls_of(reports) for f in c.streams.values()]
        owners = {address: q for q, address in workload.outputs.items()}
        progress = BatchProgress(
            batch=made.batch,
            rows=sum(f.rows for f in facts),
            seconds=seconds,
            results=results,
            late=sum(f.late for f in facts),
            state_rows=sum(f.rows for f in made.files),
            state_bytes=sum(f.bytes for f in made.files),
            frontiers=made.frontiers,
            steps=made.steps,
            published=tuple((owners.get(p.address, ""), p.shown) for p in made.publish),
        )
        self.audience.tell(progress)


def pools_of(plan: Plan, query: str) -> tuple[str, ...]:
    """The pools that a query is computed in."""
    given = [e for e in plan.given_to(query) if e.bit is not None]
    return tuple(dict.fromkeys(base_of(plan, e).pool if e.window else plan.join(e.nodes[0]).pool for e in given))


def retired_outputs(plan: Plan) -> dict[str, str]:
    """Where the results of queries go that others took the place of."""
    return {q.name: address_of(q.into, "") for q in plan.queries if is_retired(q.name)}
