"""The driver's side of a micro-batch: plan, run one Spark job, commit, show results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from thalweg.engine.faults import reach
from thalweg.engine.kernel.compiled import compiled
from thalweg.engine.kernel.connection import HASH
from thalweg.engine.kernel.work import moved_frontiers
from thalweg.engine.stages import spark_job
from thalweg.engine.task import Report, Task, revive_error
from thalweg.errors import StateError
from thalweg.logical.stream import Relation, Stream
from thalweg.plan.build import AnyQuery, Group, Planner, advance, build
from thalweg.plan.codec import dumps, loads
from thalweg.plan.instants import is_drained, needed_slots
from thalweg.plan.nodes import Plan, holds_values
from thalweg.plan.ranges import drained, needed_from
from thalweg.planning import group_name, learned, side_name, worth_replanning
from thalweg.sinks.parquet import final_path, publish, sweep_staged
from thalweg.state import manifest as manifests
from thalweg.state.directory import Directory, write_atomic
from thalweg.state.files import sweep
from thalweg.state.manifest import Counts, Manifest, Seen, Staged, StateFile

# Batches after which it is asked whether another plan would be better: two early ones, and every so many.
REPLAN_AFTER, REPLAN_EVERY = (1, 4), 32
# Batches that count distinct values for the statistics of joins.
COUNT_IN, COUNT_EVERY = (0, 1, 4), 8
# Rows of partial aggregates and state up to which a batch needs no exchange.
FEW_ROWS = 100_000
Job = Callable[[Any, Task], list[Report]]


@dataclass(frozen=True)
class Workload:
    """What the user wants to run, as one value that replaces the last. Other `settings` of plans, or another `replan`, and all is
    planned again."""

    streams: tuple[Stream, ...] = ()
    queries: tuple[AnyQuery, ...] = ()
    outputs: Mapping[str, str] = field(default_factory=dict)
    replan: int = 0
    relations: tuple[Relation, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()


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
    steps: dict[str, tuple[int, float]]
    published: tuple[tuple[str, str], ...] = ()


class Stopping(Exception):
    """Raised inside a batch that must not start because the session is stopping."""


class Runner:
    """Runs micro-batches over a session directory. One at a time; each is committed by one atomic manifest."""

    def __init__(
        self, directory: Directory, partitions: int, planner: Planner, job: Job | None = None, exchange: str = "best", scan: str = "best"
    ) -> None:
        self.directory, self.partitions, self.planner = directory, partitions, planner
        self.exchange, self.scan = exchange, scan
        self.job = job or spark_job
        self.manifest = manifests.latest(directory.manifests)
        self.plan = self._plan_of(self.manifest)
        self.workload = Workload()
        self.listeners: list[Callable[[BatchProgress], None]] = []
        self.failure: Exception | None = None
        self.stopping = False
        self.fault: str | None = None
        self._planned: Workload | None = None
        self._last_rows: dict[str, float] = {}
        self._made: int | None = None

    def recover(self) -> None:
        """Finish what a crash interrupted: show committed results, sweep what was never committed."""
        for file in self.manifest.publish:
            publish(file)
        sweep(self.directory.state, {f.path for f in self.manifest.files})
        for directory in self.workload.outputs.values():
            sweep_staged(directory, set())
        for path in self.directory.plans.glob("*.json"):
            if path.name != self.manifest.plan:
                path.unlink(missing_ok=True)
        if self.manifest.batch >= 0 and not (self.directory.checkpoint / "metadata").exists():
            raise StateError(
                f"{self.directory.checkpoint}: Spark's checkpoint is missing", "restore it, or start anew in another directory"
            )

    def on_batch(self, frame: Any, batch: int) -> None:
        """What `foreachBatch` calls. An error is kept for the session, which tells the user."""
        try:
            if self.stopping:
                raise Stopping
            self._batch(frame, batch)
        except Exception as e:
            self.failure = self.failure or e
            raise

    def _batch(self, frame: Any, batch: int) -> None:
        started = time.perf_counter()
        if batch == self.manifest.batch:
            self._show(self.manifest)
            return
        if batch != self.manifest.batch + 1:
            hint = "restore both from the same copy, or start anew in another directory"
            raise StateError(f"{self.directory.root}: Spark is at batch {batch}, the state at {self.manifest.batch}", hint)
        workload = self.workload
        plan = self._current_plan(workload)
        path = self._write_plan(plan, batch)
        task = self._task(plan, path, batch)
        reach("driver:before-job", self.fault)
        reports = _checked(self.job(frame, task))
        reach("driver:after-job", self.fault)
        made = self._committed(task, plan, path.name, reports)
        before, self.manifest, self.plan, self._planned = self.manifest, made, plan, workload
        self._show(made)
        self._clean(before, made)
        self._tell(made, reports, time.perf_counter() - started)

    def _current_plan(self, w: Workload) -> Plan:
        """The plan in force, or its successor where the workload changed or a handed-over plan has drained."""
        frontiers, tops = self.manifest.frontiers, self.manifest.tops
        done = any(drained(e, frontiers.get(self.plan.query(e.query).stream)) for e in self.plan.emissions)
        done = done or any(is_drained(self.plan, j, frontiers) for j in self.plan.joins)
        changed = w != self._planned
        better = self._better_plans(w) if self._is_time() and not changed else frozenset()
        if not changed and not done and not better:
            return self.plan
        asked = w.settings != self.plan.settings or (self._planned is not None and w.replan != self._planned.replan)
        replan = frozenset(q.name for q in w.queries) if asked else better
        plan = advance(self.plan, w.streams, w.queries, self.planner, tops, frontiers, replan, w.relations)
        return replace(plan, settings=w.settings)

    def _is_time(self) -> bool:
        """Soon after the start, when the first statistics are there, and now and then."""
        return self._planned is not None and (self.manifest.batch in REPLAN_AFTER or self.manifest.batch % REPLAN_EVERY == REPLAN_EVERY - 1)

    def _better_plans(self, w: Workload) -> frozenset[str]:
        """The queries that would clearly be better off with another plan. While an earlier switch is still going on, all wait."""
        ends = [*(e.until for e in self.plan.emissions), *(j.until for j in self.plan.joins)]
        if any(end is not None for end in ends):
            return frozenset()
        return worth_replanning(self.plan, build(w.streams, w.queries, self.planner), self.manifest.seen)

    def _write_plan(self, plan: Plan, batch: int) -> Path:
        text = dumps(plan)
        digest = sha256(text.encode()).hexdigest()[:12]
        if self.manifest.plan.endswith(f"{digest}.json"):
            return self.directory.plans / self.manifest.plan
        reach("driver:before-plan", self.fault)
        path = self.directory.plans / f"{batch:012d}-{digest}.json"
        write_atomic(path, text)
        reach("driver:after-plan", self.fault)
        return path

    def _task(self, plan: Plan, path: Path, batch: int) -> Task:
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
            manifest=None if before.batch < 0 else str(manifests.manifest_path(self.directory.manifests, before.batch)),
            state=str(self.directory.state),
            outputs=dict(self.workload.outputs),
            frontiers={s.name: before.frontiers.get(s.name) for s in plan.streams},
            tops={s.name: before.tops.get(s.name) for s in plan.streams},
            idle=tuple(idle),
            look=bool(plan.joins) and (batch in COUNT_IN or batch % COUNT_EVERY == COUNT_EVERY - 1),
            fault=self.fault,
        )

    def _is_near(self, plan: Plan) -> bool:
        """Whether the last batch made, and the state holds, so few rows that an exchange would cost more than it spreads.

        What holds values of rows (rows of joins, medians, sets) stays in the tasks, however little it is; and so does the first batch
        after a start, of which nothing is known.
        """
        if self.exchange == "always" or self._made is None or holds_values(plan):
            return False
        return self._made + sum(f.rows for f in self.manifest.files) <= FEW_ROWS

    def _committed(self, task: Task, plan: Plan, plan_name: str, reports: list[Report]) -> Manifest:
        """Everything the batch did as one manifest, written at once: from here on the batch has happened."""
        controls = [c for r in reports for c in r.controls]
        tops, frontiers = moved_frontiers(task, compiled(task.plan), controls)
        now = time.monotonic()
        for control in controls:
            self._last_rows.update({s: now for s, facts in control["streams"].items() if facts["rows"]})
        before = self.manifest
        self._made = int(sum(rows for c in controls for step, (rows, _) in c["steps"].items() if step.startswith("lift ")))
        made = Manifest(
            batch=task.batch,
            hash=HASH,
            plan=plan_name,
            tops={**before.tops, **tops},
            frontiers={**before.frontiers, **frontiers},
            files=_kept_files(before, plan, frontiers, task.partitions, reports),
            publish=_publications(task, controls, reports),
            streams=_stream_counts(before.streams, controls),
            queries=_query_counts(before.queries, plan, controls, reports),
            bad_files=(*before.bad_files, *(b for c in controls for facts in c["streams"].values() for b in facts["bad"])),
            steps=_step_times(controls, reports),
            seen=_learned(before, plan, tops, controls, reports),
        )
        reach("driver:before-manifest", self.fault)
        manifests.write(self.directory.manifests, made)
        reach("driver:after-manifest", self.fault)
        return made

    def _show(self, made: Manifest) -> None:
        reach("driver:before-publish", self.fault)
        for file in made.publish:
            publish(file)
            reach("driver:during-publish", self.fault)
        reach("driver:after-publish", self.fault)

    def _clean(self, before: Manifest, made: Manifest) -> None:
        """Forget what no restart can need: files that only the last manifest named, old manifests, old plans."""
        reach("driver:before-cleanup", self.fault)
        named = {f.path for f in made.files}
        for file in before.files:
            if file.path not in named:
                (self.directory.state / file.path).unlink(missing_ok=True)
        if before.plan and before.plan != made.plan:
            (self.directory.plans / before.plan).unlink(missing_ok=True)
        manifests.forget_old(self.directory.manifests, made.batch)
        reach("driver:after-cleanup", self.fault)

    def _tell(self, made: Manifest, reports: list[Report], seconds: float) -> None:
        results: dict[str, int] = {}
        for report in reports:
            for name, _, rows in report.results:
                results[name] = results.get(name, 0) + rows
        facts = [f for r in reports for c in r.controls for f in c["streams"].values()]
        owners = {str(Path(d)): q for q, d in self.workload.outputs.items()}
        progress = BatchProgress(
            batch=made.batch,
            rows=sum(f["rows"] for f in facts),
            seconds=seconds,
            results=results,
            late=sum(f["late"] for f in facts),
            state_rows=sum(f.rows for f in made.files),
            state_bytes=sum(f.bytes for f in made.files),
            frontiers=made.frontiers,
            steps={k: (int(v[0]), float(v[1])) for k, v in made.steps.items()},
            published=tuple((owners.get(str(Path(p.final).parent), ""), p.final) for p in made.publish),
        )
        for listener in self.listeners:
            listener(progress)

    def _plan_of(self, manifest: Manifest) -> Plan:
        if not manifest.plan:
            return Plan()
        path = self.directory.plans / manifest.plan
        try:
            plan: Plan = loads(path.read_text())
            return plan
        except FileNotFoundError:
            raise StateError(f"{path}: plan file is missing", "restore it from a copy, or start anew in another directory") from None
        except (ValueError, KeyError, TypeError) as e:
            raise StateError(f"{path}: damaged plan file ({e})", "restore it from a copy, or start anew in another directory") from e


def _checked(reports: list[Report]) -> list[Report]:
    """The reports, or the error that a task met."""
    for report in reports:
        for found in (report.error, *(c["error"] for c in report.controls)):
            if found:
                raise revive_error(found)
    return reports


def _kept_files(
    before: Manifest, plan: Plan, frontiers: dict[str, int | None], partitions: int, reports: Iterable[Report]
) -> tuple[StateFile, ...]:
    """State after the batch: what is still needed, not merged and not cut anew, and what the tasks wrote."""
    reports = list(reports)
    needed = {**needed_from(plan, frontiers), **needed_slots(plan, frontiers)}
    merged = {path for r in reports for path in r.merged}
    same_hash = before.hash == HASH
    kept = [
        f
        for f in before.files
        if same_hash and f.parts == partitions and f.path not in merged and f.high >= needed.get(f.fragment, f.high + 1)
    ]
    return (*kept, *(StateFile(**f) for r in reports for f in r.files))


def _publications(task: Task, controls: list[dict[str, Any]], reports: Iterable[Report]) -> tuple[Staged, ...]:
    results = [Staged(s, final_path(task.outputs[q], task.batch, r.part)) for r in reports for q, s, _ in r.results]
    late = [(s, f) for c in controls for s, facts in c["streams"].items() for f in facts["late_files"]]
    shown = [Staged(f, final_path(task.outputs[f"late:{s}"], task.batch, i)) for i, (s, f) in enumerate(sorted(late))]
    return (*results, *shown)


def _stream_counts(before: Mapping[str, Counts], controls: list[dict[str, Any]]) -> dict[str, Counts]:
    counts = dict(before)
    for control in controls:
        for stream, facts in control["streams"].items():
            more = {"rows": facts["rows"], "late": facts["late"], "untimed": facts["untimed"], "bad_files": len(facts["bad"])}
            counts[stream] = counts.get(stream, Counts()).plus(**more)
    return counts


def _query_counts(before: Mapping[str, Counts], plan: Plan, controls: list[dict[str, Any]], reports: Iterable[Report]) -> dict[str, Counts]:
    counts = {q.name: before.get(q.name, Counts()) for q in plan.queries}
    for control in controls:
        for facts in control["streams"].values():
            for name, late in facts["late_by_query"].items():
                counts[name] = counts[name].plus(late=late)
    for report in reports:
        for name, _, rows in report.results:
            counts[name] = counts[name].plus(rows=rows)
    return counts


def _learned(
    before: Manifest, plan: Plan, tops: Mapping[str, int | None], controls: list[dict[str, Any]], reports: Iterable[Report]
) -> Seen:
    """What this batch taught about rates, groups, and what joins keep."""
    rows: dict[str, int] = {}
    groups: dict[str, float] = {}
    for control in controls:
        for stream, facts in control["streams"].items():
            rows[stream] = rows.get(stream, 0) + facts["rows"]
            for id, (made, slots) in facts.get("groups", {}).items():
                fragment = plan.fragment(id)
                name = group_name(Group(fragment.stream, fragment.where, fragment.keys))
                groups[name] = max(groups.get(name, 1.0), made / max(slots, 1))
    spans = [(s, n, (tops.get(s) or 0) - (before.tops.get(s) or 0)) for s, n in rows.items() if before.tops.get(s) is not None]
    for report in reports:
        for query, count in report.groups.items():
            groups[f"join|{query}"] = groups.get(f"join|{query}", 0.0) + count
    counted = {s.id: [tuple(x) for c in controls for f in c["streams"].values() for x in f["sides"].get(s.id, [])] for s in plan.sides}
    sides = {side_name(plan.side(id)): counts for id, counts in counted.items() if counts}
    return learned(before.seen, spans, groups.items(), sides)


def _step_times(controls: list[dict[str, Any]], reports: Iterable[Report]) -> dict[str, list[float]]:
    """Rows and milliseconds of each step, added over the tasks."""
    total: dict[str, list[float]] = {}
    for steps in (*(c["steps"] for c in controls), *(r.steps for r in reports)):
        for name, (rows, ms) in steps.items():
            before = total.get(name, [0, 0.0])
            total[name] = [before[0] + rows, round(before[1] + ms, 3)]
    return total
