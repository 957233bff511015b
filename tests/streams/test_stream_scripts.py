"""Every `.stream` script on the engine: as written, whole, row by row, aborted, restarted, at other parallelism, by every plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from pathlib import Path

import pyarrow as pa
import pytest

from thalweg.compile.evaluations import EVALUATIONS as WAYS
from thalweg.engine.faults import POINTS, Aborted
from thalweg.model.query import Query
from thalweg.model.settings import CHOICES, Config
from thalweg.model.stream import Stream
from thalweg.optimizer.join_plans import JoinChoice, may_evaluate
from thalweg.optimizer.planner import WindowPlanner
from thalweg.testing.bound import bind_text
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import batch_table, expect_table, static_table, write_batches, write_tables
from thalweg.testing.local import LocalEngine
from thalweg.testing.reference import late_rows_of, reference
from thalweg.testing.reference_joins import late_rows_of_join, reference_join
from thalweg.testing.script import Abort, Batch, Restart, Script, read_script

HERE = Path(__file__).parent
SCRIPTS = {str(p.relative_to(HERE).with_suffix("")): read_script(p) for p in sorted(HERE.rglob("*.stream"))}
JOINS = {n for n in SCRIPTS if n.startswith("joins/")}
# What the reference does not know: frontiers that move by the clock.
IDLE = {n for n, s in SCRIPTS.items() if "idle_timeout" in s.sql}
MODES = CHOICES["plan.windows"]
EVALUATIONS = tuple(e for e in CHOICES["plan.evaluate"] if e != "best")
BEST = Config()
WINDOW_PLANS = {mode: Config(windows=mode) for mode in MODES}
JOIN_PLANS = {"LAP loop": Config(early_aggregation="LAP", evaluate="snapshot", join="loop")}
JOIN_PLANS |= {
    f"LAP {how}": Config(early_aggregation="LAP", evaluate=how)
    for how in EVALUATIONS
    if not WAYS[how].of_sets
}
# Joined rows have neither: for them these are the ways in which rows are forgotten.
JOIN_PLANS |= {
    f"EAP {how}": Config(early_aggregation="EAP", evaluate=how, invalidate=rows)
    for how, rows in zip(EVALUATIONS, cycle(CHOICES["plan.invalidate"][1:]), strict=False)
}


@dataclass(frozen=True)
class Wished(WindowPlanner):
    """The planner of the settings, where `EAP` is all inputs early; what can't be evaluated as they say is a snapshot."""

    def join(self, query: Query) -> JoinChoice:
        """The plan of a join query."""
        c = self.config
        early = f"EAP{'1' * len(query.inputs)}" if c.early_aggregation == "EAP" else c.early_aggregation
        evaluate = c.evaluate if c.evaluate == "best" or may_evaluate(query, c.evaluate) else "snapshot"
        return WindowPlanner(replace(c, early_aggregation=early, evaluate=evaluate), self.known).join(query)


@dataclass
class Run:
    """An engine on a script's streams, tables and queries, and what it was fed."""

    script: Script
    root: Path
    config: Config = BEST
    partitions: int = 2
    fed: list[Mapping[str, pa.Table]] = field(default_factory=list)

    def __post_init__(self) -> None:
        bound = bind_text(self.script.sql, self.script.origin, self.root / "in")
        self.streams: Mapping[str, Stream] = bound.streams
        self.tables = {
            t.table: static_table(t, bound.relations[t.table], self.script.origin) for t in self.script.tables
        }
        write_tables(self.root / "in", self.tables)
        self.engine = LocalEngine(
            self.root / "run",
            tuple(bound.streams.values()),
            tuple(bound.queries.values()),
            Wished(self.config),
            self.partitions,
            relations=tuple(bound.relations.values()),
        )

    def written(self) -> list[tuple[str, pa.Table]]:
        """The script's micro-batches, each with its stream."""
        return [(s.stream, self.rows(s)) for s in self.script.steps if isinstance(s, Batch)]

    def rows(self, batch: Batch) -> pa.Table:
        return batch_table(batch, self.streams[batch.stream], self.script.origin)

    def feed(self, batch: Mapping[str, pa.Table]) -> None:
        """One micro-batch, again after a restart where it is interrupted."""
        chunks = [
            (s, str(write_batches(self.root / "in" / s, self.streams[s], [t])[0])) for s, t in batch.items()
        ]
        try:
            self.engine.batch(chunks)
        except Aborted:
            self.engine.fault = None
            self.engine.restart()
            self.engine.batch(chunks)
        self.engine.fault = None
        self.fed.append(batch)

    def check(self) -> None:
        """Results and counts of late rows are those of the definition."""
        for query in self.engine.queries:
            if not query.windows:
                expected = reference_join(query, self.streams, self.fed, self.tables)
                late = late_rows_of_join(query, self.streams, self.fed)
            else:
                rows = [b[query.stream] for b in self.fed if query.stream in b]
                expected = reference(query, self.streams[query.stream], rows)
                late = late_rows_of(query, self.streams[query.stream], rows)
            compare(self.engine.results(query), expected)
            assert self.engine.runner.manifest.queries[query.name].late == late

    def check_stated(self) -> None:
        """Results are those that the script states."""
        queries = {q.name: q for q in self.engine.queries}
        for expect in self.script.expects:
            query = queries[expect.query]
            compare(self.engine.results(query), expect_table(expect, query, self.script.origin))


