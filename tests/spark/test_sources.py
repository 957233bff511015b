"""What every source must do, on real Spark: a kind of source is added to SOURCES, and to nothing else here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg import Session
from thalweg.api.sources import Given, source_of
from thalweg.connectors.base import CHUNK_DDL, Source
from thalweg.connectors.reading.naming import local_path
from thalweg.connectors.source_log import consumed, entries, offsets_of
from thalweg.engine.kernel.buckets import unpack
from thalweg.engine.spark import own_session
from thalweg.state.manifest import Consumed

TABLES = [
    pa.table({"v": [2 * i, 2 * i + 1], "at": pa.array([i * 1_000_000] * 2, pa.timestamp("us", "UTC"))})
    for i in range(3)
]
ALL = [0, 1, 2, 3, 4, 5]


def _directory(root: Path) -> Path:
    (root / "in" / "k=1").mkdir(parents=True)
    for i, table in enumerate(TABLES):
        pq.write_table(table, root / "in" / ("k=1" if i else "") / f"part[{i}].parquet")
    return root / "in"


def files(spark: Any, root: Path) -> Any:
    return str(_directory(root))


def frame(spark: Any, root: Path) -> Any:
    return (
        spark.readStream.schema("v long, at timestamp")
        .option("recursiveFileLookup", "true")
        .parquet(str(_directory(root)))
    )


def tables(spark: Any, root: Path) -> Any:
    return iter(TABLES)


SOURCES: list[Callable[[Any, Path], Any]] = [files, frame, tables]


@pytest.fixture(params=SOURCES, ids=lambda made: made.__name__)
def source(request: pytest.FixtureRequest, spark: Any, tmp_path: Path) -> Source:
    given = Given(
        "s", request.param(spark, tmp_path), "v BIGINT, at TIMESTAMP", {"time": "at"}, tmp_path / "inbox"
    )
    return source_of(given)


def run(
    spark: Any, source: Source, root: Path, fails: bool = False
) -> list[list[tuple[str, str | None, bytes | None]]]:
    """The chunks of the batches that there are, read from a checkpoint on."""
    found: list[list[tuple[str, str | None, bytes | None]]] = []

    def batch(chunks: Any, number: int) -> None:
        assert chunks.schema.simpleString() == f"struct<{CHUNK_DDL.replace(', ', ',').replace(' ', ':')}>"
        found.append([tuple(row) for row in chunks.collect()])
        if fails:
            raise ValueError("not committed")

    query = (
        source.chunks(own_session(spark))
        .writeStream.foreachBatch(batch)
        .option("checkpointLocation", str(root / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    if fails:
        with pytest.raises(Exception, match="not committed"):
            query.awaitTermination()
    else:
        query.awaitTermination()
    return found


def rows(chunks: list[tuple[str, str | None, bytes | None]]) -> list[int]:
    """The rows of chunks, of which each has just one of a file and packed rows."""
    assert all(name == "s" and (path is None) != (data is None) for name, path, data in chunks)
    read = [pq.ParquetFile(local_path(path)).read() for _, path, _ in chunks if path is not None]
    packed = [unpack(pa.scalar(bytes(data), pa.binary())) for _, _, data in chunks if data is not None]
    return sorted(v for table in (*read, *packed) for v in table.column("v").to_pylist())


def test_chunks_are_all_rows_once_and_the_same_for_the_same_batch(
    spark: Any, source: Source, tmp_path: Path
) -> None:
    source.check(is_new=True)
    source.begin(whole=True)
    assert source.stream.name == "s" and source.error is None
    first = run(spark, source, tmp_path, fails=True)
    again = run(spark, source, tmp_path)
    assert rows(first[0]) == rows(again[0])
    assert sorted(v for batch in again for v in rows(batch)) == ALL
    assert [v for batch in run(spark, source, tmp_path) for v in rows(batch)] == []


def test_what_was_taken_is_given_again_or_not_at_all(spark: Any, source: Source, tmp_path: Path) -> None:
    source.begin(whole=True)
    taken = run(spark, source, tmp_path)
    checkpoint = tmp_path / "checkpoint"
    last = max(offsets_of(checkpoint, len(taken) - 1).values(), default=-1)
    known = (
        consumed(Consumed(), last, entries(checkpoint / "sources" / "s", 0, last))
        if last >= 0
        else Consumed()
    )
    given = source.again(checkpoint, known)
    paths = [local_path(path) for batch in taken for _, path, _ in batch if path is not None]
    assert given is None if not paths else sorted(given or ()) == sorted(paths)
    assert source.again(checkpoint, Consumed()) in ((), None)


def test_a_source_is_checked_without_spark(monkeypatch: pytest.MonkeyPatch, source: Source) -> None:
    """Also where there is nothing to read yet."""
    monkeypatch.setattr(duckdb, "connect", partial(pytest.fail, "no database is needed"))
    source.check(is_new=True)
    source.check(is_new=False)


def _never() -> Iterator[Any]:
    yield from ()


def test_a_source_that_has_nothing_gives_nothing(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for given in (str(tmp_path / "empty"), _never()):
        made = source_of(Given("s", given, "v BIGINT, at TIMESTAMP", {"time": "at"}, tmp_path / "inbox"))
        made.check(is_new=True)
        made.begin(whole=True)
        assert [v for batch in run(spark, made, tmp_path / type(given).__name__) for v in rows(batch)] == []


def test_computed_columns_of_any_source_and_the_time_of_reading(spark: Any, tmp_path: Path) -> None:
    """Sessions by times that are computed of numbers of tables and of a DataFrame, and one moment for what is read together."""
    table = pa.table({"k": [1, 2, 1, 1], "ms": [0, 1_500, 4_000, 60_000]})
    (tmp_path / "f").mkdir()
    pq.write_table(table, tmp_path / "f" / "a.parquet")
    frame = spark.readStream.schema("k long, ms long").parquet(str(tmp_path / "f"))
    with Session(tmp_path / "run", spark=spark) as session:
        session.stream("frame", frame, time="at", computed="at AS TIMESTAMP_MILLIS(ms)")
        session.stream(
            "tables", [table], columns="k BIGINT, ms BIGINT, at AS TIMESTAMP_MILLIS(ms)", time="at"
        )
        files = f"format = 'parquet', path = '{tmp_path}/f', time = 'read_at'"
        session.sql(f"CREATE STREAM files (k BIGINT, read_at AS now()) WITH ({files})")
        visits = [
            session.query(f"SELECT k, COUNT(*) AS n, window_end FROM {name} GROUP BY k, SESSION '5 seconds'")
            for name in ("frame", "tables")
        ]
        read = session.query("SELECT k, read_at FROM files")
        session.run_available()
        for query in visits:
            found = sorted((r["k"], r["n"], r["window_end"].second) for r in query.results().to_pylist())
            assert found == [(1, 2, 9), (2, 1, 6)]
        assert read.results().num_rows == 4
        assert len(set(read.results().column("read_at").to_pylist())) == 1
