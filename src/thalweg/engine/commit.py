"""What the tasks of a batch reported, as the manifest that commits it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import prod

from thalweg.compile.retention import needed
from thalweg.connectors.base import sink_at
from thalweg.engine.blame import Blamed
from thalweg.engine.kernel.compiled import recut
from thalweg.engine.kernel.connection import HASH
from thalweg.engine.kernel.work import moved_frontiers
from thalweg.engine.task import Control, Report, StreamFacts, Task
from thalweg.model.nesting import is_nested, with_frontiers, with_tops
from thalweg.plan.nodes import Join, Plan
from thalweg.state.manifest import (
    KEPT_FILES,
    KEPT_ROWS,
    Counts,
    Manifest,
    Seen,
    SetAside,
    Staged,
    StateFile,
    StepTime,
)
from thalweg.statistics.known import group_name, join_name, plan_name, side_name
from thalweg.statistics.learned import Joined, forgotten, joined, learned


def committed(before: Manifest, task: Task, plan: Plan, plan_name: str, reports: list[Report]) -> Manifest:
    """Everything the batch did, after what was there before it."""
    controls = controls_of(reports)
    tops, frontiers = moved_frontiers(task, plan, controls)
    steps = _step_times(controls, reports)
    were = with_tops(plan.nested, before.tops, with_frontiers(plan.nested, before.frontiers))
    seen = _learned(before.seen, plan, were, tops, controls, reports)
    seen = joined(seen, _joined(were, seen, plan, tops, steps))
    return Manifest(
        batch=task.batch,
        hash=HASH,
        plan=plan_name,
        tops={**before.tops, **_declared(tops)},
        frontiers={**before.frontiers, **_declared(frontiers)},
        files=_kept_files(before, plan, frontiers, task, reports),
        publish=_publications(task, controls, reports),
        streams=_stream_counts(before.streams, controls),
        queries=_query_counts(before.queries, plan, controls, reports),
        set_aside=with_aside(
            before.set_aside, (a for c in controls for facts in c.streams.values() for a in facts.set_aside)
        ),
        steps=steps,
        seen=seen if plan_name == before.plan else forgotten(seen, _named(plan)),
        consumed=before.consumed,
    )


def _declared(instants: Mapping[str, int | None]) -> dict[str, int | None]:
    """Of streams, without those of nested queries' results, which follow from them."""
    return {s: t for s, t in instants.items() if not is_nested(s)}


def controls_of(reports: Iterable[Report]) -> list[Control]:
    """What the ingest tasks told."""
    return [c for r in reports for c in r.controls]


def rows_made(reports: Iterable[Report]) -> int:
    """Rows of partial aggregates and of joins' sides that ingest made."""
    return sum(
        time.rows for c in controls_of(reports) for step, time in c.steps.items() if step.startswith("lift ")
    )


def rows_read(reports: Iterable[Report]) -> int:
    """Rows that ingest tasks found."""
    return sum(facts.rows for c in controls_of(reports) for facts in c.streams.values())


def checked(reports: list[Report]) -> None:
    """Raise the error that a task met: what is no query's fault first."""
    found = [
        t
        for report in reports
        for t in (report.trouble, *(c.trouble for c in report.controls))
        if t is not None
    ]
    for trouble in sorted(found, key=lambda t: bool(t.queries)):
        raise Blamed(trouble.error, trouble.queries) if trouble.queries else trouble.error


def _kept_files(
    before: Manifest, plan: Plan, frontiers: dict[str, int | None], task: Task, reports: Iterable[Report]
) -> tuple[StateFile, ...]:
    """State after the batch: what is still needed, not merged and not cut anew, and what the tasks wrote."""
    reports = list(reports)
    oldest = needed(plan, frontiers)
    merged = {path for r in reports for path in r.merged}
    same_hash, anew = before.hash == HASH, recut(task, before).ids
    kept = [
        f
        for f in before.files
        if same_hash
        and f.parts == task.partitions
        and f.fragment not in anew
        and f.path not in merged
        and f.high >= oldest.get(f.fragment, f.high + 1)
    ]
    return (*kept, *(f for r in reports for f in r.files))


def _publications(task: Task, controls: list[Control], reports: Iterable[Report]) -> tuple[Staged, ...]:
    results = [
        sink_at(task.outputs[o.query]).named(o.staged, task.batch, r.part) for r in reports for o in r.results
    ]
    beside = sorted(s for c in controls for facts in c.streams.values() for s in facts.staged)
    shown = [sink_at(task.outputs[output]).named(f, task.batch, i) for i, (output, f) in enumerate(beside)]
    return (*results, *shown)


def with_aside(before: tuple[SetAside, ...], new: Iterable[SetAside]) -> tuple[SetAside, ...]:
    """What was set aside, with the first of what is new, for people; all of it is where bad rows go."""
    counts = Counter((a.stream, a.place is None) for a in before)
    kept = list(before)
    for aside in new:
        is_file = aside.place is None
        if counts[aside.stream, is_file] < (KEPT_FILES if is_file else KEPT_ROWS):
            kept.append(aside)
            counts[aside.stream, is_file] += 1
    return tuple(kept)


