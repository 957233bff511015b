"""Every plan of a join gives what the definition gives, for random queries, data, batch splits, restarts and parallelism."""

from __future__ import annotations

import math
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as hs

from thalweg.api.results import result_files
from thalweg.compile.evaluations import EVALUATIONS as ALL
from thalweg.model.query import Query
from thalweg.model.settings import Config
from thalweg.model.stream import Column, Stream
from thalweg.optimizer.join_plans import JoinChoice, may_evaluate
from thalweg.optimizer.planner import WindowPlanner
from thalweg.plan.join_order import Meeting, Order
from thalweg.testing.bound import bind_statements
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches
from thalweg.testing.join_sources import JoinCase, JoinSources
from thalweg.testing.join_texts import joins
from thalweg.testing.local import LocalEngine
from thalweg.testing.reference_joins import late_rows_of_join, reference_join

EVALUATIONS = ("snapshot", "expiry", "delta", "wide", "stairs", "materialize")


@dataclass(frozen=True)
class Forced(WindowPlanner):
    """A planner that takes the plan it is told: bits say which inputs are aggregated early, and they meet in an order drawn by a seed, or
    as they are written."""

    bits: int = 0
    evaluate: str = "snapshot"
    method: str = "hash"
    invalidate: str = "slot"
    seed: int | None = None

    def join(self, query: Query) -> JoinChoice:
        """The forced plan, or a snapshot where it can't be evaluated in that way."""
        early = tuple(bool(self.bits >> n & 1) and not query.attached for n in range(len(query.inputs)))
        serves = ALL[self.evaluate].serves(query) and may_evaluate(query, self.evaluate, early)
        evaluate = self.evaluate if serves else "snapshot"
        return JoinChoice(
            early,
            evaluate,
            self.method,
            self.invalidate,
            () if self.seed is None else drawn_order(query, self.seed),
        )


def drawn_order(query: Query, seed: int) -> Order:
    """Any order, for every input with new rows another."""
    random, inputs = Random(seed), range(len(query.inputs))
    return tuple(Meeting(n, tuple(random.sample(inputs, len(inputs)))) for n in (None, *inputs))


STRATEGIES = ("slot", "slot", "probe", "probe-and-insert", "probe-all", "both-all")
planners = hs.builds(
    Forced,
    config=hs.just(Config()),
    bits=hs.integers(0, 15),
    evaluate=hs.sampled_from(EVALUATIONS),
    method=hs.sampled_from(["hash", "hash", "loop"]),
    invalidate=hs.sampled_from(STRATEGIES),
    seed=hs.none() | hs.integers(0, 99),
)
steps = hs.sets(hs.integers(1, 6))
parallelism = hs.lists(hs.sampled_from([1, 2, 3, 4, 6, 7]), min_size=1, max_size=3)


def check_case(
    case: JoinCase,
    planner: Forced,
    restarts: set[int],
    partitions: list[int],
    switches: dict[int, Forced],
    exchange: str = "always",
) -> None:
    with ExitStack() as after:
        root = Path(after.enter_context(tempfile.TemporaryDirectory()))
        bound = bind_statements(case.sql(root / "in"))
        for name, rows in case.relations.items():
            (root / "in").mkdir(exist_ok=True)
            pq.write_table(rows, root / "in" / f"{name}.parquet")
        queries, relations = tuple(bound.queries.values()), tuple(bound.relations.values())
        streams = tuple(bound.streams.values())
        engine = LocalEngine(
            root / "run", streams, queries, planner, partitions[0], relations=relations, exchange=exchange
        )
        after.callback(engine.stop)
        for i, batch in enumerate(case.batches):
            if i in restarts:
                engine.restart(partitions[i % len(partitions)])
            if i in switches:
                engine.replan(switches[i])
            engine.batch(
                [(n, str(write_batches(root / "in" / n, bound.streams[n], [t])[0])) for n, t in batch.items()]
            )
        for query in queries:
            assert isinstance(query, Query)
            expected = reference_join(query, bound.streams, case.batches, case.relations)
            compare(engine.results(query), expected, 1e-6, 1e-6)
            assert engine.runner.manifest.queries[query.name].late == late_rows_of_join(
                query, bound.streams, case.batches
            )


@given(
    case=joins(),
    planner=planners,
    restarts=steps,
    partitions=parallelism,
    exchange=hs.sampled_from(["always", "best"]),
)
def test_every_plan_equals_definition(
    case: JoinCase, planner: Forced, restarts: set[int], partitions: list[int], exchange: str
) -> None:
    check_case(case, planner, restarts, partitions, {}, exchange)


