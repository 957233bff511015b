"""Every `.stream` script on the engine: as written, whole, row by row, aborted, restarted, at other parallelism, in every mode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from thalweg.config import Config
from thalweg.engine.faults import Aborted
from thalweg.planning import planner_for
from thalweg.testing.bound import bind_text
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import batch_table, expect_table, write_batches
from thalweg.testing.local import LocalEngine
from thalweg.testing.reference import reference
from thalweg.testing.script import Abort, Batch, Restart, Script, read_script

SCRIPTS = [read_script(p) for p in sorted(Path(__file__).parent.glob("*.stream"))]
MODES = ("naive", "shared", "paper", "best")
by_name = pytest.mark.parametrize("script", SCRIPTS, ids=[Path(s.origin).stem for s in SCRIPTS])


def engine_for(script: Script, root: Path, mode: str = "best", partitions: int = 2) -> LocalEngine:
    bound = bind_text(script.sql, script.origin)
    streams = tuple(replace(s, path=str(root / "in" / s.name)) for s in bound.streams.values())
    return LocalEngine(root / "run", streams, tuple(bound.queries.values()), planner_for(Config(windows=mode), None), partitions)


def feed(engine: LocalEngine, root: Path, stream: str, table: pa.Table) -> None:
    """One micro-batch, again and again until it is through, as after a crash."""
    declared = next(s for s in engine.streams if s.name == stream)
    (path,) = write_batches(root / "in" / stream, declared, [table])
    try:
        engine.batch([(stream, str(path))])
    except Aborted:
        engine.fault = None
        engine.restart()
        engine.batch([(stream, str(path))])
    engine.fault = None


def check(engine: LocalEngine, fed: dict[str, list[pa.Table]]) -> None:
    for query in engine.queries:
        stream = next(s for s in engine.streams if s.name == query.stream)
        compare(engine.results(query), reference(query, stream, fed.get(query.stream, [])))


@by_name
@pytest.mark.parametrize("mode", MODES)
def test_as_written(script: Script, mode: str, tmp_path: Path) -> None:
    engine = engine_for(script, tmp_path, mode)
    tables = {s.name: s for s in engine.streams}
    for step in script.steps:
        match step:
            case Batch(stream):
                feed(engine, tmp_path, stream, batch_table(step, tables[stream], script.origin))
            case Restart():
                engine.restart()
            case Abort(point):
                engine.fault = point
    for expect in script.expects:
        query = next(q for q in engine.queries if q.name == expect.query)
        compare(engine.results(query), expect_table(expect, query, script.origin))


def splits(script: Script, engine: LocalEngine, how: str) -> list[tuple[str, pa.Table]]:
    """The script's rows cut anew."""
    written = [
        (b.stream, batch_table(b, next(s for s in engine.streams if s.name == b.stream))) for b in script.steps if isinstance(b, Batch)
    ]
    if how == "rows":
        return [(s, t.slice(i, 1)) for s, t in written for i in range(t.num_rows)]
    whole: dict[str, list[pa.Table]] = {}
    for stream, table in written:
        whole.setdefault(stream, []).append(table)
    return [(s, pa.concat_tables(ts)) for s, ts in whole.items()]


@by_name
@pytest.mark.parametrize("how", ["whole", "rows"])
def test_other_splits(script: Script, how: str, tmp_path: Path) -> None:
    engine = engine_for(script, tmp_path)
    check_run(engine, tmp_path, splits(script, engine, how), [2])


@by_name
def test_other_parallelism(script: Script, tmp_path: Path) -> None:
    engine = engine_for(script, tmp_path, partitions=3)
    check_run(engine, tmp_path, splits(script, engine, "rows"), [3, 1, 4, 2])


def check_run(engine: LocalEngine, root: Path, batches: Sequence[tuple[str, pa.Table]], partitions: list[int]) -> None:
    fed: dict[str, list[pa.Table]] = {}
    for i, (stream, table) in enumerate(batches):
        if len(partitions) > 1:
            engine.restart(partitions[i % len(partitions)])
        feed(engine, root, stream, table)
        fed.setdefault(stream, []).append(table)
    check(engine, fed)