def _stream_counts(before: Mapping[str, Counts], controls: list[Control]) -> dict[str, Counts]:
    counts = dict(before)
    for control in controls:
        for stream, facts in control.streams.items():
            more = {"rows": facts.rows, "late": facts.late, "untimed": facts.untimed}
            counts[stream] = counts.get(stream, Counts()).plus(
                **more, bad_rows=facts.bad_rows, bad_files=facts.bad_files
            )
    return counts


def _query_counts(
    before: Mapping[str, Counts], plan: Plan, controls: list[Control], reports: Iterable[Report]
) -> dict[str, Counts]:
    counts = {q.name: before.get(q.name, Counts()) for q in plan.queries}
    for control in controls:
        for facts in control.streams.values():
            for name, late in facts.late_by_query.items():
                counts[name] = counts[name].plus(late=late)
    found: Counter[str] = Counter()
    for result in (r for report in reports for r in report.results):
        found.update(result.by_query)
    return counts | {query: counts[query].plus(rows=rows) for query, rows in found.items()}


def _learned(
    before: Seen,
    plan: Plan,
    were: Mapping[str, int | None],
    tops: Mapping[str, int | None],
    controls: list[Control],
    reports: Iterable[Report],
) -> Seen:
    """What this batch taught about rates, groups, and what joins keep."""
    rows: dict[str, int] = {}
    groups: dict[str, float] = {}
    for control in controls:
        for stream, facts in (*control.streams.items(), *control.nested.items()):
            rows[stream] = rows.get(stream, 0) + facts.rows
            for id, made in facts.made.items():
                fragment = plan.fragment(id)
                name = group_name(fragment.group)
                groups[name] = max(groups.get(name, 1.0), made.rows / max(made.slots, 1))
    spans = [
        (s, n, (tops.get(s) or 0) - (were.get(s) or 0)) for s, n in rows.items() if were.get(s) is not None
    ]
    for report in reports:
        for id, count in report.groups.items():
            name = join_name(plan.join(id).asked)
            groups[name] = groups.get(name, 0.0) + count
    return learned(before, spans, groups.items(), _counted(plan, controls), _heavy(plan, controls))


def _named(plan: Plan) -> set[str]:
    """The names under which there may be statistics of what a plan has."""
    groups = {group_name(f.group) for f in plan.fragments if f.early}
    sides = {side_name(f, equated) for f in plan.fragments for equated in f.counted}
    joins = {name for j in plan.joins for name in (join_name(j.asked), _plan_name(plan, j))}
    return groups | sides | joins


def _joined(
    were: Mapping[str, int | None],
    seen: Seen,
    plan: Plan,
    tops: Mapping[str, int | None],
    steps: Mapping[str, StepTime],
) -> Iterator[Joined]:
    """What each join made, where it is known how much event time that was of."""
    for join in plan.joins:
        pairs, asked = steps.get(f"pairs {join.id}"), join.asked
        spans = [(tops.get(s) or 0) - was for s in asked.streams if (was := were.get(s)) is not None]
        if (
            pairs is None
            or len(spans) < len(asked.streams)
            or max(spans) <= 0
            or not seen.streams.keys() >= set(asked.streams)
        ):
            continue
        rows = [
            i.source
            for i, side in zip(asked.inputs, join.sides, strict=True)
            if i.is_stream and not plan.fragment(side).early
        ]
        rates = prod(seen.streams[s][0] for s in rows)
        window = max((i.length or 0 for i in asked.inputs if i.is_stream), default=0)
        millis = steps.get(f"{join.evaluate} {join.id}", StepTime()).ms
        yield Joined(_plan_name(plan, join), pairs.rows, millis, max(spans) / 1e6, rates, window / 1e6)


def _plan_name(plan: Plan, join: Join) -> str:
    return plan_name(join.asked, [plan.fragment(s).early for s in join.sides], join.evaluate, join.method)


def _counted(plan: Plan, controls: list[Control]) -> dict[str, list[tuple[float, ...]]]:
    """Per side the (rows, chosen, values, keys) that tasks counted."""
    sides: dict[str, list[tuple[float, ...]]] = {}
    for id, found in ((id, found) for c in controls for f in _facts(c) for id, found in f.sides.items()):
        fragment = plan.fragment(id)
        for side in found:
            for equated, count in zip(fragment.counted, side.keys, strict=True):
                sides.setdefault(side_name(fragment, equated), []).append(
                    (side.rows, side.chosen, side.values, count)
                )
    return sides


def _facts(control: Control) -> tuple[StreamFacts, ...]:
    return (*control.streams.values(), *control.nested.values())


def _heavy(plan: Plan, controls: list[Control]) -> dict[str, list[tuple[tuple[int, int, int], ...]]]:
    """Per side the frequent values that tasks found."""
    sides: dict[str, list[tuple[tuple[int, int, int], ...]]] = {}
    for id, found in ((id, found) for c in controls for f in _facts(c) for id, found in f.sides.items()):
        fragment = plan.fragment(id)
        for side in found:
            for equated, values in zip(fragment.counted, side.heavy, strict=False):
                sides.setdefault(side_name(fragment, equated), []).append(values)
    return sides


def _step_times(controls: list[Control], reports: Iterable[Report]) -> dict[str, StepTime]:
    """Rows and milliseconds of each step, added over the tasks."""
    total: dict[str, StepTime] = {}
    for steps in (*(c.steps for c in controls), *(r.steps for r in reports)):
        for name, time in steps.items():
            total[name] = total.get(name, StepTime()).plus(time.rows, round(time.ms, 3))
    return total
