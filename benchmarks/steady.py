"""`make steady`: a stream-table join and a three-way Nexmark aggregate on Spark, for minutes, with bounded state.

Every 1.5 s a file of ten seconds of events arrives in each of three streams; one of each makes a micro-batch. Times are those of the
whole trigger as Spark reports it. The windows are full before the first third ends, so from the middle to the last third neither the
time of a batch nor the state may grow. Result rows are compared with the definition over all files.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.parquet as pq
import typer
from rich.console import Console

from benchmarks import report
from benchmarks.engines import progress
from benchmarks.runner import workspace
from benchmarks.spec import Batch
from benchmarks.steady_workload import LONGEST, QUERIES, batches, member
from benchmarks.steady_workload import STREAMS as DECLARED
from thalweg.api.handle import QueryHandle
from thalweg.api.session import Session
from thalweg.api.status import FragmentStatus, read_status
from thalweg.engine.progress import BatchProgress
from thalweg.model.query import Query
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import placed_sql, write_batches, write_tables
from thalweg.testing.reference_joins import reference_join

RATE, SPAN, INTERVAL = 1_000, 10, 1.5
LIMIT = 1.2
TRIGGER = 0.4  # looking all the time, Spark would often find the files of some streams only, and make two batches of them
FILE_EVENTS = RATE * SPAN  # of one file of each stream
# Files in which the longest window fills, with one for the watermark.
FILL = LONGEST // SPAN + 1
PATIENCE = 300
STREAMS = ("person", "auction", "bid")


@dataclass(frozen=True)
class Moment:
    """A micro-batch: ms of the whole trigger, the events read so far, the state after it, and the files of a stream that wait."""

    batch: int
    ms: float
    read: int
    state_rows: int
    state_bytes: int
    waiting: int


@dataclass(frozen=True)
class Third:
    """A third of the run: the median and the 90th percentile of ms, and the peaks of the rest."""

    name: str
    batches: int
    ms: float
    ms_high: float
    state_rows: int
    state_bytes: int
    waiting: int


@dataclass(frozen=True)
class Growth:
    """How many times a figure of the middle third that of the last third is."""

    what: str
    factor: float

    @property
    def steady(self) -> bool:
        """Whether that is growth within the noise."""
        return self.factor <= LIMIT

    def __str__(self) -> str:
        return f"{self.what} {self.factor:.2f}x {'[green]<=[/]' if self.steady else '[red]>[/]'} {LIMIT:g}x"


@dataclass(frozen=True)
class Ran:
    """What a run measured.

    state: its pieces after the last batch. compared: result rows by query. wrong: by query, how they differ from the definition.
    """

    moments: tuple[Moment, ...]
    state: tuple[FragmentStatus, ...]
    compared: dict[str, int]
    wrong: dict[str, str]

    @property
    def full(self) -> bool:
        """Whether the windows were full before the middle third began."""
        return self.moments[-1].read >= 3 * FILL * FILE_EVENTS

    @property
    def steady(self) -> bool:
        """Whether nothing grows."""
        return self.full and all(g.steady for g in growths(thirds(self.moments)))


class Arrivals(threading.Thread):
    """Moves files that are ready to where the streams look for them, one of each stream at a time."""

    def __init__(self, ready: Path, inbox: Path, interval: float) -> None:
        super().__init__(daemon=True)
        self.ready, self.inbox, self.interval = ready, inbox, interval
        self.placed = 0
        self.ended = threading.Event()

    def run(self) -> None:
        """A file of each stream, at once, every `interval` seconds, until all have come."""
        started = time.monotonic()
        for number, paths in enumerate(
            zip(*(sorted((self.ready / s).iterdir()) for s in STREAMS), strict=True)
        ):
            if self.ended.wait(max(0.0, started + number * self.interval - time.monotonic())):
                return
            for stream, path in zip(STREAMS, paths, strict=True):
                path.rename(self.inbox / stream / path.name)
            self.placed = number + 1


def main(
    minutes: Annotated[
        float, typer.Option(help="how long files arrive; a minute is 40 micro-batches, 400 s of events")
    ] = 5,
    json: Annotated[Path | None, typer.Option(help="write all figures to this file")] = None,
) -> None:
    """Whether joins run on with the same time a batch and the same state."""
    console, machine = report.console(), report.machine()
    console.print(
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, load {machine['load_before']:.1f} before"
    )
    with workspace("steady") as root:
        ran = measure(root, max(3, round(minutes * 60 / INTERVAL)), INTERVAL, console)
    show(ran, console)
    report.write_json(json, {"benchmark": "steady", "minutes": minutes, "machine": machine, **as_data(ran)})
    if not ran.steady or ran.wrong:
        raise typer.Exit(1)


def measure(root: Path, files: int, interval: float, console: Console) -> Ran:
    """Run the workload over so many files of each stream."""
    fed = list(batches(files, RATE, SPAN))
    events = sum(rows.num_rows for b in fed for rows in b.values())
    with Session(root / "session", master="local[2]", settings={"trigger": str(TRIGGER)}) as session:
        session.sql(placed_sql(DECLARED, root / "in") + QUERIES)
        write_tables(root / "in", {"member": member()})
        for name in STREAMS:
            write_batches(root / "ready" / name, session.catalog.streams[name], [b[name] for b in fed])
            (root / "in" / name).mkdir()
        console.print(f"{events:,} events in {files} files of each stream, every {interval:g} s")
        moments = _run(session, Arrivals(root / "ready", root / "in", interval), events, files)
        compared, wrong = agreement(session, fed)
        return Ran(moments, read_status(session.directory.root).fragments, compared, wrong)


def _run(session: Session, arrivals: Arrivals, events: int, files: int) -> tuple[Moment, ...]:
    """Until all events were read."""
    told: dict[int, tuple[BatchProgress, int]] = {}
    done = threading.Event()

    def tell(progress: BatchProgress) -> None:
        told[progress.batch] = progress, arrivals.placed
        if sum(p.rows for p, _ in told.values()) >= events:
            done.set()

    session.listeners.append(tell)
    progress.keep_all(session.spark)
    session.start()
    arrivals.start()
    deadline = time.monotonic() + files * arrivals.interval * 3 + PATIENCE
    while not done.is_set() and time.monotonic() < deadline and not session.wait(0.2):
        pass
    arrivals.ended.set()
    session.stop()
    if not done.is_set():
        raise TimeoutError(f"{len(told)} batches, and not all events were read")
    return moments_of(progress.batches(session.reports()), told)


def moments_of(found: Sequence[Batch], told: dict[int, tuple[BatchProgress, int]]) -> tuple[Moment, ...]:
    """Spark's time of each batch beside what the engine told of it when so many files had come."""
    moments: list[Moment] = []
    times, read = {b.number: b.ms for b in found}, 0
    for number, (done, placed) in sorted(told.items()):
        read += done.rows
        if number in times:
            waiting = placed - read // FILE_EVENTS
            moments.append(Moment(number, times[number], read, done.state_rows, done.state_bytes, waiting))
    return tuple(moments)


