"""The driver's side of a micro-batch: plan, run one Spark job, commit, show results."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from thalweg.compile.retention import is_over
from thalweg.engine.accounting import accounted
from thalweg.engine.arrivals import Arrival, Coming, Ground
from thalweg.engine.attention import Attention
from thalweg.engine.audience import Audience
from thalweg.engine.blame import Blamed
from thalweg.engine.chronicle import Chronicle, Reason, reason_of, switch_of
from thalweg.engine.commit import checked, committed, controls_of, rows_made, rows_read
from thalweg.engine.culprits import culprits
from thalweg.engine.faults import reach
from thalweg.engine.kernel.showing import POOL
from thalweg.engine.ledger import Ledger
from thalweg.engine.mishaps import mishap
from thalweg.engine.progress import Attempt, BatchProgress, Stopping
from thalweg.engine.stages import spark_job
from thalweg.engine.task import Report, Task
from thalweg.engine.workload import BAD, LATE, PlannerOf, Workload, without
from thalweg.errors import StateError
from thalweg.model.query import Query
from thalweg.model.recorded import Failure
from thalweg.model.target import address_of
from thalweg.optimizer.planner import worth_replanning
from thalweg.optimizer.retiring import is_retired
from thalweg.optimizer.workload import Planner, advance, build
from thalweg.plan.graph import ended_now, united
from thalweg.plan.members import base_of
from thalweg.plan.nodes import Plan, holds_values
from thalweg.state import lives
from thalweg.state.directory import Directory
from thalweg.state.lives import Lives
from thalweg.state.manifest import Counts, Manifest
from thalweg.state.runs import ended, now_text
from thalweg.statistics.known import Known

# Batches after which it is asked whether another plan would be better: two early ones, and every so many.
REPLAN_AFTER, REPLAN_EVERY = (1, 4), 32
# Batches that count distinct values for the statistics of joins.
COUNT_IN, COUNT_EVERY = (0, 1, 4), 8
# Rows of partial aggregates and state up to which a batch needs no exchange.
FEW_ROWS = 100_000
Job = Callable[[Any, Task], list[Report]]


class Runner:
    """Runs micro-batches over a session directory. One at a time; each is committed by one atomic manifest.

    `workload` may be replaced by any thread at any time: a batch looks at it once, when it is planned, and has no other source of what
    it is to do. Whether another plan would be better is found out by `beside`, at once unless that is told otherwise. `turned` is
    notified when a batch begins and when it ends. A query that makes a batch fail is stopped: `on_failed` is told before the batch is
    committed without it. `coming` are queries that batches go on with once they have caught up.
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
        self.directory, self.partitions, self.planner_of, self.fresh_planner_of = (
            directory,
            partitions,
            planner,
            planner,
        )
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
        self.on_failed: Callable[[Sequence[Failure]], None] = lambda failures: None
        self._stopped: tuple[Query, ...] = ()
        self.chronicle, self._reason = Chronicle(directory.root, self.manifest.batch), Reason()
        self._failed: tuple[Failure, ...] = ()
        self.coming = Coming()
        self._arrivals: tuple[Arrival, ...] = ()
        self._ground = Ground(self.manifest, self.plan)
        self._reduced: tuple[Workload, frozenset[str], Workload] | None = None
        self._busy, self._busy_since, self.last_pause = 0.0, 0.0, 0.0
        self.attention = Attention()

    def recover(self) -> None:
        """Finish what a crash interrupted: show committed results, sweep what was never committed."""
        workload = self._taken()
        refused = self.ledger.recover(
            self.manifest,
            self._outputs(workload, self.plan).values(),
            [s.name for s in workload.streams if s.path],
        )
        lives.forget(self.directory.queries, self.manifest.batch)
        self._stop_refused(workload, refused)

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
        pending = self.coming.pending(self.workload)
        with self.turned:
            return (
                not self.is_busy
                and query not in pending
                and any(q.name == query for q in self.workload.queries)
            )

    def writes_to(self, directory: str) -> bool:
        """Whether a query that was dropped may still add to a directory of results."""
        with self.turned:
            return self.is_busy and directory in self._under_way.outputs.values()

    @property
    def busy_seconds(self) -> float:
        """The time that batches took so far, this one included."""
        with self.turned:
            return self._busy + (time.monotonic() - self._busy_since if self.is_busy else 0.0)

    @property
    def rested(self) -> float:
        """The seconds since the last batch ended; none while one runs."""
        with self.turned:
            return 0.0 if self.is_busy else time.monotonic() - self._busy_since

    def _turn(self, is_busy: bool) -> None:
        with self.turned:
            now = time.monotonic()
            self.last_pause = now - self._busy_since if is_busy and self._busy_since else self.last_pause
            self._busy, self._busy_since = self._busy + (now - self._busy_since if self.is_busy else 0.0), now
            self.is_busy = is_busy
            self.turned.notify_all()

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
        self._noticed(done.reports)
        self.attention.pay(done.plan, done.made, partial(self._expecting, done.workload, self.manifest))
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
            self.ledger.sweep(done.made, self._outputs(done.workload, done.plan).values())
        lives.forget(self.directory.queries, batch)
        seconds = time.perf_counter() - started
        self.chronicle.took(batch, seconds, rows_read(done.reports))
        self._tell(before, done.made, done.workload, done.reports, seconds, failed)
        self.coming.passed({a.query.name for a in self._ground.arrivals})

    def _committed(self, frame: Any, batch: int) -> tuple[Attempt, tuple[Failure, ...]]:
        """Run a batch and commit it; as often as a query makes it fail, again without that one."""
        self._arrivals = self.coming.arrived(self.workload)
        workload, failed = self._taken(), tuple[Failure, ...]()
        while True:
            try:
                done = self._attempt(frame, batch, workload)
                if done.lives != self.lives:
                    lives.write(self.directory.queries, batch, done.lives)
                if done.plan is not self.plan and (
                    switch := switch_of(batch, self.plan, done.plan, self._reason, self._failed)
                ):
                    self.chronicle.note(switch, self.plan, done.plan, self._reason.known)
                live = set(self._outputs(done.workload, done.plan).values())
                return replace(
                    done, made=self.ledger.commit(self.manifest, done.made, self.fault, live)
                ), failed
            except Blamed as e:
                lives.forget(self.directory.queries, self.manifest.batch)
                found = culprits(self._by_name(e, workload), partial(self._trial, frame, batch, workload))
                failed += self._stop(workload, found, batch)
                workload = self._taken(workload)

    def _attempt(self, frame: Any, batch: int, workload: Workload) -> Attempt:
        """Run a batch, as far as it can be done again."""
        self._ground = self._with_arrivals(workload)
        plan = self._current_plan(workload)
        path = self._logged(plan, batch)
        task = self._task(plan, path, batch, workload)
        reach("driver:before-job", self.fault)
        reports = self.job(frame, task)
        self.directory.guard()
        checked(reports)
        reach("driver:after-job", self.fault)
        made = committed(self._counted(plan), task, plan, path.name, reports)
        made = accounted(self.directory.checkpoint, self.manifest, made, plan.streams, reports, task)
        return Attempt(workload, plan, made, reports, self._lives_after(plan, workload, batch))

    def _with_arrivals(self, workload: Workload) -> Ground:
        """What a batch goes on from. A query that takes the place of one that still runs comes a batch later."""
        asked, there = {q.name: q for q in workload.queries}, {q.name for q in self.plan.queries}
        coming = tuple(
            a for a in self._arrivals if asked.get(a.query.name) is a.query and a.query.name not in there
        )
        if not coming:
            return Ground(self.manifest, self.plan)
        for arrival in coming:
            arrival.install()
        plans = (self.plan, *(a.plan for a in coming))
        plan = united(
            (n for p in plans for n in p.nodes),
            (j for p in plans for j in p.joins),
            (e for p in plans for e in p.emissions),
        )
        kept = {f.fragment for f in self.manifest.files}
        coming = tuple(replace(a, files=tuple(f for f in a.files if f.fragment not in kept)) for a in coming)
        queries = (*self.plan.queries, *(a.query for a in coming))
        known = self.plan
        plan = replace(
            plan,
            streams=known.streams,
            relations=known.relations,
            queries=queries,
            settings=known.settings,
            subs=known.subs,
        )
        counts = {**self.manifest.queries, **{a.query.name: a.counts for a in coming}}
        files = (*self.manifest.files, *(f for a in coming for f in a.files))
        return Ground(replace(self.manifest, files=files, queries=counts), plan, coming)

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
        owners = {address: name for name, address in self._outputs(workload, self.plan).items()}
        names = [owners.get(q, q) for q in blamed.queries]
        if any(n.startswith((POOL, LATE, BAD)) for n in names):
            raise blamed.error
        return Blamed(blamed.error, names)

    def _stop(self, workload: Workload, found: Mapping[str, Exception], batch: int) -> tuple[Failure, ...]:
        """Stop queries from a batch on. A query that another took the place of ends without a word: it is in no workload."""
        asked, there = {q.name: q for q in workload.queries}, {q.name for q in self.plan.queries}
        if found and not found.keys() & (asked.keys() | there):
            raise next(iter(found.values()))
        for name in found.keys() - asked.keys():
            self.plan = ended_now(self.plan, name)
        failures = tuple(
            self._failure(asked[name], workload, batch, error)
            for name, error in found.items()
            if name in asked
        )
        with self.turned:
            self._stopped += tuple(f.query for f in failures)
            self._failed += failures
        if failures:
            self.on_failed(failures)
        return failures

    def _failure(self, query: Query, workload: Workload, batch: int, error: Exception) -> Failure:
        said, rows = mishap(error), self.manifest.queries.get(query.name, Counts()).rows
        return Failure(
            query,
            workload.outputs[query.name],
            batch,
            now_text(),
            rows,
            type(said).__name__,
            said.message,
            said.hint,
        )

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
        begins = {a.query.name: a.begins for a in self._ground.arrivals}
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

    def _continuing(self, plan: Plan) -> set[str]:
        """The queries of a plan that the batch before had too, asking the same."""
        before = {q.name: q for q in self._ground.plan.queries}
        return {q.name for q in plan.queries if q.name in before and q.meaning == before[q.name].meaning}

    def _counted(self, plan: Plan) -> Manifest:
        """The last manifest; what it counted of a query that another took the place of is not the new one's."""
        if plan is self.plan:
            return self.manifest
        continuing, before = self._continuing(plan), self._ground.manifest
        return replace(before, queries={n: c for n, c in before.queries.items() if n in continuing})

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
        asked = w.settings != self.plan.settings or (
            self._planned is not None and w.replan != self._planned.replan
        )
        replan = frozenset(q.name for q in w.queries) if asked else better
        planner = planner or self.planner_of(w, self.manifest)
        places = {life.name: life.directory for life in self.lives if life.ended is None}
        plan = advance(
            self._ground.plan, w.streams, w.queries, planner, tops, frontiers, replan, w.relations, places
        )
        self._reason = reason_of(self.plan, w, better, asked and bool(self.plan.queries), planner.known)
        return replace(plan, settings=w.settings)

    def _is_time(self) -> bool:
        """Soon after the start, when the first statistics are there, now and then, and when a join is far off what was expected."""
        batch = self.manifest.batch
        due = batch in REPLAN_AFTER or batch % REPLAN_EVERY == REPLAN_EVERY - 1 or self.attention.left > 0
        return self._planned is not None and due

    def _expecting(self, w: Workload, manifest: Manifest) -> Known:
        """What was known after a batch."""
        return self.fresh_planner_of(w, manifest).known

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
        idle = [
            s.name
            for s in plan.streams
            if s.idle_timeout is not None and (now - self._last_rows[s.name]) * 1e6 > s.idle_timeout
        ]
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
            look=bool(plan.joins)
            and (batch in COUNT_IN or batch % COUNT_EVERY == COUNT_EVERY - 1 or self.attention.counts),
            fault=self.fault,
            readable=workload.readable,
            adopted=self._ground.files,
        )

    def _outputs(self, workload: Workload, plan: Plan) -> dict[str, str]:
        """The addresses of sinks."""
        names = dict.fromkeys([*(f.pool for f in plan.fragments if f.words), *(j.pool for j in plan.joins)])
        pools = {f"{POOL}{name}": str(self.directory.shared / name) for name in names if name}
        return {**workload.outputs, **retired_outputs(plan), **pools}

    def _is_near(self, plan: Plan) -> bool:
        """Whether the last batch made, and the state holds, so few rows that an exchange would cost more than it spreads.

        What holds values of rows (rows of joins, medians, sets) stays in the tasks, however little it is; and so does the first batch
        after a start, of which nothing is known.
        """
        if self.exchange == "always" or self._made is None or holds_values(plan):
            return False
        return self._made + sum(f.rows for f in self._ground.manifest.files) <= FEW_ROWS

    def _noticed(self, reports: list[Report]) -> None:
        """When each stream had its last rows, and how much the last batch made."""
        now = time.monotonic()
        for control in controls_of(reports):
            self._last_rows.update({s: now for s, facts in control.streams.items() if facts.rows})
        self._made = rows_made(reports)

    def _tell(
        self,
        before: Manifest,
        made: Manifest,
        workload: Workload,
        reports: list[Report],
        seconds: float,
        failed: tuple[Failure, ...],
    ) -> None:
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
            bad_rows=_more(before, made, "bad_rows"),
            bad_files=_more(before, made, "bad_files"),
            set_aside=made.set_aside[len(before.set_aside) :],
            failed=failed,
        )
        self.audience.tell(progress)


def _more(before: Manifest, made: Manifest, count: str) -> int:
    """What a batch has added to a count of streams."""
    return sum(
        getattr(c, count) - getattr(before.streams.get(s, Counts()), count) for s, c in made.streams.items()
    )


def pools_of(plan: Plan, query: str) -> tuple[str, ...]:
    """The pools that a query is computed in."""
    given = [e for e in plan.given_to(query) if e.bit is not None]
    return tuple(
        dict.fromkeys(base_of(plan, e).pool if e.window else plan.join(e.nodes[0]).pool for e in given)
    )


def retired_outputs(plan: Plan) -> dict[str, str]:
    """Where the results of queries go that others took the place of."""
    return {q.name: address_of(q.into, "") for q in plan.queries if is_retired(q.name)}
