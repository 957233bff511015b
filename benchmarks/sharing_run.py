"""Runs a workload in some modes in the engine without Spark's scheduler, on one core and in one hash range, batch by batch."""

from __future__ import annotations

import gc
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.join_engine import fingerprint
from benchmarks.sharing_feeds import Chunks
from benchmarks.sharing_workloads import Workload
from thalweg.api.session import Session
from thalweg.testing.feeds import placed_sql
from thalweg.testing.local import LocalSession

SETTING = "plan.sharing"
Results = dict[str, tuple[int, int]]
"""By query, how many result rows, and a checksum that their order does not change."""


@dataclass(frozen=True)
class Measured:
    """What a run took. ms: of each batch after the warm-up. state_rows, state_bytes: after the last one, where they are told.

    cpu_ms: of the processor in this process, which other work on the machine hardly changes; only without Spark. declared: seconds
    to declare all queries. failure: why there is nothing, or less than was asked for. nodes: how many joins, fragments and sub-joins the last
    plan has: where two modes have as many, what differs between their times is likely to be the machine; only without Spark.
    """

    events: int
    queries: int
    ms: tuple[float, ...] = ()
    state_rows: int | None = None
    state_bytes: int | None = None
    results: Results | None = None
    cpu_ms: tuple[float, ...] = ()
    declared: float = 0.0
    failure: str | None = None
    nodes: tuple[int, int, int] | None = None

    @property
    def batch_ms(self) -> float | None:
        """The median of a batch."""
        return median(self.ms) if self.ms else None

    @property
    def batch_cpu_ms(self) -> float | None:
        """The median of the processor's time for a batch."""
        return median(self.cpu_ms) if self.cpu_ms else None

    @property
    def events_per_second(self) -> float | None:
        """Events of a batch over its median time."""
        return self.events / self.batch_ms * 1_000 if self.batch_ms else None

    @property
    def overall(self) -> float | None:
        """The sum of the throughputs of all queries, which is what the paper calls overall data throughput."""
        return self.events_per_second * self.queries if self.events_per_second else None

    @property
    def result_rows(self) -> int | None:
        """Of all queries together, warm-up included."""
        return None if self.results is None else sum(rows for rows, _ in self.results.values())


def run_local(
    workload: Workload, modes: Sequence[str], files: Sequence[Chunks], root: Path, limit: float
) -> dict[str, Measured]:
    """Run the batches of a workload in some modes: each batch in all of them, in turns, so that whatever else the machine does meets all.

    A mode goes on as long as its limit in seconds is not over; what the modes wrote is gone afterwards.
    """
    homes = {mode: root / f"session-{mode}" for mode in modes}
    runs = {mode: LocalRun(workload, mode, home, root / "in", limit) for mode, home in homes.items()}
    try:
        for number, chunks in enumerate(files[: workload.batches]):
            for mode in modes if number % 2 else reversed(modes):
                runs[mode].batch(chunks)
        return {mode: run.measured() for mode, run in runs.items()}
    finally:
        for mode, home in homes.items():
            runs[mode].session.close()
            shutil.rmtree(home, ignore_errors=True)


class LocalRun:
    """A workload in one mode, with the times of its batches."""

    def __init__(self, workload: Workload, mode: str, home: Path, given: Path, limit: float) -> None:
        self.workload, self.limit = workload, limit
        self.session = LocalSession(home, partitions=1)
        self.declared = declare(self.session, workload.feed.sql, workload.queries, mode, given)
        self.times: list[tuple[float, float]] = []

    def batch(self, chunks: Chunks) -> None:
        """Run a batch; none is begun when the limit is over. Garbage of other modes is collected before."""
        if sum(wall for wall, _ in self.times) > self.limit * 1_000:
            return
        gc.collect()
        before, busy = time.perf_counter(), time.process_time()
        self.session.batch(chunks)
        self.times.append(((time.perf_counter() - before) * 1_000, (time.process_time() - busy) * 1_000))

    def measured(self) -> Measured:
        """What the batches after the warm-up took, and what was found where all of them were run."""
        w, done = self.workload, len(self.times) == self.workload.batches
        plan = self.session.runner.plan
        wall, cpu = (tuple(found[n] for found in self.times[w.warmup :]) for n in (0, 1))
        return Measured(
            w.feed.events,
            len(w.queries),
            wall,
            *state_of(self.session),
            results_of(self.session) if done else None,
            cpu,
            self.declared,
            None if done else f"{len(self.times)} of {w.batches} batches in {self.limit:.0f} s",
            (len(plan.joins), len(plan.fragments), len(plan.subs)),
        )


def declare(session: Session, streams: str, queries: Sequence[str], mode: str, directory: Path) -> float:
    """Set the mode, declare streams and queries q0, q1, ... as users do; seconds that the queries took."""
    session.set(SETTING, mode)
    session.sql(placed_sql(streams, directory))
    started = time.perf_counter()
    session.sql("".join(f"CREATE QUERY q{i} AS {select};\n" for i, select in enumerate(queries)))
    return time.perf_counter() - started


def state_of(session: Session) -> tuple[int, int]:
    """Rows and bytes that the last batch left as state."""
    files = session.latest_manifest().files
    return sum(f.rows for f in files), sum(f.bytes for f in files)


def results_of(session: Session) -> Results:
    """What every query has found."""
    return {name: fingerprint(handle.results()) for name, handle in session.queries.items()}


def differing(one: Results, other: Results) -> tuple[str, ...]:
    """The queries whose rows are not the same in both.

    >>> differing({"q0": (2, 11), "q1": (1, 5)}, {"q0": (2, 11), "q1": (1, 6)})
    ('q1',)
    """
    return tuple(name for name in sorted({*one, *other}) if one.get(name) != other.get(name))
