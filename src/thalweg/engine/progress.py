"""What batches do, as it is told: one that ran, one that is committed, one that must not start."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.engine.task import Report
from thalweg.engine.workload import Workload
from thalweg.model.recorded import Failure
from thalweg.plan.nodes import Plan
from thalweg.state.lives import Lives
from thalweg.state.manifest import Manifest, SetAside, StepTime


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
    bad_rows: int = 0
    bad_files: int = 0
    set_aside: tuple[SetAside, ...] = ()
    failed: tuple[Failure, ...] = ()


@dataclass(frozen=True)
class Attempt:
    """A batch that ran and is not committed yet: by which workload and plan, what it made, and the lives that it leaves."""

    workload: Workload
    plan: Plan
    made: Manifest
    reports: list[Report]
    lives: Lives


class Stopping(Exception):
    """Raised inside a batch that must not start because the session is stopping."""
