"""Files as Spark finds them: odd names, folders in folders, files without a byte, and what its log says of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import bad_rows, session_on

from thalweg import DataError, Session
from thalweg.errors import StateError
from thalweg.state.manifest import SetAside

NAMES = ("part[1]", "part1", "a*b", "axb", "{a,b}", "back\\slash", "\\[a]", "[", "10:00#%20", "q?r", "plain")


def write(path: Path, value: int, second: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"v": [value], "at": pa.array([second * 1_000_000], pa.timestamp("us"))}), path)


def declared(name: str, path: Path, more: str = "") -> str:
    quoted = str(path).replace("\\", "\\\\")
    return (
        f"CREATE STREAM `{name}` (v BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{quoted}', time = 'at'{more});"
        f"CREATE QUERY `q_{name}` AS SELECT SUM(v) AS total, COUNT(*) AS n FROM `{name}` GROUP BY TUMBLE '1 second';"
    )


def total(session: Session, query: str = "q_s") -> list[dict[str, int]]:
    return sorted(session.handle(query).results().to_pylist(), key=str)


def test_odd_names_of_files_and_folders(spark: Any, tmp_path: Path) -> None:
    """Every file once, whatever its name would match as a pattern, and from the folder that was declared."""
    folders = ("x[1]", "x1", "{a,b}", "a", "a*b", "back\\slash")
    for number, folder in enumerate(folders):
        for i, name in enumerate(NAMES):
            write(tmp_path / folder / f"{name}.parquet", 100**number * (i + 1))
            write(tmp_path / folder / f"{name} later.parquet", 0, second=5)
    streams = {f"s{i}": folder for i, folder in enumerate(folders)}
    session = session_on(
        spark, tmp_path, "".join(declared(name, tmp_path / folder) for name, folder in streams.items())
    )
    session.run_available()
    session.stop()
    whole = sum(range(1, len(NAMES) + 1))
    for i, name in enumerate(streams):
        assert total(session, f"q_{name}") == [{"total": 100**i * whole, "n": len(NAMES)}]


def test_folders_in_folders(spark: Any, tmp_path: Path) -> None:
    for i, folder in enumerate(
        ("", "k=1", "k=2/j=x", "plain/deep", "_hidden", ".hidden", "k=2/_thalweg_staging")
    ):
        write(tmp_path / "in" / folder / "0.parquet", 10**i)
        write(tmp_path / "in" / folder / "1.parquet", 0, second=5)
    session = session_on(spark, tmp_path, declared("s", tmp_path / "in"))
    session.run_available()
    session.stop()
    assert total(session) == [{"total": 1111, "n": 4}]


def test_a_file_without_a_byte(spark: Any, tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / "in" / f"{number}.parquet", 10**number, second=number)
    empty = tmp_path / "in" / "1 [%20].parquet"
    (tmp_path / "in" / "1.parquet").rename(empty)
    empty.write_bytes(b"")
    session = session_on(spark, tmp_path, declared("s", tmp_path / "in", ", on_bad_file = 'stop'"))
    with pytest.raises(DataError, match=r"in/1 \[%20\]\.parquet: can't be read as stream s: it is empty"):
        session.run_available()
    session.stop()
    write(empty, 10, second=1)
    session = session_on(spark, tmp_path, declared("s", tmp_path / "in"))
    session.run_available()
    assert total(session) == [{"total": 1, "n": 1}, {"total": 10, "n": 1}]
    session.stop()
    (tmp_path / "in" / "3.parquet").write_bytes(b"")
    write(tmp_path / "in" / "4.parquet", 0, second=9)
    session = session_on(spark, tmp_path, declared("s", tmp_path / "in"))
    session.run_available()
    session.stop()
    counts, bad = session.latest_manifest(), str(tmp_path / "in" / "3.parquet")
    assert counts.streams["s"].bad_files == 1 and counts.set_aside == (SetAside("s", bad, "it is empty"),)
    assert bad_rows(tmp_path / "run" / "bad" / "s") == [(bad, None, None, None, "it is empty")]
    assert counts.consumed["s"].files == 5


def test_a_log_of_spark_that_lost_files_is_refused(spark: Any, tmp_path: Path) -> None:
    """Truncated, emptied or changed, it would have files read again."""
    for number in range(11):
        write(tmp_path / "in" / f"{number}.parquet", 1, second=number)
    sql = declared("s", tmp_path / "in", ", files_per_batch = 1")
    session = session_on(spark, tmp_path, sql)
    session.run_available()
    session.stop()
    assert session.latest_manifest().consumed["s"].files == 11
    log = tmp_path / "run" / "checkpoint" / "sources" / "s"
    for name in ("9.compact", "10"):
        whole = (log / name).read_text()
        for damaged in (
            "v1\n",
            "",
            "\n".join(whole.splitlines()[:-1]),
            whole[:-5],
            whole.replace("/in/", "/on/", 1),
        ):
            (log / name).write_text(damaged)
            again = session_on(spark, tmp_path, sql)
            with pytest.raises(StateError, match=r"sources/s"):
                again.run_available()
            again.stop()
        (log / name).write_text(whole)
    again = session_on(spark, tmp_path, sql)
    again.run_available()
    again.stop()
    assert again.latest_manifest().streams["s"].rows == 11
