"""What the driver and the tasks of a batch tell each other: frozen records, which travel as JSON (`state/records.py`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from thalweg import errors
from thalweg.state.manifest import SetAside, StateFile, StepTime
from thalweg.state.records import dumps

Instants = dict[str, int | None]


@dataclass(frozen=True)
class Task:
    """One micro-batch: where the plan, the last manifest and the state are, and what the frontiers were before it.

    With `look` the batch also counts distinct values, for the statistics of joins. With `near` what ingest made is so little that
    it needs no exchange: it is worked on where the job was started, as one hash range. `readable` are the paths of the streams and
    tables that the session declares: whatever the plan says, tasks read from no others. With `durable` what a task wrote is on disk
    before it reports. `adopted` are state files that the last manifest doesn't name: a replay made them for a query that comes with this
    batch. In a replay `moved` says what the highest event times and the frontiers were after the batch. `outputs` are the addresses of
    sinks by query, by `pool:` and pool, and by `late:` or `bad:` and stream. `moment` is when its rows are read, in microseconds, where a
    stream has a column of that. `last` is the number of exchanges after that of the rows. One that
    `yields` runs in processes of its own, which leave the cores to those of batches. `functions` are the digests of the Python functions
    that the plan calls, by what the engine calls them.
    """

    batch: int
    partitions: int
    plan: str
    manifest: str | None
    state: str
    outputs: dict[str, str]
    frontiers: Instants
    tops: Instants
    idle: tuple[str, ...] = ()
    look: bool = False
    near: bool = False
    scan: str = "best"
    durable: bool = True
    fault: str | None = None
    readable: tuple[str, ...] = ()
    adopted: tuple[StateFile, ...] = ()
    moved: tuple[Instants, Instants] | None = None
    moment: int | None = None
    last: int = 0
    yields: bool = False
    functions: dict[str, str] = field(default_factory=dict)

    @property
    def kept_functions(self) -> Path:
        """Where the functions are that queries call."""
        return Path(self.state).with_name("functions")

    @property
    def spill(self) -> str:
        """Where what memory can't hold goes."""
        return str(Path(self.state).with_name("spill"))


@dataclass(frozen=True)
class Trouble:
    """An error as data, so that it crosses from a task to the driver without a trace; `queries` are those whose fault it may be."""

    kind: str
    message: str
    hint: str | None = None
    queries: tuple[str, ...] = ()

    @property
    def error(self) -> errors.ThalwegError:
        """The error that this describes."""
        made = getattr(errors, self.kind, errors.InternalError)
        found: errors.ThalwegError = made(self.message, self.hint)
        return found


def trouble(error: Exception) -> Trouble:
    """An error of any kind as data."""
    if isinstance(error, errors.ThalwegError):
        return Trouble(type(error).__name__, error.message, error.hint)
    return Trouble("InternalError", f"{type(error).__name__}: {error}")


@dataclass(frozen=True)
class Made:
    """Rows that a fragment got of a batch, in so many slots."""

    rows: int
    slots: int


@dataclass(frozen=True)
class SideCount:
    """Of the rows that a task read, those that a side of a join chose, and the distinct values among them: of all that is kept, and of
    each set of columns that is counted. `heavy` has for each such set the most frequent values, as (hash, rows that have it, rows)."""

    rows: int
    chosen: int
    values: int
    keys: tuple[int, ...]
    heavy: tuple[tuple[tuple[int, int, int], ...], ...] = ()


@dataclass(frozen=True)
class StreamFacts:
    """What an ingest task found in its chunks of a stream. `staged` are the late and the bad rows, by the name of their output."""

    rows: int = 0
    late: int = 0
    untimed: int = 0
    top: int | None = None
    late_by_query: dict[str, int] = field(default_factory=dict)
    staged: tuple[tuple[str, str], ...] = ()
    bad_rows: int = 0
    bad_files: int = 0
    set_aside: tuple[SetAside, ...] = ()
    made: dict[str, Made] = field(default_factory=dict)
    sides: dict[str, tuple[SideCount, ...]] = field(default_factory=dict)
    files: int = 0


@dataclass(frozen=True)
class Control:
    """What an ingest task tells every partition, and what a task tells of the results of `nested` queries that it passed on."""

    streams: dict[str, StreamFacts] = field(default_factory=dict)
    steps: dict[str, StepTime] = field(default_factory=dict)
    trouble: Trouble | None = None
    nested: dict[str, StreamFacts] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """A result table that a task has staged: of a query, or of a pool (`pool:` and its name) with the rows of each query in it."""

    query: str
    staged: str
    rows: int
    members: dict[str, int] = field(default_factory=dict)

    @property
    def by_query(self) -> dict[str, int]:
        """The rows of each query."""
        return self.members or {self.query: self.rows}


@dataclass(frozen=True)
class Report:
    """What a task tells the driver: names of files and counts, never events. Of all partitions the first passes the controls on."""

    part: int = 0
    controls: tuple[Control, ...] = ()
    files: tuple[StateFile, ...] = ()
    merged: tuple[str, ...] = ()
    results: tuple[Result, ...] = ()
    steps: dict[str, StepTime] = field(default_factory=dict)
    groups: dict[str, float] = field(default_factory=dict)
    trouble: Trouble | None = None

    @property
    def failed(self) -> bool:
        """Whether this task, or one that it heard of, met an error."""
        return self.trouble is not None or any(c.trouble is not None for c in self.controls)


@dataclass(frozen=True)
class Handover:
    """What a task tells those of the next level: its report, the frontiers after the batch, and which level that is."""

    report: Report
    frontiers: Instants
    level: int = 1


@dataclass
class Notes:
    """What a task writes down while it works, until it reports; `passed` are results of nested queries, which go on to the next level."""

    part: int = 0
    controls: tuple[Control, ...] = ()
    files: list[StateFile] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    steps: dict[str, StepTime] = field(default_factory=dict)
    groups: dict[str, float] = field(default_factory=dict)
    trouble: Trouble | None = None
    passed: dict[str, list[pa.Table]] = field(default_factory=dict)

    @classmethod
    def of(cls, report: Report) -> Notes:
        """Notes that go on where a report of an earlier stage ended."""
        r = report
        return cls(
            r.part,
            r.controls,
            list(r.files),
            list(r.merged),
            list(r.results),
            dict(r.steps),
            dict(r.groups),
            r.trouble,
        )

    def time(self, step: str, rows: int, seconds: float) -> None:
        """Add to the rows and milliseconds of a named step."""
        self.steps[step] = self.steps.get(step, StepTime()).plus(rows, seconds * 1000)

    def report(self) -> Report:
        """What was written down, as a record."""
        files, merged, results = tuple(self.files), tuple(self.merged), tuple(self.results)
        return Report(self.part, self.controls, files, merged, results, self.steps, self.groups, self.trouble)

    def json(self) -> str:
        """The report as one text."""
        return dumps(self.report())
