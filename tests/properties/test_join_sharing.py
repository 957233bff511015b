"""Several join queries over the same streams, created and planned anew at different times, share sides and give what each alone would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from uuid import uuid4

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hs
from test_joins import EVALUATIONS, Forced

from thalweg.errors import DataError
from thalweg.model.query import Query
from thalweg.model.settings import Config
from thalweg.optimizer.join_plans import JoinChoice
from thalweg.optimizer.planner import planner_for, worth_replanning
from thalweg.optimizer.workload import build
from thalweg.plan.graph import united
from thalweg.state.history import write_base
from thalweg.state.manifest import Manifest, Seen
from thalweg.testing.bound import bind_statements
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalEngine
from thalweg.testing.reference_joins import reference_join

SECOND = 1_000_000
COLUMNS = "k BIGINT, j BIGINT, g BIGINT, x BIGINT, at TIMESTAMP"
STREAM = f"CREATE STREAM {{n}} ({COLUMNS}) WITH (format='parquet', path='{{d}}/{{n}}', time='at', watermark='1 second', on_bad_file='stop');"
FOUR = "a [RANGE 4 SECONDS], b [RANGE 4 SECONDS] WHERE a.k = b.k"


def grouped(name: str, what: str, source: str = FOUR, every: int = 1) -> str:
    return f"CREATE QUERY {name} AS SELECT a.g, {what} FROM {source} GROUP BY a.g EVERY {every} SECONDS;"


@dataclass(frozen=True)
class Each(Forced):
    """A plan of its own for every query: which inputs are aggregated early, and the evaluation."""

    plans: tuple[tuple[str, tuple[int, str]], ...] = ()

    def together(self, queries: Sequence[Query]) -> float:
        """Each has a join of its own."""
        return float("inf")

    def join(self, query: Query) -> JoinChoice:
        bits, evaluate = dict(self.plans)[query.name]
        return Forced(Config(), bits=bits, evaluate=evaluate).join(query)


class Workload:
    """An engine without Spark over streams a, b and c, of which some queries are live."""

    def __init__(
        self, root: Path, queries: str, planner: Forced, partitions: int = 2, exchange: str = "always"
    ) -> None:
        self.root = root
        self.bound = bind_statements("".join(STREAM.format(n=n, d=root) for n in "abc") + queries)
        streams, queries_ = tuple(self.bound.streams.values()), tuple(self.bound.queries.values())
        self.engine = LocalEngine(root / "run", streams, queries_, planner, partitions, exchange=exchange)
        self.batches: list[dict[str, pa.Table]] = []
        self.begins: dict[str, dict[str, int]] = {}

    def live(self, *names: str) -> None:
        """Have just these queries from the next batch on; new ones begin after all rows seen."""
        before = {q.name for q in self.engine.queries}
        tops = self.engine.runner.manifest.tops
        self.begins |= {
            n: {s: t + 1 for s, t in tops.items() if t is not None} for n in names if n not in before
        }
        self.engine.queries = tuple(self.bound.queries[n] for n in names)
        self.engine.changed()

    def feed(self, batch: dict[str, pa.Table]) -> None:
        self.batches.append(batch)
        self.engine.batch(
            [(n, str(write_batches(self.root / n, self.bound.streams[n], [t])[0])) for n, t in batch.items()]
        )

    def check(self) -> None:
        for query in self.engine.queries:
            assert isinstance(query, Query)
            expected = reference_join(
                query, self.bound.streams, self.batches, {}, begin=self.begins.get(query.name)
            )
            if expected.num_rows or Path(self.engine.output(query.name)).exists():
                compare(self.engine.results(query), expected, 1e-6, 1e-6)


def rows(random: Random, second: float, count: int, keys: int = 4, span: float = 1.0) -> pa.Table:
    times = [int((second + random.random() * span) * SECOND) for _ in range(count)]
    values = {
        c: pa.array([random.randrange(n) for _ in range(count)], pa.int64())
        for c, n in (("k", keys), ("j", keys), ("g", 3), ("x", 10))
    }
    return pa.table({**values, "at": pa.array(times, pa.timestamp("us"))})


@pytest.mark.parametrize("evaluate", EVALUATIONS)
@pytest.mark.parametrize("bits", [0, 3])
def test_a_query_that_asks_more_of_a_side(tmp_path: Path, bits: int, evaluate: str) -> None:
    """Rows that were kept before it came lack what it asks for, and it must not ask it of them."""
    random, queries = (
        Random(1),
        grouped("q0", "COUNT(*) AS n, SUM(a.x) AS s") + grouped("q1", "MAX(a.x) AS m"),
    )
    workload = Workload(tmp_path, queries, Forced(Config(), bits=bits, evaluate=evaluate))
    workload.live("q0")
    workload.feed({"a": rows(random, 0, 60, span=10.0), "b": rows(random, 0, 10)})
    workload.live("q0", "q1")
    for batch in ({"b": 3}, {"a": 10, "b": 10}, {"a": 20, "b": 20}, {"a": 30, "b": 30}):
        workload.feed({n: rows(random, second, 10) for n, second in batch.items()})
    workload.check()


def test_one_takes_over_a_side_that_another_begins(tmp_path: Path) -> None:
    random, queries = Random(1), grouped("q0", "COUNT(*) AS n") + grouped("q1", "SUM(b.x) AS n")
    workload = Workload(
        tmp_path, queries, Each(Config(), plans=(("q0", (2, "snapshot")), ("q1", (0, "snapshot"))))
    )
    for i in range(12):
        if i == 6:
            workload.engine.replan(Each(Config(), plans=(("q0", (1, "snapshot")), ("q1", (1, "snapshot")))))
        workload.feed({n: rows(random, i, 10) for n in "ab"})
    workload.check()


@pytest.mark.parametrize("evaluate", ["expiry", "delta", "wide", "stairs", "materialize"])
def test_plans_that_never_give_out_an_instant(tmp_path: Path, evaluate: str) -> None:
    """Planned anew again and again before the next instant, no plan counts twice."""
    source = "a [RANGE 20 SECONDS], b [RANGE 20 SECONDS] WHERE a.k = b.k"
    calls = "MAX(b.x) AS s" if evaluate == "stairs" else "COUNT(*) AS n, SUM(b.x) AS s"
    random, queries = Random(1), grouped("q", calls, source, every=10)
    workload = Workload(tmp_path, queries, Forced(Config(), bits=3, evaluate=evaluate))
    for i in range(60):
        if i in (21, 22, 23):
            workload.engine.replan(Forced(Config(), bits=3 * (i == 22), evaluate=evaluate))
        workload.feed({n: rows(random, i, 4) for n in "ab"})
        assert len({j.id for j in workload.engine.runner.plan.joins}) == len(
            workload.engine.runner.plan.joins
        )
    workload.check()


def test_a_batch_that_failed_forgets_no_query(tmp_path: Path) -> None:
    random, queries = Random(1), grouped("q0", "COUNT(*) AS n") + grouped("q1", "MAX(a.x) AS m")
    workload = Workload(tmp_path, queries, Forced(Config()))
    workload.live("q0")
    workload.feed({n: rows(random, 0, 10) for n in "ab"})
    workload.live("q0", "q1")
    bad = tmp_path / "a" / "bad.parquet"
    bad.write_bytes(b"nothing of the kind")
    with pytest.raises(DataError):
        workload.engine.batch([("a", str(bad))])
    for i in range(1, 8):
        workload.feed({n: rows(random, i, 10) for n in "ab"})
    assert {q.name for q in workload.engine.runner.plan.queries} == {"q0", "q1"}
    workload.check()


@pytest.mark.parametrize("evaluate", ["snapshot", "expiry", "delta", "wide", "stairs"])
def test_an_aggregation_set_without_end_stays_small(tmp_path: Path, evaluate: str) -> None:
    """Slots that every later instant has are one: rows by distinct columns, not by time."""
    source = "a [UNBOUNDED], b [RANGE 2 SECONDS] WHERE a.k = b.k"
    calls = "MIN(a.x) AS s" if evaluate == "stairs" else "COUNT(*) AS n, SUM(a.x) AS s"
    random, queries = Random(1), grouped("q", calls, source)
    workload = Workload(tmp_path, queries, Forced(Config(), bits=3, evaluate=evaluate), partitions=1)
    for i in range(60):
        workload.feed({n: rows(random, i, 20) for n in "ab"})
    side = next(s.id for s in workload.engine.runner.plan.fragments if s.source == "a")
    kept = sum(f.rows for f in workload.engine.runner.manifest.files if f.fragment == side)
    assert kept < 20 * 4 * 3, "60 slots of up to 12 sets would be 700"
    workload.check()


DECLARED = (
    "CREATE STREAM {n} (k BIGINT, g BIGINT, at TIMESTAMP) WITH ({given}, rate={r}, distinct='k: {k}, g: 10');"
)
MINUTE = "SELECT {0}.g, COUNT(*) AS n FROM {0} [RANGE 1 MINUTE], {1} [RANGE 1 MINUTE] WHERE {0}.k = {1}.k GROUP BY {0}.g EVERY 1 SECOND;"


def test_a_small_join_is_planned_anew_beside_a_large_one() -> None:
    rates = {"a": (200_000, 500_000), "b": (200_000, 500_000), "c": (500, 100), "d": (500, 100)}
    text = "".join(
        DECLARED.format(n=n, r=r, k=k, given="format='parquet', path='none', time='at'")
        for n, (r, k) in rates.items()
    )
    bound = bind_statements(
        f"{text} CREATE QUERY big AS {MINUTE.format('a', 'b')} CREATE QUERY small AS {MINUTE.format('c', 'd')}"
    )
    streams, asked = tuple(bound.streams.values()), tuple(bound.queries.values())
    seen = Seen(streams={s.name: (float(s.rate or 0), 1e6) for s in streams})
    planner = planner_for(Config(), Manifest(seen=seen), streams)
    best = build(streams, asked, planner)
    late = build(
        streams, asked, replace(planner, config=Config(early_aggregation="LAP", evaluate="snapshot"))
    )
    emissions = (*best.given_to("big"), *late.given_to("small"))
    mixed = united((*best.nodes, *late.nodes), (*best.joins, *late.joins), emissions)
    assert worth_replanning(replace(mixed, streams=streams, queries=asked), best, planner.known) == {"small"}


def cut_by_another_hash(engine: LocalEngine) -> None:
    """Make the session directory one whose files were cut by the hash of another DuckDB."""
    store, other = (
        engine.runner.ledger.manifests,
        replace(engine.runner.manifest, hash="another", digest=uuid4().hex),
    )
    for name in store.list():
        store.delete(name)
    write_base(store, other)


SOURCES = (
    "a [{0}], b [{1}] WHERE a.k = b.k",
    "a [{0}], a AS b [{1}] WHERE a.k = b.k",
    "a [{0}], b [{1}], c [{2}] WHERE a.k = b.k AND b.j = c.j",
    "a [{0}], b [{1}] WHERE a.x < b.x",
)
ASKED = (
    "COUNT(*) AS n",
    "SUM(a.x) AS s, COUNT(*) AS n",
    "MAX(a.x) AS m, COUNT(DISTINCT a.j) AS d",
    "SUM(b.x) AS t, MIN(a.x) AS l",
)
windows = hs.sampled_from(["RANGE 1 SECOND", "RANGE 3 SECONDS", "RANGE 6 SECONDS", "UNBOUNDED"])
plans = hs.tuples(hs.integers(0, 7), hs.sampled_from(EVALUATIONS))


@given(
    data=hs.data(),
    seed=hs.integers(0, 10**6),
    source=hs.sampled_from(SOURCES),
    lengths=hs.tuples(windows, windows, windows),
)
def test_whatever_changes(
    data: hs.DataObject,
    seed: int,
    source: str,
    lengths: tuple[str, str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Queries come in mid-stream, each is planned anew, hash ranges and the hash itself change, and the process ends, in any order."""
    draw, random = data.draw, Random(seed)
    names, asked = ("q0", "q1", "q2"), draw(hs.tuples(*[hs.sampled_from(ASKED)] * 3))
    every = draw(hs.sampled_from([1, 2, 3]))
    queries = "".join(
        grouped(n, what, source.format(*lengths), every) for n, what in zip(names, asked, strict=True)
    )

    def planner() -> Each:
        return Each(Config(), plans=tuple((n, draw(plans)) for n in names))

    exchange = draw(hs.sampled_from(["always", "best"]))
    workload = Workload(
        tmp_path_factory.mktemp("joins"), queries, planner(), draw(hs.sampled_from([1, 2, 4])), exchange
    )
    workload.live("q0")
    second = 0.0
    for _ in range(draw(hs.integers(4, 9))):
        change = draw(hs.sampled_from(["", "", "create", "replan", "replan", "cut", "hash", "restart"]))
        engine, live = workload.engine, [q.name for q in workload.engine.queries]
        if change == "create" and len(live) < len(names):
            workload.live(*draw(hs.permutations([*live, names[len(live)]])))
        elif change == "replan":
            engine.replan(planner())
        elif change == "cut":
            engine.restart(draw(hs.sampled_from([1, 2, 3, 4, 6])))
        elif change == "hash" and engine.runner.manifest.batch >= 0:
            cut_by_another_hash(engine)
            engine.restart()
        elif change == "restart":
            engine.restart()
        second += draw(hs.sampled_from([0.5, 1, 2, 5]))
        workload.feed({n: rows(random, second, random.randrange(9), 3, 1.5) for n in "abc"})
    workload.feed({n: rows(random, second + 20, 1, 3, 0.1) for n in "abc"})
    workload.check()
