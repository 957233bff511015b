"""What batches do, as it is told: one that ran, one that is committed, one that must not start."""

from __future__ import annotations

from dataclasses import dataclass, field

from thalweg.engine.commit import controls_of
from thalweg.engine.task import Report
from thalweg.engine.workload import Workload
from thalweg.model.recorded import Failure
from thalweg.plan.nodes import Plan
from thalweg.state.lives import Lives
from thalweg.state.manifest import Counts, Manifest, SetAside, StepTime


@dataclass(frozen=True)
class BatchProgress:
    """What a batch did, for people and for tests. `streams` are the rows of each that it read."""

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
    bad_rows: int = 0
    bad_files: int = 0
    set_aside: tuple[SetAside, ...] = ()
    failed: tuple[Failure, ...] = ()
    streams: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Attempt:
    """A batch that ran and is not committed yet: by which workload and plan, what it made, and the lives that it leaves.
    One that is `near` needed no partitions."""

    workload: Workload
    plan: Plan
    made: Manifest
    reports: list[Report]
    lives: Lives
    near: bool = False


class Stopping(Exception):
    """Raised inside a batch that must not start because the session is stopping."""


def progress_of(
    before: Manifest, done: Attempt, seconds: float, failed: tuple[Failure, ...]
) -> BatchProgress:
    """What a batch did that took so long and stopped some queries."""
    made, results = done.made, dict[str, int]()
    for report in done.reports:
        for query, rows in ((q, n) for r in report.results for q, n in r.by_query.items()):
            results[query] = results.get(query, 0) + rows
    controls = controls_of(done.reports)
    facts = [f for c in controls for f in c.streams.values()]
    owners = {address: q for q, address in done.workload.outputs.items()}
    return BatchProgress(
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
        streams={
            name: sum(c.streams[name].rows for c in controls if name in c.streams) for name in made.streams
        },
    )


def _more(before: Manifest, made: Manifest, count: str) -> int:
    """What a batch has added to a count of streams."""
    return sum(
        getattr(c, count) - getattr(before.streams.get(s, Counts()), count) for s, c in made.streams.items()
    )