@given(
    case=joins(aggregate=True),
    planner=planners,
    partitions=parallelism,
    switches=hs.dictionaries(hs.integers(1, 5), planners),
)
def test_switches_change_nothing(
    case: JoinCase, planner: Forced, partitions: list[int], switches: dict[int, Forced]
) -> None:
    check_case(case, planner, set(), partitions, switches)


incremental = hs.builds(
    Forced,
    config=hs.just(Config()),
    bits=hs.just(15),
    evaluate=hs.sampled_from(["wide", "wide", "delta"]),
    method=hs.sampled_from(["hash", "hash", "loop"]),
    seed=hs.none() | hs.integers(0, 99),
)


@given(
    case=joins(aggregate=True, only="invertible"),
    planner=incremental,
    restarts=steps,
    partitions=parallelism,
    switches=hs.dictionaries(hs.integers(1, 5), incremental | planners, max_size=2),
)
def test_what_enters_and_leaves_windows_adds_up(
    case: JoinCase,
    planner: Forced,
    restarts: set[int],
    partitions: list[int],
    switches: dict[int, Forced],
) -> None:
    check_case(case, planner, restarts, partitions, switches)


stairs = hs.builds(
    Forced,
    config=hs.just(Config()),
    bits=hs.just(15),
    evaluate=hs.just("stairs"),
    seed=hs.none() | hs.integers(0, 99),
)


@given(
    case=joins(aggregate=True, only="ordered"),
    planner=stairs,
    restarts=steps,
    partitions=parallelism,
    switches=hs.dictionaries(hs.integers(1, 5), stairs | planners, max_size=2),
)
def test_what_later_rows_beat_is_not_missed(
    case: JoinCase,
    planner: Forced,
    restarts: set[int],
    partitions: list[int],
    switches: dict[int, Forced],
) -> None:
    check_case(case, planner, restarts, partitions, switches)


def test_the_spread_of_one_nan_met_twice_is_nan() -> None:
    """A row that counts as often as its partner has rows is not a single row."""
    columns = (Column("k", "BIGINT"), Column("d", "DOUBLE"), Column("at", "TIMESTAMP"))
    streams = tuple(Stream(f"s{n}", columns, "at") for n in range(2))
    times = pa.array([0, 5_000_000], pa.timestamp("us"))
    rows = pa.table({"k": [1, 1], "d": [math.nan, 1.0], "at": times})
    twice = pa.concat_tables([rows, rows])
    text = "SELECT VAR_SAMP(a.d) AS v, VAR_POP(b.d) AS w FROM s0 AS a [TUMBLE 1 SECOND], s1 AS b [TUMBLE 1 SECOND] WHERE a.k = b.k"
    case = JoinCase(JoinSources(streams, None, 1_000_000, 0), {}, ({"s0": rows, "s1": twice},), (text,))
    for bits in range(4):
        check_case(case, Forced(Config(), bits=bits), set(), [2], {})


def test_another_query_under_the_same_name_remembers_nothing(tmp_path: Path) -> None:
    """EMIT CHANGES compares with the groups of this query, not with those of one that was dropped."""
    columns = (Column("k", "BIGINT"), Column("d", "DOUBLE"), Column("at", "TIMESTAMP"))
    sources = JoinSources((Stream("s0", columns, "at"),), None, 1_000_000, 0)
    texts = [
        f"SELECT {key} COUNT(*) AS n FROM s0 AS a [RANGE 2 SECONDS]{by} EVERY 1 SECOND EMIT CHANGES"
        for key, by in KEYED
    ]
    bound = [bind_statements(JoinCase(sources, {}, (), (text,)).sql(tmp_path / "in")) for text in texts]
    stream, engine = (
        bound[0].streams["s0"],
        LocalEngine(tmp_path / "run", tuple(bound[0].streams.values()), (), Forced(Config())),
    )
    for i in range(12):
        engine.queries = tuple(bound[i >= 4].queries.values())
        engine.changed()
        rows = pa.table({"k": [i], "d": [0.5], "at": pa.array([i * 1_000_000], pa.timestamp("us"))})
        engine.batch([("s0", str(write_batches(tmp_path / "in" / "s0", stream, [rows])[0]))])
    shown = [
        r for f in result_files(engine.output("q0")) for r in pq.read_table(f).to_pylist() if "k" not in r
    ]
    assert shown and not any(r["deleted"] for r in shown)


KEYED = (("a.k,", " GROUP BY a.k"), ("", ""))
