"""A directory of files before Spark starts: what is refused, and by which words."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from time import perf_counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg import DataError, Session, UsageError
from thalweg.connectors.files import first_files
from thalweg.sql.statements import CreateStream, parse_statement

QUERY = "CREATE QUERY q AS SELECT k, SUM(v) AS total FROM s GROUP BY k, TUMBLE '1 second';"
FITTING = {"csv": "k,v,at\n1,2,1970-01-01\n", "json": '{"k": 1, "v": 2, "at": "1970-01-01"}\n'}
LACKING = {"csv": "k,at\n1,1970-01-01\n", "json": '{"k": 1, "v": 2}\n'}
WHY = {"parquet": "it has no column v", "csv": "it has no column v", "json": "no row of it has a value of at"}


def put(path: Path, fits: bool, format: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {"k": [1], "v": [2], "at": pa.array([0], pa.timestamp("us"))}
    if format == "parquet":
        pq.write_table(pa.table(columns if fits else {k: v for k, v in columns.items() if k != "v"}), path)
    else:
        path.write_text((FITTING if fits else LACKING)[format])


def sql(path: Path, format: str = "parquet", more: str = "") -> str:
    return f"CREATE STREAM s (k BIGINT, v BIGINT, at TIMESTAMP) WITH (format = '{format}', path = '{path}', time = 'at'{more});{QUERY}"


def opened(root: Path, text: str) -> Session:
    session = Session(root / "run", master="spark://nowhere:1")
    session.sql(text)
    return session


def test_a_directory_that_is_not_there_is_refused_before_spark_starts(tmp_path: Path) -> None:
    session = opened(tmp_path, sql(tmp_path / "in"))
    started = perf_counter()
    for refuse in (session.check, session.run_available):
        with pytest.raises(DataError, match=r"in: the directory of stream s does not exist"):
            refuse()
    assert perf_counter() - started < 5 and session.check_files() == (str(tmp_path / "in"),)
    (tmp_path / "in").write_text("a file")
    with pytest.raises(DataError, match=r"in: the directory of stream s is a file"):
        session.check()


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_columns_that_the_first_file_lacks_are_refused_before_spark_starts(
    tmp_path: Path, format: str
) -> None:
    put(tmp_path / "in" / "k=1" / f"0.{format}", False, format)
    os.utime(tmp_path / "in" / "k=1" / f"0.{format}", (1, 1))
    put(tmp_path / "in" / f"1.{format}", True, format)
    session = opened(tmp_path, sql(tmp_path / "in", format))
    for refuse in (session.check, session.run_available, session.check_files):
        with pytest.raises(
            DataError, match=rf"0\.{format}: can't be read as stream s: {WHY[format]}"
        ) as caught:
            refuse()
        assert "CREATE STREAM" in (caught.value.hint or "")
    with pytest.raises(DataError, match=WHY[format]):
        opened(tmp_path / "stops", sql(tmp_path / "in", format, ", on_bad_file = 'stop'")).check()
    put(tmp_path / "in" / "k=1" / f"0.{format}", True, format)
    session.check()


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_of_files_that_are_set_aside_the_first_that_can_be_read_is_looked_at(
    tmp_path: Path, format: str
) -> None:
    options = ", compression = 'gzip'" if format == "csv" else ""
    for number, fits in ((1, True), (2, False)):
        put(tmp_path / "in" / f"{number}.{format}", fits, format)
        if format == "csv":
            (tmp_path / "in" / f"{number}.csv").write_bytes(
                gzip.compress((FITTING if fits else LACKING)["csv"].encode())
            )
    (tmp_path / "in" / f"0.{format}").write_text("neither Parquet nor compressed")
    for number in range(3):
        os.utime(tmp_path / "in" / f"{number}.{format}", (number, number))
    opened(tmp_path, sql(tmp_path / "in", format, options)).check()
    with pytest.raises(DataError, match=rf"0\.{format}: can't be read as stream s"):
        opened(tmp_path, sql(tmp_path / "in", format, options + ", on_bad_file = 'stop'")).check()
    (tmp_path / "in" / f"1.{format}").unlink()
    with pytest.raises(DataError, match=rf"2\.{format}: can't be read as stream s: it has no column v"):
        opened(tmp_path, sql(tmp_path / "in", format, options)).check()


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_columns_that_a_table_lacks_are_refused_before_spark_starts(tmp_path: Path, format: str) -> None:
    put(tmp_path / "in" / "0.parquet", True, "parquet")
    put(tmp_path / f"t.{format}", False, format)
    session = opened(tmp_path, sql(tmp_path / "in"))
    session.sql(f"""CREATE TABLE t (k BIGINT, v BIGINT) WITH (format = '{format}', path = '{tmp_path}/t.{format}');
        CREATE QUERY j AS SELECT s.k, COUNT(*) AS n FROM s [RANGE 1 SECOND], t WHERE s.k = t.k GROUP BY s.k EVERY 1 SECOND;""")
    for refuse in (session.check, session.check_files):
        with pytest.raises(DataError, match=rf"t\.{format}: can't be read as table t: it has no column v"):
            refuse()


@pytest.mark.parametrize(
    ("source", "into"), [(".", None), ("run", None), ("data", "data/out"), ("data", "data/a/b")]
)
def test_what_is_written_is_not_read(tmp_path: Path, source: str, into: str | None) -> None:
    put(tmp_path / source / "0.parquet", True, "parquet")
    session = Session(tmp_path / "run")
    session.sql(
        sql(tmp_path / source).replace(
            "CREATE QUERY q AS",
            f"CREATE QUERY q INTO '{tmp_path / into}' AS" if into else "CREATE QUERY q AS",
        )
    )
    with pytest.raises(UsageError, match=r"is in the directory of stream s, which would read it"):
        session.check()


@pytest.mark.parametrize("option", ["late_rows", "bad_rows"])
@pytest.mark.parametrize("folder", ["data/beside", "data/a/b"])
def test_what_is_no_result_is_not_read_either(tmp_path: Path, option: str, folder: str) -> None:
    put(tmp_path / "data" / "0.parquet", True, "parquet")
    session = Session(tmp_path / "run")
    session.sql(sql(tmp_path / "data", more=f", {option} = '{tmp_path / folder}'"))
    with pytest.raises(
        UsageError, match=r"rows of stream s go is in the directory of stream s, which would read it"
    ):
        session.check()


def test_late_and_bad_rows_are_kept_apart(tmp_path: Path) -> None:
    put(tmp_path / "data" / "0.parquet", True, "parquet")
    session = Session(tmp_path / "run")
    with pytest.raises(UsageError, match=r"out: (late|bad) rows of stream s go there"):
        session.sql(
            sql(tmp_path / "data", more=f", late_rows = '{tmp_path}/out', bad_rows = '{tmp_path}/out'")
        )
    with pytest.raises(UsageError, match=r"would get its own bad rows"):
        session.sql(sql(tmp_path / "data", more=f", bad_rows = '{tmp_path}/data'"))


@pytest.mark.parametrize("into", ["out", "data_out", "data/_out", "data/.out"])
def test_what_is_written_elsewhere_is_fine(tmp_path: Path, into: str) -> None:
    put(tmp_path / "data" / "0.parquet", True, "parquet")
    session = Session(tmp_path / "run")
    session.sql(
        sql(tmp_path / "data").replace("CREATE QUERY q AS", f"CREATE QUERY q INTO '{tmp_path / into}' AS")
    )
    session.check()


def test_options_and_paths_from_python(tmp_path: Path) -> None:
    """As they are, whatever characters they have."""
    odd = tmp_path / "back\\slash's"
    put(odd / "0.csv", True, "csv")
    options = {
        "delimiter": "\t",
        "quote": "'",
        "escape": "\\",
        "comment": "#",
        "null_value": "\\N",
        "encoding": "latin-1",
        "header": "false",
    }
    stream = Session(tmp_path / "run").stream(
        "s", odd, time="at", columns="v BIGINT, at TIMESTAMP", format="csv", **options
    )
    assert dict(stream.options) == options and stream.path == str(odd)


def test_files_are_looked_for_as_spark_does(tmp_path: Path) -> None:
    names = (
        "0.parquet",
        "k=1/1.parquet",
        "_k=1/2.parquet",
        "deep/er/3.parquet",
        "_no/4.parquet",
        ".no/5.parquet",
        "_6.parquet",
        "7.csv",
    )
    for i, name in enumerate(names):
        put(tmp_path / name, True, "parquet")
        os.utime(tmp_path / name, (100 - i, 100 - i))
    (tmp_path / "8.parquet").write_bytes(b"")
    made = parse_statement(
        f"CREATE STREAM s (k BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{tmp_path}', time = 'at')"
    )
    assert isinstance(made, CreateStream)
    assert [p.name for p in first_files(made.stream)] == ["3.parquet", "2.parquet", "1.parquet", "0.parquet"]
