"""Three inputs that meet in the order of the plan, and as they are written: milliseconds of the steps of a batch. No Spark.

python -m benchmarks.join_order
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import duckdb
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from benchmarks.join_engine import fingerprint
from thalweg.model.settings import Config
from thalweg.optimizer.planner import planner_for
from thalweg.testing.bound import Bound, bind_statements
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalEngine

BATCHES, WARM, RUNS, SECONDS = 7, 4, 5, 5
STREAM = """CREATE STREAM {n} (k BIGINT, j BIGINT, x BIGINT, at TIMESTAMP)
  WITH (format = 'parquet', path = '{d}/{n}', time = 'at', rate = {rate}, distinct = 'k: {k}, j: {j}');"""
INPUTS = "FROM a [RANGE 10 SECONDS], b [RANGE 10 SECONDS], c [RANGE 10 SECONDS] WHERE a.k = b.k AND b.j = c.j"
COUNTED = f"CREATE QUERY q AS SELECT a.j, window_end, COUNT(*) AS n, SUM(c.x) AS s {INPUTS} GROUP BY a.j EVERY 5 SECONDS;"
JOINED = f"CREATE QUERY q AS SELECT a.x AS x, c.x AS z {INPUTS};"
EVALUATIONS = ("snapshot", "delta", "expiry", "rows")


@dataclass(frozen=True)
class Case:
    """A chain of three streams: rows per second of each, and how many values k and j have."""

    name: str
    rates: tuple[int, int, int]
    k: int
    j: int

    def bound(self, root: Path, evaluate: str) -> Bound:
        """Streams that declare what is true of them, and the query."""
        streams = [
            STREAM.format(n=n, d=root, rate=r, k=self.k, j=self.j)
            for n, r in zip("abc", self.rates, strict=True)
        ]
        return bind_statements("".join([*streams, JOINED if evaluate == "rows" else COUNTED]))

    def rows(self, batch: int, stream: int) -> pa.Table:
        """A batch of a stream."""
        count, seed = self.rates[stream] * SECONDS, batch * 1_000_003 + stream * 100_019
        return duckdb.sql(
            f"""SELECT (hash(i + {seed}) % {self.k})::BIGINT AS k, (hash(i + {seed} + 7) % {self.j})::BIGINT AS j, i % 10 AS x,
                make_timestamp(({batch} * {SECONDS}000000 + i * {SECONDS}000000 // {count})::BIGINT) AS at FROM range({count}) AS r(i)"""
        ).to_arrow_table()


CASES = (
    Case("alike: 2,000 rows/s each, 20,000 k and j", (2_000, 2_000, 2_000), 20_000, 20_000),
    Case("the small one first: 50, 5,000 and 5,000 rows/s, 5,000 k and j", (50, 5_000, 5_000), 5_000, 5_000),
    Case("the small one last: 5,000, 5,000 and 50 rows/s, 5,000 k and j", (5_000, 5_000, 50), 5_000, 5_000),
    Case(
        "the small one has many partners: 50, 5,000 and 200 rows/s, 10 k, 50,000 j",
        (50, 5_000, 200),
        10,
        50_000,
    ),
)


def batch_ms(case: Case, evaluate: str, order: str, root: Path) -> tuple[float, tuple[int, int]]:
    """The median of what the steps of a batch take, and what the results are."""
    bound = case.bound(root, evaluate)
    config = Config(early_aggregation="LAP", evaluate="best" if evaluate == "rows" else evaluate, order=order)
    streams = tuple(bound.streams.values())
    engine = LocalEngine(
        root / "run", streams, tuple(bound.queries.values()), planner_for(config, None, streams), 1
    )
    times = []
    for i in range(BATCHES):
        engine.batch(
            [
                (n, str(write_batches(root / n, bound.streams[n], [case.rows(i, k)])[0]))
                for k, n in enumerate("abc")
            ]
        )
        times.append(
            sum(t.ms for name, t in engine.runner.manifest.steps.items() if not name.startswith("scan"))
        )
    return median(times[WARM:]), fingerprint(engine.results(bound.queries["q"]))


def least_ms(case: Case, evaluate: str) -> list[float]:
    """The least of some runs by the best order and as written, in turns; both must give the same."""
    found: dict[str, list[float]] = {"best": [], "written": []}
    seen = set()
    for _ in range(RUNS):
        for order, times in found.items():
            with tempfile.TemporaryDirectory() as directory:
                ms, results = batch_ms(case, evaluate, order, Path(directory))
            times.append(ms)
            seen.add(results)
    assert len(seen) == 1, f"{case.name}: results differ"
    return [min(times) for times in found.values()]


def main() -> None:
    """A table: of each evaluation the best order and the one that is written."""
    table = Table("a.k = b.k AND b.j = c.j, ms a batch: best, as written", *EVALUATIONS)
    for case in CASES:
        table.add_row(case.name, *("{:.0f}, {:.0f}".format(*least_ms(case, e)) for e in EVALUATIONS))
    Console(width=180).print(table)


if __name__ == "__main__":
    main()