def of(names: Sequence[str] | set[str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("name", sorted(names))


PLANS = [(n, p) for n in SCRIPTS for p in (JOIN_PLANS if n in JOINS else WINDOW_PLANS)]
DEFINED = SCRIPTS.keys() - IDLE


@pytest.mark.parametrize(("name", "plan"), PLANS)
def test_as_written(name: str, plan: str, tmp_path: Path) -> None:
    """By every plan; a restart brings another number of partitions with it."""
    run = Run(SCRIPTS[name], tmp_path, {**JOIN_PLANS, **WINDOW_PLANS}[plan])
    for step in run.script.steps:
        match step:
            case Batch(stream):
                run.feed({stream: run.rows(step)})
            case Restart():
                run.engine.restart(run.engine.partitions % 3 + 1)
            case Abort(point):
                run.engine.fault = point
    run.check_stated()


@of(DEFINED)
def test_whole(name: str, tmp_path: Path) -> None:
    """All rows of all streams in one micro-batch."""
    run = Run(SCRIPTS[name], tmp_path)
    whole: dict[str, list[pa.Table]] = {}
    for stream, table in run.written():
        whole.setdefault(stream, []).append(table)
    run.feed({s: pa.concat_tables(tables) for s, tables in whole.items()})
    run.check()


@of(DEFINED)
def test_row_by_row(name: str, tmp_path: Path) -> None:
    run = Run(SCRIPTS[name], tmp_path, plan_of(name, "EAP delta"))
    for stream, row in rows_of(run):
        run.feed({stream: row})
    run.check()


@of(JOINS - IDLE)
def test_one_stream_after_the_other(name: str, tmp_path: Path) -> None:
    run = Run(SCRIPTS[name], tmp_path, plan_of(name, "EAP expiry"))
    for stream, table in sorted(run.written(), key=lambda fed: fed[0]):
        run.feed({stream: table})
    run.check()


@of(DEFINED)
def test_aborts(name: str, tmp_path: Path) -> None:
    """Every micro-batch is interrupted, each at another point, and restored."""
    run = Run(SCRIPTS[name], tmp_path, plan_of(name, "EAP expiry"))
    for i, (stream, table) in enumerate(run.written()):
        run.engine.fault = POINTS[(i * 5 + len(name)) % len(POINTS)]
        run.feed({stream: table})
    run.check()
    run.check_stated()


@of(DEFINED)
def test_other_parallelism(name: str, tmp_path: Path) -> None:
    """The number of partitions changes at every micro-batch."""
    run = Run(SCRIPTS[name], tmp_path, plan_of(name, "LAP expiry"), partitions=3)
    for i, (stream, table) in enumerate(run.written()):
        run.engine.restart([3, 1, 4, 2][i % 4])
        run.feed({stream: table})
    run.check()


def plan_of(name: str, joined: str) -> Config:
    """Joins by a plan that keeps something of its own, windows by the best."""
    return JOIN_PLANS[joined] if name in JOINS else BEST


def rows_of(run: Run) -> list[tuple[str, pa.Table]]:
    """Every row as a micro-batch."""
    return [(s, t.slice(i, 1)) for s, t in run.written() for i in range(t.num_rows)]
