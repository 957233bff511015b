"""Two that use one session directory, and what readers do to results: nothing that was committed is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_faults import batches, engine_at

from thalweg.engine.faults import Aborted
from thalweg.errors import StateError
from thalweg.model.query import Query
from thalweg.state import directory as directories
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalEngine
from thalweg.testing.reference import reference


def fed(engine: LocalEngine, root: Path) -> list[list[tuple[str, str]]]:
    """The chunks of six batches."""
    return [[("s", str(path))] for path in write_batches(root / "in" / "s", engine.streams[0], batches())]


def test_who_lost_the_lock_stops_and_deletes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a disk that can't lock directories a deleted lock file lets a second process in."""
    monkeypatch.setattr(directories, "_locked_directory", lambda root: None)
    first, second = engine_at(tmp_path), engine_at(tmp_path)
    chunks = fed(first, tmp_path)
    first.runner.directory.lock()
    first.batch(chunks[0])
    first.batch(chunks[1])
    (tmp_path / "run" / "lock").unlink()
    second.runner.directory.lock()
    second.done = 2
    second.batch(chunks[2])
    before = sorted(p for p in (tmp_path / "run").rglob("*") if p.suffix in (".arrow", ".json", ".parquet"))
    with pytest.raises(StateError, match="another process has taken it") as said:
        first.batch(chunks[2])
    assert said.value.hint and "only one process" in said.value.hint
    assert not set(before) - set((tmp_path / "run").rglob("*"))
    for later in chunks[3:]:
        second.batch(later)
    for query in second.queries:
        assert isinstance(query, Query)
        compare(second.results(query), reference(query, second.streams[0], batches()))


def test_of_two_that_commit_a_batch_one_is_refused(tmp_path: Path) -> None:
    first, second = engine_at(tmp_path), engine_at(tmp_path)
    chunks = fed(first, tmp_path)
    assert second.runner.manifest.batch == -1
    first.batch(chunks[0])
    with pytest.raises(StateError, match="batch 0 was committed by another process"):
        second.batch(chunks[0])
    for later in chunks[1:]:
        first.batch(later)
    for query in first.queries:
        assert isinstance(query, Query)
        compare(first.results(query), reference(query, first.streams[0], batches()))


@pytest.mark.parametrize("point", ["driver:during-publish", "driver:after-publish"])
def test_results_of_the_last_batch_may_be_taken(tmp_path: Path, point: str) -> None:
    engine = engine_at(tmp_path)
    chunks = fed(engine, tmp_path)
    for early in chunks[:3]:
        engine.batch(early)
    engine.fault = point
    with pytest.raises(Aborted):
        engine.batch(chunks[3])
    shown = sorted((tmp_path / "run" / "results").glob("*/batch-000000000003-*.parquet"))
    assert shown
    for path in shown:
        path.rename(tmp_path / path.name)
    engine.fault = None
    engine.restart()
    engine.batch(chunks[3])
    assert not [p for p in shown if p.exists()], "what a reader has taken is not shown again"
    for path in shown:
        (tmp_path / path.name).rename(path)
    engine.batch(chunks[4])
    engine.batch(chunks[5])
    for query in engine.queries:
        assert isinstance(query, Query)
        compare(engine.results(query), reference(query, engine.streams[0], batches()))
