"""Queries created in mid-stream with a history, by a random schedule of steps, batches, restarts and kills, against the definition.

What such a query gives is what it would have given had it been there from where it begins, late rows and all; the others give what they
would have given without it. THALWEG_SCHEDULES draws so many.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pyarrow as pa
import pytest

from thalweg.engine.faults import POINTS, Aborted
from thalweg.testing.crowd import JOINED, SELECTS, check_lives
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalSession

SECOND, BATCHES = 1_000_000, 12
SCHEDULES = int(os.environ.get("THALWEG_SCHEDULES", "4"))
STREAM = """CREATE STREAM {0} (k BIGINT, v BIGINT, at TIMESTAMP)
  WITH (format = 'parquet', path = '{1}/{0}', time = 'at', watermark = '1 second');"""
DRIVER = [p for p in POINTS if p.startswith("driver:")]
MORE = (
    f"SELECT s.k, COUNT(*) AS n {JOINED} WHERE s.v = r.v AND r.k <> {{m}} GROUP BY s.k EVERY 1 SECOND EMIT CHANGES",
    "SELECT s.k, SUM(r.v) AS total FROM s [UNBOUNDED], r [RANGE {n} SECONDS] WHERE s.v = r.v GROUP BY s.k EVERY 2 SECONDS",
    "SELECT k, AVG(v) AS mean, MEDIAN(v) AS middle FROM s GROUP BY k, WINDOWS(TUMBLE '{n} seconds', HOP '6 seconds' BY '2 seconds')",
    "SELECT k, window_end, MAX(v) AS high, COUNT(*) AS n FROM s GROUP BY k, HOP '{n} seconds' BY '1 second' HAVING COUNT(*) <> {m}"
    " EMIT EVERY 1 SECOND",
)


def rows(rng: random.Random, batch: int, count: int = 20) -> pa.Table:
    """Rows of two seconds, out of order, some of them late and some far ahead."""
    ticks = [2 * batch * SECOND + i * (2 * SECOND // count) for i in range(count)]
    ticks = [t - rng.choice([0] * 12 + [SECOND // 2, 2 * SECOND, 5 * SECOND]) for t in ticks]
    values = [rng.randrange(23) for _ in ticks]
    return pa.table(
        {"k": [i % 5 for i in range(count)], "v": values, "at": pa.array(ticks, pa.timestamp("us"))}
    )


class Schedule:
    """A directory, what was asked of it, and the names of the queries with a history."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root, self.rng = root, random.Random(seed)
        self.session = LocalSession(root / "run", self.rng.choice([1, 2]), logged=True)
        self.session.sql("".join(STREAM.format(n, root) for n in "sr"))
        self.session.sql(f"SET plan.sharing = '{self.rng.choice(['best', 'all', 'off'])}'")
        self.fed = [{n: rows(self.rng, b) for n in "sr" if self.rng.random() < 0.9} for b in range(BATCHES)]
        self.files = [
            [
                (n, str(write_batches(root / n, self.session.catalog.streams[n], [table])[0]))
                for n, table in batch.items()
            ]
            for batch in self.fed
        ]
        self.made: list[str] = []
        self.early: list[str] = []
        self._create()

    def run(self) -> None:
        """All batches; before each a query perhaps, some steps, and a restart or a crash now and then."""
        while (batch := self.session.latest_manifest().batch + 1) < BATCHES:
            if self.rng.random() < 0.4:
                self._create()
            if batch in (3, 7):
                self._create("all" if self.rng.random() < 0.6 else f"{self.rng.randint(3, 12)} seconds")
            if self.rng.random() < 0.4:
                self.reopen()
            if batch > 0:
                self.session.replay(self.rng.randint(0, 3))
            self._batch(
                batch, self.rng.choice(DRIVER) if self.rng.random() < 0.3 and batch < BATCHES - 1 else None
            )
        self._crash_in_steps()

    def _batch(self, batch: int, fault: str | None) -> None:
        if batch > 0 and self.session._running.runner is not None:
            self.session.runner.fault = fault
        try:
            self.session.batch(self.files[batch])
        except Aborted:
            self.reopen()

    def _crash_in_steps(self) -> None:
        """The last steps, each with a crash at some point."""
        replays = self.session._running.replays
        while replays is not None and replays.lagging:
            for replay in replays._found.values():
                replay.fault = self.rng.choice([*DRIVER, None, None])
            try:
                self.session.replay(1)
            except Aborted:
                self.reopen()
                self.session.begin()
                replays = self.session._running.replays

    def reopen(self) -> None:
        """As after kill -9, if batches ran: nothing is declared again."""
        if self.session._running.runner is not None:
            self.session.directory.unlock()
            self.session = LocalSession(self.root / "run", self.rng.choice([1, 2]), logged=True)

    def _create(self, history: str | None = None) -> None:
        name = f"q{len(self.made)}"
        text = self.rng.choice([*SELECTS, *MORE]).format(
            n=self.rng.choice([2, 3, 4]), m=self.rng.choice([2, 3, 4])
        )
        self.session.query(text, name=name, history=history)
        self.made.append(name)
        self.early += [name] if history else []


@pytest.mark.parametrize("seed", range(SCHEDULES))
def test_a_schedule(seed: int, tmp_path: Path) -> None:
    schedule = Schedule(tmp_path, seed)
    schedule.run()
    session = schedule.session
    session.runner.fault = None
    handles = [session.handle(name) for name in schedule.made]
    assert all(h.status != "failed" for h in handles), [h.error for h in handles]
    assert check_lives(handles, session.catalog.streams, schedule.fed) > 0
    session.close()
