"""The engine equals the definition, for random streams, queries, plans, batch splits, restarts and parallelism."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hs

from thalweg.model.settings import Config
from thalweg.model.stream import Column, Stream
from thalweg.optimizer.planner import planner_for
from thalweg.testing.bound import bind_text
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalEngine
from thalweg.testing.reference import late_rows, late_rows_of, reference
from thalweg.testing.strategies import WorkloadCase, workloads

MODES = ("naive", "shared", "paper", "best", "slices")


def check_case(
    case: WorkloadCase,
    mode: str,
    restarts: set[int],
    partitions: list[int],
    switches: dict[int, str],
    exchange: str = "always",
) -> None:
    with ExitStack() as after:
        root = Path(after.enter_context(tempfile.TemporaryDirectory()))
        bound = bind_text(case.sql, directory=root / "in")
        streams, queries = tuple(bound.streams.values()), tuple(bound.queries.values())
        paths = [
            write_batches(root / "in" / s.name, s, b) for s, b in zip(streams, case.batches, strict=True)
        ]
        engine = LocalEngine(
            root / "run",
            streams,
            queries,
            planner_for(Config(windows=mode)),
            partitions[0],
            exchange=exchange,
        )
        after.callback(engine.stop)
        for i in range(max(map(len, paths))):
            if i in restarts:
                engine.restart(partitions[i % len(partitions)])
            if i in switches:
                engine.replan(planner_for(Config(windows=switches[i])))
            engine.batch((s.name, str(p[i])) for s, p in zip(streams, paths, strict=True) if i < len(p))
        for query in queries:
            stream = bound.streams[query.stream]
            batches = case.batches[streams.index(stream)]
            compare(engine.results(query), reference(query, stream, batches), 1e-6, 1e-6)
            assert engine.runner.manifest.queries[query.name].late == late_rows_of(query, stream, batches)
            assert engine.runner.manifest.streams[stream.name].late == late_rows(stream, batches)


steps = hs.sets(hs.integers(1, 6))
parallelism = hs.lists(hs.integers(1, 3), min_size=1, max_size=3)


@pytest.mark.parametrize("mode", MODES)
@given(case=workloads(), restarts=steps, partitions=parallelism, exchange=hs.sampled_from(["always", "best"]))
def test_engine_equals_definition(
    mode: str, case: WorkloadCase, restarts: set[int], partitions: list[int], exchange: str
) -> None:
    check_case(case, mode, restarts, partitions, {}, exchange)


@given(
    case=workloads(),
    restarts=steps,
    partitions=parallelism,
    switches=hs.dictionaries(hs.integers(1, 5), hs.sampled_from(MODES)),
)
def test_plan_switches_change_nothing(
    case: WorkloadCase, restarts: set[int], partitions: list[int], switches: dict[int, str]
) -> None:
    check_case(case, "best", restarts, partitions, switches)


def test_a_switch_does_not_count_parts_twice() -> None:
    """After a switch two fragments of one result may both have a part that only one of them gives."""
    rows = {"v": list(range(12)), "at": pa.array([i * 500_000 for i in range(12)], pa.timestamp("us"))}
    stream = Stream("s0", (Column("v", "BIGINT"), Column("at", "TIMESTAMP")), "at")
    table = pa.table(rows)
    batches = tuple(table.slice(i, 2) for i in range(0, 12, 2))
    mixed = "SELECT window_start, MEDIAN(v) AS m, VAR_SAMP(v) AS s, COUNT(*) AS n, MAX(v) AS h FROM s0 GROUP BY WINDOWS({})"
    queries = (
        mixed.format("TUMBLE '1 second', TUMBLE '2 seconds'"),
        mixed.format("HOP '2 seconds' BY '1 second'"),
    )
    for switches in ({1: "shared", 2: "best", 3: "paper", 4: "naive"}, {2: "naive", 3: "best"}):
        check_case(WorkloadCase((stream,), (batches,), queries), "best", set(), [2], switches)


def test_values_of_rows_stay_in_the_tasks(tmp_path: Path) -> None:
    """A median keeps the values of rows: however few groups there are, they do not come to the driver."""
    stream = Stream("s0", (Column("v", "BIGINT"), Column("at", "TIMESTAMP")), "at")
    table = pa.table({"v": [1, 2], "at": pa.array([0, 1], pa.timestamp("us"))})
    for function, near in (("MEDIAN", False), ("MIN", True)):
        text = f"SELECT {function}(v) AS m FROM s0 GROUP BY TUMBLE '1 second'"
        case, root = WorkloadCase((stream,), ((table, table),), (text,)), tmp_path / function
        bound = bind_text(case.sql, directory=root / "in")
        planner = planner_for(Config())
        engine = LocalEngine(
            root, tuple(bound.streams.values()), tuple(bound.queries.values()), planner, 2, exchange="best"
        )
        for path in write_batches(root / "in" / "s0", stream, [table, table]):
            engine.batch([("s0", str(path))])
        assert {f.parts for f in engine.runner.manifest.files} == ({1} if near else {2})