def agreement(session: Session, fed: list[dict[str, pa.Table]]) -> tuple[dict[str, int], dict[str, str]]:
    """How many result rows each query has, and what differs from the definition."""
    compared, wrong = {}, {}
    for query in session.catalog.queries.values():
        assert isinstance(query, Query)
        expected = reference_join(query, session.catalog.streams, fed, {"member": member()})
        compared[query.name] = expected.num_rows
        try:
            compare(pq.read_table(QueryHandle(session, query.name).directory), expected)
        except AssertionError as e:
            wrong[query.name] = str(e)
    return compared, wrong


def thirds(moments: Sequence[Moment]) -> list[Third]:
    """The first, middle and last third of a run, by events."""
    whole = moments[-1].read
    parts = [[m for m in moments if (m.read - 1) * 3 // whole == n] for n in range(3)]
    return [_third(name, part) for name, part in zip(("first", "middle", "last"), parts, strict=True)]


def _third(name: str, part: Sequence[Moment]) -> Third:
    times = sorted(m.ms for m in part)
    high = times[min(len(times) - 1, len(times) * 9 // 10)]
    peaks = (max(m.state_rows for m in part), max(m.state_bytes for m in part), max(m.waiting for m in part))
    return Third(name, len(part), median(times), high, *peaks)


def growths(parts: Sequence[Third]) -> list[Growth]:
    """The last third over the middle one."""
    _, middle, last = parts
    return [
        Growth("batch time (median)", last.ms / middle.ms),
        Growth("state rows (peak)", last.state_rows / max(middle.state_rows, 1)),
        Growth("state bytes (peak)", last.state_bytes / max(middle.state_bytes, 1)),
    ]


def show(ran: Ran, console: Console) -> None:
    """All tables, then the verdict."""
    parts = thirds(ran.moments)
    columns = [
        "third",
        "batches",
        "ms, median",
        "ms, 90 %",
        "state rows, peak",
        "KiB, peak",
        "files waiting, peak",
    ]
    console.print(report.table("over time", columns, (_row(p) for p in parts)))
    kept = [
        [f"{f.stream}: {f.window}", ", ".join(f.keys), str(f.files), f"{f.rows:,}", f"{f.bytes / 1024:,.0f}"]
        for f in ran.state
    ]
    console.print(report.table("state after the last batch", ["", "by", "files", "rows", "KiB"], kept))
    for name, count in ran.compared.items():
        console.print(
            f"{name}: {count:,} rows, {'[red]they differ[/]' if name in ran.wrong else 'equal to the definition'}"
        )
    for text in ran.wrong.values():
        console.print(text, markup=False)
    console.print("last third over middle third: " + ", ".join(str(g) for g in growths(parts)))
    if not ran.full:
        console.print("[red]windows were not full before the middle third: run it longer[/]")
    console.print("[green]steady[/]" if ran.steady else "[red]not steady[/]")


def _row(p: Third) -> list[str]:
    return [
        p.name,
        str(p.batches),
        f"{p.ms:,.0f}",
        f"{p.ms_high:,.0f}",
        f"{p.state_rows:,}",
        f"{p.state_bytes / 1024:,.0f}",
        str(p.waiting),
    ]


def as_data(ran: Ran) -> dict[str, Any]:
    """The figures as JSON holds them."""
    parts = thirds(ran.moments)
    return {
        "steady": ran.steady,
        "full": ran.full,
        "thirds": [asdict(p) for p in parts],
        "growths": [{**asdict(g), "limit": LIMIT, "steady": g.steady} for g in growths(parts)],
        "state": [asdict(f) for f in ran.state],
        "compared": ran.compared,
        "wrong": ran.wrong,
        "batches": [asdict(m) for m in ran.moments],
    }


if __name__ == "__main__":
    typer.run(main)
