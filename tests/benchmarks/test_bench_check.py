"""Whether engines agree, on results written by hand from the definition."""

from pathlib import Path

import duckdb
import pytest
from benchmarks.check import compare
from benchmarks.data import Feed, files
from benchmarks.engines import duckdb_alone
from benchmarks.spec import Run, window_id

from thalweg.model.windows import SECOND, Window

FEED = Feed(10_000, keys=5)
WINDOWS = (Window(4 * SECOND, 4 * SECOND), Window(10 * SECOND, 5 * SECOND))


def written(
    folder: Path, paths: list[Path], windows=WINDOWS, aggregate: str = "MIN", where: str = "TRUE"
) -> Path:
    """Every instance by a join of rows and instances, which is the definition read aloud."""
    folder.mkdir()
    for i, w in enumerate(windows):
        rows = (
            f"SELECT k, '{window_id(w)}' AS window_id, make_timestamp(i * {w.slide}) AS window_start, "
            f"make_timestamp(i * {w.slide} + {w.range}) AS window_end, {aggregate}(v) AS m "
            f"FROM read_parquet({[str(p) for p in paths]}), "
            f"(SELECT unnest(range(1700000000000000 // {w.slide} - 5, 1700000100000000 // {w.slide})) AS i) "
            f"WHERE epoch_us(ts) >= i * {w.slide} AND epoch_us(ts) < i * {w.slide} + {w.range} GROUP BY i, k"
        )
        duckdb.execute(f"COPY (SELECT * FROM ({rows}) WHERE {where}) TO '{folder}/{i}.parquet'")
    return folder


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    return files(FEED, 3, tmp_path)


@pytest.mark.parametrize("aggregate", ["MIN", "SUM", "COUNT"])
def test_the_definition_by_slots_is_the_definition(tmp_path: Path, paths: list[Path], aggregate: str):
    found = compare({"a": written(tmp_path / "a", paths, aggregate=aggregate)}, paths, WINDOWS, aggregate)
    assert found.holds and found.compared == found.emitted["a"] > 0


def test_windows_that_not_all_have_emitted_are_left_out(tmp_path: Path, paths: list[Path]):
    early = "window_end <= make_timestamp(1700000016000000)"
    both = {"all": written(tmp_path / "a", paths), "slow": written(tmp_path / "b", paths, where=early)}
    found = compare(both, paths, WINDOWS)
    assert found.holds and found.compared == found.emitted["slow"] < found.emitted["all"]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE t SET m = m + 1 WHERE k = 1 AND window_end = (SELECT MIN(window_end) FROM t)",
        "DELETE FROM t WHERE k = 1 AND window_end = (SELECT MIN(window_end) FROM t)",
        "INSERT INTO t SELECT * FROM t WHERE k = 1 AND window_end = (SELECT MIN(window_end) FROM t)",
    ],
)
def test_a_row_with_another_value_missing_or_doubled_is_found(tmp_path: Path, paths: list[Path], change: str):
    folder = written(tmp_path / "a", paths, WINDOWS[:1])
    duckdb.execute(f"CREATE OR REPLACE TABLE t AS FROM '{folder}/0.parquet'")
    duckdb.execute(change)
    duckdb.execute(f"COPY t TO '{folder}/0.parquet'")
    found = compare({"a": folder}, paths, WINDOWS[:1])
    assert not found.holds and found.differing == {"a": 1}


def test_only_some_keys_where_all_are_too_many(tmp_path: Path, paths: list[Path]):
    found = compare({"a": written(tmp_path / "a", paths)}, paths, WINDOWS, keys=2)
    everything = compare({"a": tmp_path / "a"}, paths, WINDOWS)
    assert found.holds and found.compared * 5 == everything.compared * 2


def test_duckdb_alone_on_a_batch_that_cuts_no_window(tmp_path: Path, paths: list[Path]):
    run = Run(
        "duckdb_alone",
        str(tmp_path),
        WINDOWS[:1],
        batch_files=3,
        file_events=FEED.file_events,
        warmup=0,
        measured=1,
    )
    (tmp_path / "in").mkdir()
    for path in paths:
        (tmp_path / "in" / path.name).hardlink_to(path)
    assert [b.number for b in duckdb_alone.execute(run)] == [0]
    assert compare({"duckdb": tmp_path / "out"}, paths, WINDOWS[:1]).holds
