"""What a query with a history costs the others: times of batches while it catches up, and between such times, in turns.

    python -m benchmarks.history [--events 200000] [--past 40] [--rounds 3] [--pause 0.5]

On Spark and two cores: five dashboards over one stream, a file of so many events every so many seconds, `past` batches before all. In each
round a query over all history comes, catches up and is dropped, and then as many batches run without one.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from thalweg import Session

STREAM = "CREATE STREAM s (k BIGINT, v BIGINT, at TIMESTAMP) WITH (format='parquet', path='{0}', time='at', files_per_batch = 1);"
LIVE = "CREATE QUERY live{n} AS SELECT k, window_end, SUM(v) AS t, MAX(v) AS m FROM s WHERE v > {n} GROUP BY k, TUMBLE '{w} seconds';"
EARLY = "SELECT k, window_end, SUM(v) AS t, COUNT(*) AS n FROM s GROUP BY k, TUMBLE '3 seconds'"
SECOND, WARM = 1_000_000, 8


class Feeder:
    """Writes files of one second of event time each."""

    def __init__(self, folder: Path, events: int) -> None:
        self._folder, self._events, self._next = folder, events, 0
        self.ended = threading.Event()

    def put(self) -> None:
        """One more file."""
        at = self._next * SECOND + np.arange(self._events) * SECOND // self._events
        values = np.random.default_rng(self._next).integers(0, 1000, (2, self._events))
        table = pa.table({"k": values[0], "v": values[1], "at": pa.array(at, pa.timestamp("us"))})
        hidden = self._folder / f".{self._next}"
        pq.write_table(table, hidden)
        hidden.rename(self._folder / f"{self._next:06d}.parquet")
        self._next += 1

    def run(self, pause: float) -> None:
        """A file now and then, until it is ended."""
        while not self.ended.wait(pause):
            self.put()


def measured(
    root: Path, events: int, past: int, rounds: int, pause: float
) -> tuple[list[float], list[float], list[float]]:
    """Seconds of batches without a replay and beside one, and from the creation of each query until it is in force."""
    (root / "in").mkdir()
    feeder, calm, beside, taken = Feeder(root / "in", events), list[float](), list[float](), list[float]()
    for _ in range(past):
        feeder.put()
    with Session(root / "run", master="local[2]") as session:
        session.sql(STREAM.format(root / "in") + "".join(LIVE.format(n=n, w=n + 1) for n in range(5)))
        session.run_available()
        times = warm = list[float]()
        session.listeners.append(lambda done: times.append(done.seconds))
        session.start()
        thread = threading.Thread(target=feeder.run, args=(pause,))
        thread.start()
        while len(warm) < WARM:
            session.wait(0.05)
        for number in range(rounds):
            times = beside
            started, before = time.monotonic(), len(beside)
            query = session.query(EARLY, name=f"early{number}", history="all")
            while query.epoch is None:
                session.wait(0.05)
            taken.append(time.monotonic() - started)
            query.drop()
            times, more = calm, len(calm) + len(beside) - before
            while len(calm) < more:
                session.wait(0.05)
        feeder.ended.set()
        thread.join()
    return calm, beside, taken


def told(calm: Sequence[float], beside: Sequence[float], taken: Sequence[float]) -> str:
    """All as one line."""
    figures = [
        f"{name} {median(t) * 1000:,.0f} ms in the median, {mean(t) * 1000:,.0f} in the mean"
        for name, t in _named(calm, beside)
    ]
    growth = f"{median(beside) / median(calm):.2f} times in the median, {mean(beside) / mean(calm):.2f} in the mean"
    return f"{'; '.join(figures)}: {growth}; in force after {', '.join(f'{s:,.1f}' for s in taken)} s; {len(calm)} and {len(beside)} batches"


def _named(calm: Sequence[float], beside: Sequence[float]) -> tuple[tuple[str, Sequence[float]], ...]:
    return (("batches without a replay", calm), ("beside one", beside))


def main() -> None:
    """Print what was measured."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--events", type=int, default=200_000)
    asked.add_argument("--past", type=int, default=40)
    asked.add_argument("--rounds", type=int, default=3)
    asked.add_argument("--pause", type=float, default=0.5)
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as root:
        print(told(*measured(Path(root), given.events, given.past, given.rounds, given.pause)))


if __name__ == "__main__":
    main()
