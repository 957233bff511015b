"""`make bench-changes`: queries are created and dropped at a rate while batches run; what grows, and how long a change takes to be in force.

Over two streams, windows and joins of the shapes that the crowd of the tests uses. `local` runs batches one after another without Spark's
scheduler, `spark` as a session does. A change is in force when the first batch with it (or without it) is committed. The last queries that
lived are compared with the definition, unless Spark took the files of both streams in different batches: what each had is not known then.
"""

from __future__ import annotations

import random
import resource
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.parquet as pq
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.runner import workspace
from thalweg.api.handle import QueryHandle
from thalweg.api.session import Session
from thalweg.engine import ahead
from thalweg.testing.crowd import check_lives, drawn
from thalweg.testing.local import LocalSession

SECOND, KEYS, VALUES = 1_000_000, 5, 23
COLUMNS = "k BIGINT, v BIGINT, at TIMESTAMP"
STREAMS = ("s", "r")
QUARTERS = 4
COMPARED = 20
PAGE = resource.getpagesize()


@dataclass
class Measured:
    """What one quarter of the changes saw."""

    batch_ms: list[float] = field(default_factory=list)
    plan_ms: list[float] = field(default_factory=list)
    accept_ms: list[float] = field(default_factory=list)
    force_ms: list[float] = field(default_factory=list)
    commit_bytes: list[int] = field(default_factory=list)
    seen: int = 0
    files: int = 0
    lives_bytes: int = 0
    memory_mb: float = 0.0


