"""`make bench-adhoc`: AJoin's scenarios on Spark. Queries come and go while rows arrive: how soon they are in force, how soon results can
be read.

SC1 creates queries at a rate up to so many, which stay; SC2 creates and drops at that rate when there are so many. Queries are drawn from
the paper's template, half similar to each other, over 2 to 5 streams. Two kinds of runs:

- *paced*: every quarter of a second each stream gets a file of that quarter's rows. The event-time latency of a file is from its arrival to
  the moment when the results of the batch that read it can be read; the deployment latency is from a request to the moment when the first
  batch with it (or, dropped, without it) is committed.
- *full*: a batch follows the other, each with a file of every stream: rows a second.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.adhoc import share, timed_planning
from benchmarks.runner import workspace
from benchmarks.sharing_feeds import Attributes
from benchmarks.sharing_template import ATTRIBUTES, Asked
from benchmarks.sharing_workloads import drawn, streams_of
from thalweg.api.handle import QueryHandle
from thalweg.api.session import Session
from thalweg.testing.bound import bind_statements
from thalweg.testing.feeds import write_batches

TICK, RATE = 0.25, 250
"""Seconds between files of a stream, and its rows a second."""
FULL = 8_000
"""Events of a batch, over all streams, of a full run."""
DRAWN = 600
"""Queries that are drawn, to be taken one after another, and again from the first."""
WARM = 6
"""Batches that are not counted, for a young JVM and its workers."""
PATIENCE = 240.0
PARTS = "scenarios,throughput,components,thresholds"


@dataclass(frozen=True)
class Scenario:
    """`live` queries over so many streams, with so many changes a second; `drops` says whether as many are dropped as are created."""

    name: str
    ways: int
    live: int
    rate: float
    drops: bool


@dataclass
class Seen:
    """Milliseconds that a run saw: of the two latencies, and of what a deployment consists of."""

    event: list[float] = field(default_factory=list)
    deployed: list[float] = field(default_factory=list)
    accepted: list[float] = field(default_factory=list)
    planned: list[float] = field(default_factory=list)
    batch: list[float] = field(default_factory=list)

    def cells(self) -> list[str]:
        """Event-time latency, then deployment: median and 99 %, then the medians of its parts; what is left is waiting for a batch to
        end."""
        parts = [median(v or [float("nan")]) for v in (self.accepted, self.planned, self.batch)]
        told = [median(self.deployed or [float("nan")]), share(self.deployed, 0.99)]
        both = [median(self.event or [float("nan")]), share(self.event, 0.99), *told]
        return [f"{v:.0f}" for v in (*both, *parts, max(told[0] - sum(parts), 0.0))]


def declared(number: int, root: Path) -> str:
    """A stream of the template, of which a batch takes all files that there are."""
    columns = ", ".join(f"a{i} INT" for i in range(ATTRIBUTES))
    options = f"format = 'parquet', path = '{root}/s{number}', time = 'ts', watermark = '0 seconds'"
    return f"CREATE STREAM s{number} ({columns}, ts TIMESTAMP) WITH ({options});"


class Site:
    """A session on Spark over the streams of a template, its files and its queries."""

    def __init__(self, root: Path, ways: int, settings: Mapping[str, str], events: int | None = None) -> None:
        self.root, self.asked = root, drawn(DRAWN, ways)
        numbers = streams_of(self.asked)
        self.events = events or round(RATE * TICK) * len(numbers)
        self.feed = Attributes(numbers, self.events, RATE)
        self.session = Session(root / "run", master="local[2]", settings=dict(settings))
        sql = "".join(declared(number, root) for number in numbers)
        self.streams = bind_statements(sql).streams
        self.session.sql(sql)
        for name in self.streams:
            (root / name).mkdir(parents=True, exist_ok=True)
        self.made = self.files = self.read = self.batches = 0
        self.alive: deque[QueryHandle] = deque()
        self.changed, self.news = threading.Lock(), threading.Event()
        self.waiting: deque[tuple[int, float]] = deque()
        self.pending: dict[tuple[str, bool], float] = {}
        self.seen = Seen()
        self.session.listeners.append(self._heard)

    def create(self) -> None:
        """One more query of the template."""
        query: Asked = self.asked[self.made % len(self.asked)]
        self.made += 1
        name = f"q{self.made}"
        self._timed(name, True, lambda: self.alive.append(self.session.query(query.sql, name=name)))

    def drop(self) -> None:
        """The oldest query goes."""
        handle = self.alive.popleft()
        self._timed(handle.name, False, handle.drop)

    def _timed(self, name: str, created: bool, act: Any) -> None:
        asked = time.perf_counter()
        with self.changed:
            self.pending[name, created] = asked
        act()
        self.seen.accepted.append((time.perf_counter() - asked) * 1000)

    def put(self) -> None:
        """One more file of every stream."""
        width = self.events // len(self.streams)
        for number, (name, stream) in zip(self.feed.streams, self.streams.items(), strict=True):
            write_batches(self.root / name, stream, [self.feed._rows(number, self.files)])
        self.files += 1
        with self.changed:
            self.waiting.append((self.files * width * len(self.streams), time.perf_counter()))

    def _heard(self, done: Any) -> None:
        """A batch was committed, and its results can be read."""
        now, runs = time.perf_counter(), {q.name for q in self.session.runner.plan.queries}
        with self.changed:
            self.read, self.batches = self.read + done.rows, self.batches + 1
            self.seen.batch.append(done.seconds * 1000)
            while self.waiting and self.waiting[0][0] <= self.read:
                self.seen.event.append((now - self.waiting.popleft()[1]) * 1000)
            for name, created in [k for k in self.pending if (k[0] in runs) == k[1]]:
                self.seen.deployed.append((now - self.pending.pop((name, created))) * 1000)
        self.news.set()

    def taken(self) -> None:
        """Wait until all files were read."""
        deadline = time.monotonic() + PATIENCE
        while self.waiting:
            self.news.wait(0.2)
            self.news.clear()
            if self.session.error is not None:
                raise self.session.error
            assert time.monotonic() < deadline, "the batch does not end"

    def settled(self) -> None:
        """Warm up, then forget what was seen."""
        while self.batches < WARM or self.pending:
            self.put()
            self.taken()
        self.seen = Seen()


@contextmanager
def site(root: Path, ways: int, settings: Mapping[str, str], events: int | None = None) -> Iterator[Site]:
    """A site with one query, whose session runs."""
    made = Site(root, ways, settings, events)
    try:
        made.create()
        made.session.start()
        made.settled()
        yield made
    finally:
        with suppress(Exception):
            made.session.stop()
        made.session.close()


@contextmanager
def changing(at: Site, scenario: Scenario) -> Iterator[None]:
    """Queries come, and go where there are enough, in a thread of their own."""
    over, errors, first = threading.Event(), list[BaseException](), at.made

    def change() -> None:
        started, done = time.perf_counter(), 0
        try:
            while not over.is_set() and (scenario.drops or len(at.alive) < scenario.live):
                pause = started + done / scenario.rate - time.perf_counter()
                if pause > 0 and over.wait(pause):
                    return
                if len(at.alive) >= scenario.live:
                    at.drop()
                else:
                    at.create()
                done += 1
        except BaseException as e:
            errors.append(e)

    thread = threading.Thread(target=change, name="changer")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    if errors:
        raise errors[0]
    assert at.made > first or not scenario.rate


def paced(
    root: Path, scenario: Scenario, seconds: float, settings: Mapping[str, str]
) -> tuple[Seen, int, int]:
    """A run in which rows come as time goes by: what was seen, how many queries lived at the end, and in how many partitions."""
    with site(root, scenario.ways, settings) as at:
        if scenario.drops:
            grow(at, scenario.live)
        with timed_planning(lambda ms: at.seen.planned.append(ms)), changing(at, scenario):
            started = time.perf_counter()
            for tick in range(round(seconds / TICK)):
                time.sleep(max(0.0, started + tick * TICK - time.perf_counter()))
                at.put()
        at.taken()
        return at.seen, len(at.alive), at.session.runner.scale.partitions


def grow(at: Site, live: int) -> None:
    """Create queries until there are so many, and wait until all are in force."""
    while len(at.alive) < live:
        at.create()
    at.settled()


def full(at: Site, seconds: float) -> float:
    """Rows a second, one batch after the other."""
    started, before = time.perf_counter(), at.read
    while time.perf_counter() - started < seconds:
        at.put()
        at.taken()
    return (at.read - before) / (time.perf_counter() - started)


def still_and_changing(
    root: Path, scenario: Scenario, seconds: float, rounds: int
) -> list[tuple[float, float]]:
    """Rows a second while nothing changes, and while queries come and go, in turns, so that both see the same machine."""
    with site(root, scenario.ways, {}, FULL) as at:
        grow(at, scenario.live)
        found = []
        for _ in range(rounds):
            still = full(at, seconds)
            with changing(at, scenario):
                moved = full(at, seconds)
            found.append((still, moved))
            at.settled()
        return found


COMPONENTS: Mapping[str, Mapping[str, str]] = {
    "all": {},
    "no sharing": {"plan.sharing": "off"},
    "no choice of groups": {"plan.sharing": "all"},
    "order as written": {"plan.order": "written"},
    "one partition": {"partitions": "1"},
}
"""What is switched off (figure 21). Without a choice of groups all queries are computed together that can be."""


def component(root: Path, name: str, scenario: Scenario, seconds: float) -> float:
    """Rows a second with a component switched off, while queries come and go."""
    with site(root, scenario.ways, COMPONENTS[name], FULL) as at:
        grow(at, scenario.live)
        with changing(at, scenario):
            return full(at, seconds)


def scenarios(ways: Sequence[int], is_quick: bool) -> Iterator[Scenario]:
    """Both of them, at all rates."""
    for number in ways:
        for rate, live in ((10.0, 100),) if is_quick else ((1.0, 20), (10.0, 100), (100.0, 500)):
            yield Scenario("SC1", number, live, rate, drops=False)
            yield Scenario("SC2", number, live, rate, drops=True)


THRESHOLDS = ("250 milliseconds", "1 second", "5 seconds")
"""Latencies above which there are more partitions (figure 22b)."""
LATENCIES = ("event ms", "99 %", "deployed ms", "99 %", "accepted", "planned", "batch", "waiting")


def main(
    parts: Annotated[str, typer.Option(help="scenarios, throughput, components, thresholds.")] = PARTS,
    ways: Annotated[str, typer.Option(help="How many streams queries join.")] = "2,3,4,5",
    seconds: Annotated[float, typer.Option(help="How long each run is measured.")] = 20.0,
    quick: Annotated[bool, typer.Option(help="10 changes a second and 100 live queries only.")] = False,
) -> None:
    """Run the parts, and say what they saw."""
    screen, numbers, asked = Console(), [int(w) for w in ways.split(",")], parts.split(",")
    usual = Scenario("SC2", numbers[0], 100, 10.0, drops=True)
    with workspace("adhoc") as root:
        if "scenarios" in asked:
            screen.print(
                table(
                    "figures 18 and 19",
                    ("scenario", "live"),
                    LATENCIES,
                    _paced(root, numbers, seconds, quick),
                )
            )
        if "throughput" in asked:
            both = replace(usual, rate=20.0)
            pairs = still_and_changing(root / "throughput", both, seconds / 2, 3)
            rows = [
                (f"round {n}", [f"{s:,.0f}", f"{m:,.0f}", f"{m / s:.2f}"])
                for n, (s, m) in enumerate(pairs, 1)
            ]
            screen.print(
                table(
                    "rows a second, 10 queries a second come and 10 go",
                    ("",),
                    ("still", "changing", "ratio"),
                    rows,
                )
            )
        if "components" in asked:
            found = {name: component(root / name, name, usual, seconds) for name in COMPONENTS}
            rows = [(name, [f"{v:,.0f}", f"{v / found['all']:.2f}"]) for name, v in found.items()]
            screen.print(table("figure 21: rows a second", ("",), ("rows/s", "of all"), rows))
        if "thresholds" in asked:
            screen.print(
                table("figure 22b", ("threshold", "partitions"), LATENCIES, _thresholds(root, usual, seconds))
            )


Line = tuple[str, list[str]]


def _paced(root: Path, ways: Sequence[int], seconds: float, quick: bool) -> Iterator[Line]:
    for number, s in enumerate(scenarios(ways, quick)):
        seen, live, _ = paced(root / f"paced{number}", s, seconds, {})
        yield f"{s.name} {s.ways}-way, {s.rate:g}/s, up to {s.live}", [str(live), *seen.cells()]


def _thresholds(root: Path, scenario: Scenario, seconds: float) -> Iterator[Line]:
    for number, latency in enumerate(THRESHOLDS):
        settings = {"scale.latency": latency, "scale.partitions": "1..8"}
        seen, _, partitions = paced(root / f"threshold{number}", scenario, seconds, settings)
        yield latency, [str(partitions), *seen.cells()]


def table(title: str, first: Sequence[str], columns: Sequence[str], rows: Iterable[Line]) -> Table:
    """A line a run."""
    made = Table(*first, *columns, title=title)
    for name, cells in rows:
        made.add_row(name, *cells)
    return made


if __name__ == "__main__":
    typer.run(main)
