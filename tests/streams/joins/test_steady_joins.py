"""Joins run on and on with bounded state: the workload of `make steady`, small and without Spark."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pytest
from benchmarks.steady_workload import INSTANTS, LEVELS, LONGEST, SQL, batches, member

from thalweg.generate.nexmark import AUCTIONS, CATEGORIES, EPOCH, PEOPLE
from thalweg.generate.words import STATES
from thalweg.model.query import Query
from thalweg.model.settings import Config
from thalweg.model.windows import SECOND
from thalweg.optimizer.join_plans import JoinChoice, may_evaluate
from thalweg.optimizer.planner import WindowPlanner
from thalweg.testing.bound import Bound, bind_text
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches, write_tables
from thalweg.testing.local import LocalEngine
from thalweg.testing.reference_joins import reference_join

RATE, SPAN, BATCHES, PARTITIONS = 50, 10, 60, 2
SHARES = {"person": PEOPLE / EPOCH, "auction": AUCTIONS / EPOCH, "bid": 1 - (PEOPLE + AUCTIONS) / EPOCH}
# Beyond its window a row stays until its slot has gone (5 s), the watermark has passed it (1 s), and its file holds nothing newer.
SLACK = 6 + SPAN
GROUPS = len(LEVELS) + CATEGORIES * len(STATES)
WHOLE = "person"  # lacks the key of bids, so each partition has all of it


@dataclass(frozen=True)
class Remembering(WindowPlanner):
    """Keeps all inputs as rows, and results as totals or, where those can't be kept, as credits."""

    def join(self, query: Query) -> JoinChoice:
        """The plan of a join query."""
        evaluate = "delta" if may_evaluate(query, "delta") else "expiry"
        return WindowPlanner(
            replace(self.config, early_aggregation="LAP", evaluate=evaluate), self.known
        ).join(query)


@dataclass(frozen=True)
class Kept:
    """State after a batch: rows by piece of state, bytes, files by the manifest and on disk."""

    rows: Counter[str]
    bytes: int
    files: int
    on_disk: int


def run(root: Path, engine: LocalEngine, bound: Bound, fed: list[dict[str, pa.Table]]) -> Iterator[Kept]:
    """Feed micro-batches; what is kept after each."""
    for batch in fed:
        engine.batch(
            [(s, str(write_batches(root / "in" / s, bound.streams[s], [t])[0])) for s, t in batch.items()]
        )
        files, on_disk = engine.runner.manifest.files, len(list((root / "run" / "state").rglob("*.arrow")))
        rows: Counter[str] = Counter()
        for file in files:
            rows[file.fragment] += file.rows
        yield Kept(rows, sum(f.bytes for f in files), len(files), on_disk)


def most_rows(queries: list[Query]) -> float:
    """Rate times window of every input, and the groups of all instants in a window."""
    inputs = [i for q in queries if q.every for i in q.inputs if i.length is not None]
    sides = [
        RATE * SHARES[i.source] * (i.length / SECOND + SLACK) * (PARTITIONS if i.source == WHOLE else 1)
        for i in inputs
        if i.length
    ]
    return sum(sides) + GROUPS * INSTANTS * PARTITIONS


def most_files(queries: list[Query]) -> int:
    """A file for every partition, batch in the window and input, and as many for results."""
    inputs = [i for q in queries if q.every for i in q.inputs if i.length is not None]
    sides = [math.ceil((i.length / SECOND + SLACK) / SPAN) for i in inputs if i.length]
    return PARTITIONS * (
        sum(sides) + sum(1 for q in queries if q.every) * math.ceil((LONGEST + SLACK) / SPAN)
    )


@pytest.mark.parametrize(
    ("planner", "evaluations"),
    [(WindowPlanner(Config()), None), (Remembering(Config()), {"rows", "expiry", "delta"})],
    ids=["best", "remembering"],
)
def test_state_stops_growing(planner: WindowPlanner, evaluations: set[str] | None, tmp_path: Path) -> None:
    """Windows are full after a fifth of the batches; from then on nothing grows, and results are those of the definition."""
    bound = bind_text(SQL, "", tmp_path / "in")
    queries = [q for q in bound.queries.values() if not q.windows]
    write_tables(tmp_path / "in", {"member": member()})
    engine = LocalEngine(
        tmp_path / "run",
        tuple(bound.streams.values()),
        tuple(queries),
        planner,
        PARTITIONS,
        relations=tuple(bound.relations.values()),
    )
    fed = list(batches(BATCHES, RATE, SPAN))
    kept = list(run(tmp_path, engine, bound, fed))
    assert evaluations is None or {j.evaluate for j in engine.runner.plan.joins} == evaluations
    third = BATCHES // 3
    assert third * SPAN > LONGEST + SLACK
    middle, last = kept[third:-third], kept[-third:]
    for fragment in {f for k in kept for f in k.rows}:
        assert max(k.rows[fragment] for k in last) <= 1.1 * max(k.rows[fragment] for k in middle) + 10, (
            fragment
        )
    for what in ("bytes", "files"):
        assert max(getattr(k, what) for k in last) <= 1.1 * max(getattr(k, what) for k in middle), what
    assert max(k.rows.total() for k in kept) <= most_rows(queries)
    assert max(k.files for k in kept) <= most_files(queries)
    assert all(k.files == k.on_disk for k in kept)
    for query in queries:
        expected = reference_join(query, bound.streams, fed, {"member": member()})
        assert expected.num_rows >= 100
        compare(engine.results(query), expected)