def rows(batch: int, count: int, shift: int) -> pa.Table:
    """A second of a stream, in order."""
    ticks = [batch * SECOND + shift * 1_000 + i * (SECOND // count) for i in range(count)]
    values = [(i * 7 + batch * 3 + shift) % VALUES for i in range(count)]
    return pa.table(
        {"k": [i % KEYS for i in range(count)], "v": values, "at": pa.array(ticks, pa.timestamp("us"))}
    )


class Feed:
    """Files of both streams, one of each a batch."""

    def __init__(self, root: Path, count: int) -> None:
        self.root, self.count, self.fed = root, count, list[dict[str, pa.Table]]()
        for name in STREAMS:
            (root / name).mkdir(parents=True)

    def next(self) -> list[tuple[str, str]]:
        """One more file of each stream, seen whole or not at all."""
        number, made = len(self.fed), []
        self.fed.append({name: rows(number, self.count, 5 * i) for i, name in enumerate(STREAMS)})
        for name, table in self.fed[-1].items():
            path = self.root / name / f"{number:09d}.parquet"
            pq.write_table(table, path.with_name(f".{path.name}"))
            path.with_name(f".{path.name}").replace(path)
            made.append((name, str(path)))
        return made


class Changer:
    """Creates queries at a rate, and drops the oldest once there are enough, in a thread of its own."""

    def __init__(self, session: Session, changes: int, rate: float, live: int, seed: int) -> None:
        self.session, self.changes, self.rate, self.live = session, changes, rate, live
        self.rng, self.done = random.Random(seed), 0
        self.asked: dict[tuple[str, bool], float] = {}
        self.accepted: deque[tuple[int, float]] = deque()
        self.handles: deque[QueryHandle] = deque(maxlen=COMPARED)
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, name="changer")

    def _run(self) -> None:
        alive: deque[QueryHandle] = deque()
        try:
            started = time.perf_counter()
            while self.done < self.changes:
                time.sleep(max(0.0, started + self.done / self.rate - time.perf_counter()))
                before = time.perf_counter()
                if len(alive) >= self.live:
                    gone = alive.popleft()
                    self.asked[gone.name, False] = before
                    gone.drop()
                    self.handles.append(gone)
                else:
                    name = f"q{self.done}"
                    self.asked[name, True] = before
                    alive.append(self.session.query(drawn(self.rng), name=name))
                self.accepted.append((self.quarter, (time.perf_counter() - before) * 1000))
                self.done += 1
        except BaseException as e:
            self.error = e

    @property
    def quarter(self) -> int:
        """Which quarter of the changes is under way."""
        return min(QUARTERS - 1, self.done * QUARTERS // max(self.changes, 1))


class Watch:
    """Looks at the session after every batch."""

    def __init__(self, session: Session, changer: Changer) -> None:
        self.session, self.changer = session, changer
        self.quarters = [Measured() for _ in range(QUARTERS)]
        self.split = 0

    def batch(self, seconds: float) -> None:
        """One more batch is committed."""
        now, root = time.perf_counter(), self.session.directory.root
        mine = self.quarters[self.changer.quarter]
        mine.batch_ms.append(seconds * 1000)
        runs = {q.name for q in self.session.runner.plan.queries}
        for (name, created), asked in list(self.changer.asked.items()):
            if (name in runs) == created:
                mine.force_ms.append((now - asked) * 1000)
                del self.changer.asked[name, created]
            elif created and (name, False) in self.changer.asked:  # dropped before any batch had it
                del self.changer.asked[name, created]
        manifest = self.session.latest_manifest()
        change = root / "manifests" / f"{manifest.batch:012d}.json"
        mine.commit_bytes.append(change.stat().st_size if change.exists() else 0)
        mine.seen = len(manifest.seen.keys) + len(manifest.seen.sides)

    def look(self) -> None:
        """What takes longer to find out: files, memory."""
        root, mine = self.session.directory.root, self.quarters[self.changer.quarter]
        kept = ("manifests", "plans", "queries", "changelog", "state")
        mine.files = sum(1 for folder in kept for path in (root / folder).rglob("*") if path.is_file())
        mine.lives_bytes = max((p.stat().st_size for p in (root / "queries").glob("*.json")), default=0)
        mine.memory_mb = int(Path("/proc/self/statm").read_text().split()[1]) * PAGE / 1e6


@contextmanager
def timed_planning(tell: Callable[[float], None]) -> Iterator[None]:
    """Time what is planned beside the batches."""
    real = ahead.Ahead._chosen

    def chosen(self: Any, workload: Any) -> Any:
        started = time.perf_counter()
        try:
            return real(self, workload)
        finally:
            tell((time.perf_counter() - started) * 1000)

    ahead.Ahead._chosen = chosen  # type: ignore[method-assign]
    try:
        yield
    finally:
        ahead.Ahead._chosen = real  # type: ignore[method-assign]


def declared(session: Session, root: Path) -> None:
    """Both streams, and a query that stays."""
    for name in STREAMS:
        options = f"format = 'parquet', path = '{root / name}', time = 'at', files_per_batch = 1"
        session.sql(f"CREATE STREAM {name} ({COLUMNS}) WITH ({options})")
    session.query("SELECT k, window_end, COUNT(*) AS n FROM s GROUP BY k, TUMBLE '2 seconds'", name="stays")


def run_local(root: Path, feed: Feed, changes: int, rate: float, live: int) -> tuple[Session, Changer, Watch]:
    """Batches one after another, without Spark's scheduler."""
    session = LocalSession(root / "run", partitions=1)
    declared(session, root)
    session.batch(feed.next())
    changer = Changer(session, changes, rate, live, seed=1)
    watch = Watch(session, changer)
    with timed_planning(lambda ms: watch.quarters[changer.quarter].plan_ms.append(ms)):
        changer.thread.start()
        while changer.thread.is_alive() or changer.asked:
            if changer.error is not None:
                raise changer.error
            chunks, started = feed.next(), time.perf_counter()
            session.batch(chunks, settled=False)
            watch.batch(time.perf_counter() - started)
            if len(feed.fed) % 20 == 0:
                watch.look()
    watch.look()
    return session, changer, watch


def run_spark(root: Path, feed: Feed, changes: int, rate: float, live: int) -> tuple[Session, Changer, Watch]:
    """Batches as files come: the next pair once the last was committed."""
    session = Session(root / "run", master="local[2]")
    declared(session, root)
    changer = Changer(session, changes, rate, live, seed=1)
    watch = Watch(session, changer)
    arrived = threading.Event()

    def heard(done: Any) -> None:
        watch.batch(done.seconds)
        watch.split += done.rows != len(STREAMS) * feed.count
        arrived.set()

    session.listeners.append(heard)
    feed.next()
    session.start()
    with timed_planning(lambda ms: watch.quarters[changer.quarter].plan_ms.append(ms)):
        while session.latest_manifest().batch < 0:
            session.wait(0.1)
        changer.thread.start()
        while changer.thread.is_alive() or changer.asked:
            if changer.error is not None:
                raise changer.error
            arrived.clear()
            feed.next()
            while not arrived.wait(0.5):
                session.wait(0.001)
            if len(feed.fed) % 20 == 0:
                watch.look()
    watch.look()
    session.stop()
    return session, changer, watch


def share(values: list[float], part: float) -> float:
    """The value below which a part of all lies."""
    return sorted(values)[min(len(values) - 1, int(part * len(values)))] if values else float("nan")


def table(watch: Watch) -> Table:
    """A line a quarter."""
    names = (
        "quarter",
        "batches",
        "batch ms",
        "planning ms",
        "accepted ms",
        "in force ms",
        "99 %",
        "commit bytes",
        "statistics",
    )
    found = Table(*names, "files", "lives kB", "memory MB")
    for number, q in enumerate(watch.quarters):
        cells = [
            number + 1,
            len(q.batch_ms),
            f"{median(q.batch_ms or [0]):.1f}",
            f"{median(q.plan_ms or [0]):.1f}",
        ]
        cells += [
            f"{median(q.accept_ms or [0]):.1f}",
            f"{median(q.force_ms or [0]):.0f}",
            f"{share(q.force_ms, 0.99):.0f}",
        ]
        cells += [
            f"{median(q.commit_bytes or [0]):,.0f}",
            q.seen,
            q.files,
            f"{q.lives_bytes / 1e3:.0f}",
            f"{q.memory_mb:.0f}",
        ]
        found.add_row(*map(str, cells))
    return found


def main(
    changes: Annotated[int, typer.Option(help="How many queries are created and dropped, in all.")] = 2_000,
    rate: Annotated[float, typer.Option(help="Changes a second.")] = 10.0,
    live: Annotated[int, typer.Option(help="Queries that live at a time.")] = 20,
    events: Annotated[int, typer.Option(help="Rows of each stream in a batch.")] = 200,
    engine: Annotated[str, typer.Option(help="local (without Spark's scheduler) or spark.")] = "local",
) -> None:
    """Run it, and say what each quarter of the changes saw."""
    screen = Console()
    with workspace("adhoc") as root:
        feed, started = Feed(root, events), time.perf_counter()
        session, changer, watch = (run_spark if engine == "spark" else run_local)(
            root, feed, changes, rate, live
        )
        for quarter, ms in changer.accepted:
            watch.quarters[quarter].accept_ms.append(ms)
        took = time.perf_counter() - started
        screen.print(
            f"{changes:,} changes, {rate:g} a second, {live} live queries, {events:,} rows a stream and batch, {engine}: {took:.0f} s"
        )
        screen.print(table(watch))
        if watch.split:
            screen.print(
                f"not compared with the definition: Spark took the files of a moment in different batches ({watch.split:,} times)"
            )
        else:
            found = check_lives(
                [h for h in changer.handles if h.epoch is not None], session.catalog.streams, feed.fed
            )
            screen.print(
                f"the last {len(changer.handles)} dropped queries equal the definition ({found:,} rows)"
            )
        shutil.rmtree(session.directory.root, ignore_errors=True)


if __name__ == "__main__":
    typer.run(main)
