"""Joins with a value that a third of the rows have: the slowest of two partitions, with that value split over both and without.

Partitions are worked on one after another in this process, and the processor time of each is taken, so that a busy machine says the same as
a quiet one. Both runs must give the same number of results.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import typer
from rich.console import Console
from rich.table import Table

from thalweg.engine.kernel.finish import finish
from thalweg.engine.kernel.ingest import ingest
from thalweg.engine.kernel.work import work
from thalweg.engine.stages import reports_of
from thalweg.engine.task import Report, Task
from thalweg.testing.local import LocalSession

SECOND, WARM, KEYS = 1_000_000, 6, 10_000
STREAM = "CREATE STREAM {0} (k BIGINT, v BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{1}/{0}', time = 'at');"
JOINED = "FROM s AS a [RANGE 4 SECONDS], r AS b [RANGE 4 SECONDS] WHERE a.k = b.k"
GROUPED = (
    f"SELECT b.v % 10 AS g, COUNT(*) AS n, MAX(a.v + b.v) AS x {JOINED} GROUP BY b.v % 10 EVERY 1 SECOND"
)
QUERIES = {
    "rows": f"SELECT a.v, b.v AS w {JOINED} AND a.v + b.v < 20",
    "snapshot": GROUPED,
    "expiry": GROUPED,
}


@dataclass
class Clock:
    """Runs batches in this process, and keeps the seconds that each partition took of each."""

    taken: list[list[float]] = field(default_factory=list)

    def job(self, chunks: Sequence[tuple[str, str]], task: Task) -> list[Report]:
        """The job of a batch."""
        columns = {"stream": [c[0] for c in chunks], "path": [c[1] for c in chunks]}
        sent = list(ingest([_batch(columns | {"data": pa.array([None] * len(chunks), pa.binary())})], task))
        parts = [0.0] * task.partitions
        for stage in (work, *(finish,) * task.last):
            made = []
            for part in range(task.partitions):
                started = time.process_time()
                made += list(stage(_of(sent, part), task, part))
                parts[part] += time.process_time() - started
            sent = made
        self.taken.append(parts)
        return reports_of(sent)


def _batch(columns: dict[str, object]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def _of(batches: Sequence[pa.RecordBatch], part: int) -> Iterator[pa.RecordBatch]:
    return (b.filter(pc.equal(b.column("partition"), part)) for b in batches)


def rows(random: np.random.Generator, batch: int, count: int, share: float) -> pa.Table:
    """A second of a stream."""
    keys = np.where(random.random(count) < share, 7, random.integers(8, KEYS, count))
    times = np.sort(batch * SECOND + random.integers(0, SECOND, count))
    return pa.table(
        {"k": keys, "v": random.integers(0, 1000, count), "at": pa.array(times, pa.timestamp("us"))}
    )


def run(root: Path, kind: str, split: str, batches: int, count: int, share: float) -> tuple[Clock, int]:
    """A session's batches, and the results that they gave."""
    clock, random = Clock(), np.random.default_rng(5)
    for name in "sr":
        (root / name).mkdir()
    session = LocalSession(root / "run", 2)
    session.sql("".join(STREAM.format(n, root) for n in "sr"))
    session.sql(f"SET plan.split = '{split}'; SET plan.early_aggregation = 'LAP'; SET durable = 'false'")
    if kind != "rows":
        session.sql(f"SET plan.evaluate = '{kind}'")
    session.query(QUERIES[kind], name="q")
    session.begin()
    session.runner.job = clock.job
    for batch in range(batches + WARM):
        if (ahead := session._running._ahead) is not None:
            ahead._looking.settle()
        chunks = [(n, str(root / n / f"{batch}.parquet")) for n in "sr"]
        for _, path in chunks:
            pq.write_table(rows(random, batch, count, share), path)
        session._running.settle()
        session.runner.on_batch(chunks, batch)
    results = session.latest_manifest().queries["q"].rows
    session.close()
    return clock, results


def main(
    batches: Annotated[int, typer.Option(help="batches that are measured, after some that are not")] = 12,
    count: Annotated[int, typer.Option(help="rows of a batch and stream")] = 5_000,
    share: Annotated[float, typer.Option(help="share of the rows that have one value")] = 0.3,
    kinds: Annotated[str, typer.Option(help="what is run, of rows, snapshot, expiry")] = ",".join(QUERIES),
) -> None:
    """Measure each kind of join with the value in one partition, and split over both."""
    shown = Table("join", "split", "ms of each partition", "slowest", "times as fast", "both", "results")
    for kind in kinds.split(","):
        before = 0.0
        for split in ("off", "best"):
            with tempfile.TemporaryDirectory() as root:
                clock, results = run(Path(root), kind, split, batches, count, share)
            parts = [median(p) * 1000 for p in zip(*clock.taken[WARM:], strict=True)]
            slowest = median(max(p) for p in clock.taken[WARM:]) * 1000
            before = before or slowest
            each = " ".join(f"{p:.0f}" for p in parts)
            figures = (f"{slowest:.0f}", f"{before / slowest:.2f}", f"{sum(parts):.0f}", f"{results:,}")
            shown.add_row(kind, split, each, *figures)
    Console().print(shown)


if __name__ == "__main__":
    typer.run(main)
