"""The engine equals the definition, for random streams, queries, plans, batch splits, restarts and parallelism."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as hs

from thalweg.config import Config
from thalweg.planning import planner_for
from thalweg.session import _infer
from thalweg.sql.binder import bind
from thalweg.sql.statements import parse_select
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalEngine
from thalweg.testing.reference import late_rows, late_rows_of, reference
from thalweg.testing.strategies import WorkloadCase, workloads

MODES = ("naive", "shared", "paper", "best")


def run_case(case: WorkloadCase, mode: str, restarts: set[int], partitions: list[int]) -> None:
    root = Path(tempfile.mkdtemp())
    try:
        streams = tuple(replace(s, path=str(root / "in" / s.name), format="parquet") for s in case.streams)
        by_name = {s.name: s for s in streams}
        queries = tuple(
            bind(parse_select(text), name=f"q{i}", into=None, streams=by_name, infer=_infer) for i, text in enumerate(case.queries)
        )
        paths = [write_batches(root / "in" / s.name, s, b) for s, b in zip(streams, case.batches, strict=True)]
        engine = LocalEngine(root / "run", streams, queries, planner_for(Config(windows=mode), None), partitions[0])
        for i in range(max(map(len, paths))):
            if i in restarts:
                engine.restart(partitions[i % len(partitions)])
            engine.batch((s.name, str(p[i])) for s, p in zip(streams, paths, strict=True) if i < len(p))
        for query in queries:
            stream = by_name[query.stream]
            batches = case.batches[streams.index(stream)]
            compare(engine.results(query), reference(query, stream, batches), 1e-6, 1e-6)
            assert engine.runner.manifest.queries[query.name].late == late_rows_of(query, stream, batches)
            assert engine.runner.manifest.streams[stream.name].late == late_rows(stream, batches)
    finally:
        shutil.rmtree(root)


@pytest.mark.parametrize("mode", MODES)
@given(case=workloads(), restarts=hs.sets(hs.integers(1, 6)), partitions=hs.lists(hs.integers(1, 3), min_size=1, max_size=3))
def test_engine_equals_definition(mode: str, case: WorkloadCase, restarts: set[int], partitions: list[int]) -> None:
    run_case(case, mode, restarts, partitions)
