"""What the driver tells the tasks of a batch, as one small value."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from thalweg import errors


@dataclass(frozen=True)
class Task:
    """One micro-batch: where the plan, the last manifest and the state are, and what the frontiers were before it.

    With `look` the batch also counts distinct values, for the statistics of joins. With `near` what ingest made is so little that
    it needs no exchange: it is worked on where the job was started, as one hash range.
    """

    batch: int
    partitions: int
    plan: str
    manifest: str | None
    state: str
    outputs: dict[str, str]
    frontiers: dict[str, int | None]
    tops: dict[str, int | None]
    idle: tuple[str, ...] = ()
    look: bool = False
    near: bool = False
    scan: str = "best"
    fault: str | None = None


@dataclass
class Report:
    """What a task tells the driver: names of files and counts, never events."""

    part: int = 0
    controls: list[dict[str, Any]] = field(default_factory=list)
    files: list[dict[str, Any]] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)
    results: list[tuple[str, str, int]] = field(default_factory=list)
    steps: dict[str, tuple[int, float]] = field(default_factory=dict)
    groups: dict[str, float] = field(default_factory=dict)
    error: dict[str, str | None] | None = None

    def json(self) -> str:
        """The report as one text."""
        return json.dumps(asdict(self))

    def time(self, step: str, rows: int, seconds: float) -> None:
        """Add to the rows and milliseconds of a named step."""
        before = self.steps.get(step, (0, 0.0))
        self.steps[step] = (before[0] + rows, before[1] + seconds * 1000)


def describe_error(error: Exception) -> dict[str, str | None]:
    """An error as data, so that it crosses from a task to the driver without a trace."""
    if isinstance(error, errors.ThalwegError):
        return {"kind": type(error).__name__, "message": error.message, "hint": error.hint}
    return {"kind": "InternalError", "message": f"{type(error).__name__}: {error}", "hint": None}


def revive_error(found: dict[str, str | None]) -> errors.ThalwegError:
    """The error that `describe_error` described."""
    made = getattr(errors, found["kind"] or "", errors.InternalError)
    error: errors.ThalwegError = made(found["message"] or "", found["hint"])
    return error
