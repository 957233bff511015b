"""The driver's side of a micro-batch: plan, run one Spark job, commit, show results."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from thalweg.engine.accounting import accounted
from thalweg.engine.arrivals import Arrival, Coming, Ground, ground_of
from thalweg.engine.audience import Audience
from thalweg.engine.blame import Blamed
from thalweg.engine.chronicle import Chronicle, Reason, switch_of
from thalweg.engine.commit import checked, committed, rows_read
from thalweg.engine.culprits import culprits, failure_of
from thalweg.engine.faults import reach
from thalweg.engine.kernel.showing import POOL
from thalweg.engine.ledger import Ledger
from thalweg.engine.mishaps import mishap
from thalweg.engine.orders import Orders
from thalweg.engine.planning import Before, Planning
from thalweg.engine.progress import Attempt, BatchProgress, Stopping, progress_of
from thalweg.engine.scaling import Scale, Scaling
from thalweg.engine.stages import spark_job
from thalweg.engine.task import Report, Task
from thalweg.engine.turns import Turns
from thalweg.engine.workload import BAD, LATE, PlannerOf, Workload, without
from thalweg.errors import StateError
from thalweg.model.nesting import readers
from thalweg.model.query import Query
from thalweg.model.recorded import Failure
from thalweg.model.settings import Config
from thalweg.optimizer.retiring import goes_on, is_retired
from thalweg.plan.graph import ended_now
from thalweg.plan.members import base_of
from thalweg.plan.nodes import Plan
from thalweg.state import lives
from thalweg.state.directory import Directory
from thalweg.state.lives import Lives
from thalweg.state.manifest import Manifest
from thalweg.state.runs import ended

Job = Callable[[Any, Task], list[Report]]


class Runner:
    """Runs micro-batches over a session directory. One at a time; each is committed by one atomic manifest.

    `workload` may be replaced by any thread at any time: a batch looks at it once, when it is planned, and has no other source of what
    it is to do. `planning` chooses its plan, `turns` tells when batches run, `ready` is called before each. A query that makes a
    batch fail is stopped: `on_failed` is told before the batch is committed without it. `coming` are queries that batches go on with once
    they have caught up.
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
        self.directory, self.planning = directory, Planning(planner)
        self.scale = Scale(partitions)
        self._scaling: Scaling | None = None
        self.cores: Callable[[Config], int] = lambda config: partitions
        self.resize: Callable[[Config, int], None] = lambda config, number: None
        self.exchange, self.scan = exchange, scan
        self.job = job or spark_job
        self.ledger = Ledger(directory, durable)
        self._orders = Orders(directory, self.ledger, exchange, scan)
        self.manifest = self.ledger.latest()
        self.plan = self.ledger.plan_of(self.manifest)
        self.lives = lives.read(directory.queries, self.manifest.batch)
        self.workload = Workload()
        self.audience: Audience[BatchProgress] = Audience()
        self.failure: Exception | None = None
        self.stopping = False
        self.fault: str | None = None
        self._planned: Workload | None = None
        self.turns, self._under_way = Turns(), Workload()
        self.turned = self.turns.turned
        self.on_failed: Callable[[Sequence[Failure]], None] = lambda failures: None
        self.ready: Callable[[], None] = lambda: None
        self._stopped: tuple[Query, ...] = ()
        self.chronicle = Chronicle(directory.root, self.manifest.batch)
        self._failed: tuple[Failure, ...] = ()
        self.coming = Coming()
        self._arrivals: tuple[Arrival, ...] = ()
        self._ground = Ground(self.manifest, self.plan)
        self._reduced: tuple[Workload, frozenset[str], Workload] | None = None

    def recover(self) -> None:
        """Finish what a crash interrupted: show committed results, sweep what was never committed."""
        workload = self._taken()
        refused = self.ledger.recover(
            self.manifest,
            self._orders.outputs(workload, self.plan).values(),
            [s.name for s in workload.streams if s.path],
        )
        lives.forget(self.directory.queries, self.manifest.batch)
        self._stop_refused(workload, refused)

    def on_batch(self, frame: Any, batch: int) -> None:
        """What `foreachBatch` calls. An error is kept for the session, which tells the user."""
        try:
            if self.stopping:
                raise Stopping
            self.ready()
            self.turns.turn(True)
            self._batch(frame, batch)
        except Exception as e:
            self.failure = self.failure or e
            if not isinstance(e, Stopping):
                ended(self.directory.root, mishap(e))
            raise
        finally:
            self.turns.turn(False)

    @property
    def partitions(self) -> int:
        """How many hash ranges there are."""
        return self.scale.partitions

    @property
    def last(self) -> tuple[Manifest, Plan]:
        """The last batch that was committed, and the plan that it ran."""
        with self.turned:
            return self.manifest, self.plan

    @property
    def before(self) -> Before:
        """What the last batch left to the next one, unless more arrives."""
        with self.turned:
            return Before(self._planned, self.plan, self.plan, self.manifest, self.lives)

    def will_run(self, query: Query) -> bool:
        """Whether no batch is under way, and the next one will run a query."""
        pending = self.coming.pending(self.workload)
        with self.turned:
            return (
                not self.turns.is_busy
                and query.name not in pending
                and any(q.name == query.name and q.is_one_with(query) for q in self.workload.queries)
            )

    def _batch(self, frame: Any, batch: int) -> None:
        started = time.perf_counter()
        self.directory.guard()
        if batch == self.manifest.batch:
            self._stop_refused(self._taken(), self.ledger.show(self.manifest, self.fault))
            return
        if batch != self.manifest.batch + 1:
            hint = "restore both from the same copy, or start anew in another directory"
            raise StateError(
                f"{self.directory.root}: Spark is at batch {batch}, the state at {self.manifest.batch}", hint
            )
        done, failed = self._committed(frame, batch)
        self._orders.notice(done.reports)
        self.planning.notice(done.plan, done.made, done.workload, self.manifest, done.reports)
        with self.turned:
            before, self.manifest, self.plan, self._planned, self.lives = (
                self.manifest,
                done.made,
                done.plan,
                done.workload,
                done.lives,
            )
            self._failed = ()
        failed += self._stop_refused(done.workload, self.ledger.show(done.made, self.fault))
        self.ledger.clean(replace(before, files=(*before.files, *self._ground.files)), done.made, self.fault)
        if failed:
            self.ledger.sweep(done.made, self._orders.outputs(done.workload, done.plan).values())
        lives.forget(self.directory.queries, batch)
        seconds = time.perf_counter() - started
        self.chronicle.took(batch, seconds, rows_read(done.reports))
        if not done.near:
            self.scale.took(seconds, self.turns.last_pause)
        self.audience.tell(progress_of(before, done, seconds, failed))
        self.coming.passed({a.query.name for a in self._ground.arrivals})

    def _committed(self, frame: Any, batch: int) -> tuple[Attempt, tuple[Failure, ...]]:
        """Run a batch and commit it; as often as a query makes it fail, again without that one."""
        self._arrivals = self.coming.arrived(self.workload)
        workload, failed = self._taken(), tuple[Failure, ...]()
        self._scaling = self.scale.follow(workload.config, partial(self.cores, workload.config))
        self.resize(workload.config, self.scale.partitions)
        while True:
            try:
                done = self._attempt(frame, batch, workload)
                if done.lives != self.lives:
                    lives.write(self.directory.queries, batch, done.lives)
                self._note(batch, done.plan)
                live = set(self._orders.outputs(done.workload, done.plan).values())
                return replace(
                    done, made=self.ledger.commit(self.manifest, done.made, self.fault, live)
                ), failed
            except Blamed as e:
                lives.forget(self.directory.queries, self.manifest.batch)
                found = culprits(self._by_name(e, workload), partial(self._trial, frame, batch, workload))
                failed += self._stop(workload, found, batch)
                workload = self._taken(workload)

    def _note(self, batch: int, plan: Plan) -> None:
        """Write down what a batch changes."""
        reason = self.planning.reason if plan is not self.plan else Reason()
        switch = switch_of(batch, self.plan, plan, reason, self._failed, self._scaling)
        if switch is not None:
            self.chronicle.note(switch, self.plan, plan, reason.known)

    def _attempt(self, frame: Any, batch: int, workload: Workload) -> Attempt:
        """Run a batch, as far as it can be done again."""
        self._ground = ground_of(self.manifest, self.plan, self._arrivals, workload)
        plan = self._planned_for(workload)
        path = self._logged(plan, batch)
        task = self._task(plan, path, batch, workload)
        reach("driver:before-job", self.fault)
        reports = self.job(frame, task)
        self.directory.guard()
        checked(reports)
        reach("driver:after-job", self.fault)
        made = committed(self._counted(plan), task, plan, path.name, reports)
        made = accounted(self.directory.checkpoint, self.manifest, made, plan.streams, reports, task)
        return Attempt(workload, plan, made, reports, self._lives_after(plan, workload, batch), task.near)

    def _trial(
        self, frame: Any, batch: int, workload: Workload, kept: Sequence[str], suspects: Sequence[str]
    ) -> Blamed | None:
        """How a batch fails without some of its queries, if it does."""
        try:
            self._attempt(frame, batch, without(workload, set(suspects) - set(kept)))
        except Blamed as e:
            return self._by_name(e, workload)
        return None

    def _by_name(self, blamed: Blamed, workload: Workload) -> Blamed:
        """The queries that are blamed, where it is said where they write. What writes for no query is an error of the run."""
        owners = {address: name for name, address in self._orders.outputs(workload, self.plan).items()}
        asked = {q.name: q for q in (*self.plan.queries, *workload.queries)}.values()
        names = [owners.get(n, n) for q in blamed.queries for n in readers(q, asked)]
        if any(n.startswith((POOL, LATE, BAD)) for n in names):
            raise blamed.error
        return Blamed(blamed.error, dict.fromkeys(names))

    def _stop(self, workload: Workload, found: Mapping[str, Exception], batch: int) -> tuple[Failure, ...]:
        """Stop queries from a batch on. A query that another took the place of ends without a word: it is in no workload."""
        asked, there = {q.name: q for q in workload.queries}, {q.name for q in self.plan.queries}
        if found and not found.keys() & (asked.keys() | there):
            raise next(iter(found.values()))
        for name in found.keys() - asked.keys():
            self.plan = ended_now(self.plan, name)
        failures = tuple(
            failure_of(asked[name], workload, batch, self.manifest, error)
            for name, error in found.items()
            if name in asked
        )
        with self.turned:
            self._stopped += tuple(f.query for f in failures)
            self._failed += failures
        if failures:
            self.on_failed(failures)
        return failures

    def _stop_refused(self, workload: Workload, refused: Mapping[str, Exception]) -> tuple[Failure, ...]:
        """Stop the queries whose results can't be shown, from the next batch on. Those that are no more can't be stopped."""
        owners, found = {address: name for name, address in workload.outputs.items()}, {}
        for address, error in refused.items():
            if owners.get(address, "").startswith((LATE, BAD)):
                raise error
            if address in owners:
                found[owners[address]] = error
        return self._stop(workload, found, self.manifest.batch + 1)

    def _taken(self, workload: Workload | None = None) -> Workload:
        """The workload of this batch, whatever is asked for meanwhile; without what was stopped, and what has not caught up."""
        pending = self.coming.pending(self.workload) - {a.query.name for a in self._arrivals}
        with self.turned:
            taken = self._in_force(self.workload, pending) if workload is None else workload
            self._stopped = tuple(
                q for q in self._stopped if any(q is other for other in taken.queries) or workload is not None
            )
            self._under_way = without(
                taken, {q.name for q in taken.queries if any(q is other for other in self._stopped)}
            )
        return self._under_way

    def _in_force(self, workload: Workload, pending: frozenset[str]) -> Workload:
        """A workload without what is pending: the same as long as both are."""
        if self._reduced is None or self._reduced[0] is not workload or self._reduced[1] != pending:
            self._reduced = workload, pending, without(workload, pending)
        return self._reduced[2]

    def next_workload(self, workload: Workload) -> Workload:
        """What the next batch would run of a workload, as far as that is known."""
        return without(workload, self.coming.pending(workload))

    def _lives_after(self, plan: Plan, workload: Workload, batch: int) -> Lives:
        """Since when each query runs, once this batch is committed."""
        if plan is self.plan:
            return self.lives
        live = [q for q in plan.queries if not is_retired(q.name)]
        pools = {q.name: pools_of(plan, q.name) for q in live if q.into is None}
        begins = self._begun_before(live) | {a.query.name: a.begins for a in self._ground.arrivals}
        return lives.lived(
            self.lives,
            live,
            self._continuing(plan),
            batch,
            self.manifest.tops,
            workload.outputs,
            pools,
            begins,
        )

    def _begun_before(self, queries: Sequence[Query]) -> dict[str, Mapping[str, int | None]]:
        """The beginnings of queries that go on with what those were given whose place they take."""
        lived = {life.name: life.begins for life in self.lives if life.ended is None}
        return {q.name: lived[q.name] for q in queries if q.name in lived and goes_on(self._ground.plan, q)}

    def _continuing(self, plan: Plan) -> set[str]:
        """The queries of a plan that the batch before had too."""
        before = {q.name: q for q in self._ground.plan.queries}
        return {q.name for q in plan.queries if q.name in before and q.is_one_with(before[q.name])}

    def _counted(self, plan: Plan) -> Manifest:
        """The last manifest; what it counted of a query that another took the place of is not the new one's."""
        if plan is self.plan:
            return self.manifest
        continuing, before = self._continuing(plan), self._ground.manifest
        return replace(before, queries={n: c for n, c in before.queries.items() if n in continuing})

    def _planned_for(self, workload: Workload) -> Plan:
        at = Before(self._planned, self.plan, self._ground.plan, self.manifest, self.lives)
        return self.planning.plan_for(workload, at)

    def _logged(self, plan: Plan, batch: int) -> Path:
        """The file of a plan: that of the batch before, or a new one."""
        if plan is self.plan and self.manifest.plan:
            return self.directory.plans / self.manifest.plan
        return self.ledger.write_plan(plan, batch, self.fault)

    def _task(self, plan: Plan, path: Path, batch: int, workload: Workload) -> Task:
        counts = self.planning.attention.counts
        return self._orders.task(
            plan, path, batch, workload, self.manifest, self._ground, self.partitions, counts, self.fault
        )


def pools_of(plan: Plan, query: str) -> tuple[str, ...]:
    """The pools that a query is computed in."""
    given = [e for e in plan.given_to(query) if e.bit is not None]
    return tuple(
        dict.fromkeys(base_of(plan, e).pool if e.window else plan.join(e.nodes[0]).pool for e in given)
    )
