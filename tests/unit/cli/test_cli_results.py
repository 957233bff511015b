"""`thalweg results`: the rows of one query, though they lie in files that it shares with others."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.errors import StateError
from thalweg.testing.local import LocalSession

SELECT = "SELECT k, window_end, COUNT(*) AS n FROM s WHERE v > {} GROUP BY k, TUMBLE '1 second'"
ONE_MORE = f"INTO '{{}}' AS {SELECT.format(3)}"


def feed(session: LocalSession, root: Path, second: int) -> None:
    times = pa.array([second * 1_000_000 + i for i in range(20)], pa.timestamp("us"))
    rows = pa.table({"k": [i % 2 for i in range(20)], "v": [i % 10 for i in range(20)], "at": times})
    (root / "in").mkdir(exist_ok=True)
    pq.write_table(rows, root / "in" / f"{second}.parquet")
    session.batch([("s", str(root / "in" / f"{second}.parquet"))])


@pytest.fixture
def session(tmp_path: Path) -> LocalSession:
    """Ten queries in one pool, one of which has a directory of its own, after three batches."""
    session = LocalSession(tmp_path / "run", 1)
    session.set("plan.sharing", "all")
    session.sql(
        f"CREATE STREAM s (k BIGINT, v BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{tmp_path / 'in'}', time = 'at')"
    )
    for i in range(9):
        session.query(SELECT.format(i), name=f"q{i}")
    session.sql(f"CREATE QUERY own {ONE_MORE.format(tmp_path / 'own')}")
    for second in range(3):
        feed(session, tmp_path, second)
    return session


def results(*args: str) -> bytes:
    return subprocess.run(
        [sys.executable, "-m", "thalweg", "results", *args], capture_output=True, check=True
    ).stdout


def test_every_format_has_the_rows_of_the_query(session: LocalSession, tmp_path: Path) -> None:
    expected = session.handle("q1").results()
    assert not (tmp_path / "run" / "results" / "q1").exists() and expected.num_rows == 4
    run = str(tmp_path / "run")
    assert pq.read_table(io.BytesIO(results(run, "q1", "--format", "parquet"))).equals(expected)
    lines = [json.loads(line) for line in results(run, "q1", "--format", "json").splitlines()]
    assert [(x["k"], x["n"]) for x in lines] == [(x["k"], x["n"]) for x in expected.to_pylist()]
    text = results(run, "q1", "--format", "csv").decode().splitlines()
    assert text[0] == '"k","window_end","n"' and len(text) == 5
    assert b"window_end" in results(run, "q1")


def test_a_query_with_a_directory_has_its_files_there(session: LocalSession, tmp_path: Path) -> None:
    files = sorted((tmp_path / "own").glob("batch-*.parquet"))
    assert files and pa.concat_tables(map(pq.read_table, files)).equals(session.handle("own").results())
    shared = list((tmp_path / "run" / "shared").rglob("batch-*.parquet"))
    assert len(shared) == 2, "one for the nine others, per batch that closed a window"


def test_damage_of_a_shared_file_is_told_whatever_it_hits(session: LocalSession, tmp_path: Path) -> None:
    file = sorted((tmp_path / "run" / "shared").rglob("batch-*.parquet"))[0]
    whole = file.read_bytes()
    for place in range(0, len(whole), 97):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(StateError, match=file.name):
            session.handle("q1").results()


def test_an_unknown_query_is_told_with_those_there_are(session: LocalSession, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "thalweg", "results", str(tmp_path / "run"), "nobody"],
        capture_output=True,
        text=True,
    )
    assert (
        done.returncode == 1
        and "no query nobody" in done.stderr
        and "own, q0, q1, q2" in done.stderr
        and "Traceback" not in done.stderr
    )


def test_results_can_be_followed(session: LocalSession, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "thalweg",
        "results",
        str(tmp_path / "run"),
        "q2",
        "--format",
        "csv",
        "--follow",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = [process.stdout.readline() for _ in range(5)]
        feed(session, tmp_path, 3)
        feed(session, tmp_path, 4)
        more = [process.stdout.readline() for _ in range(4)]
        process.terminate()
    assert len(set(first + more)) == 9


def test_a_dropped_query_keeps_its_part(session: LocalSession, tmp_path: Path) -> None:
    dropped, other = session.handle("q0"), session.handle("q1")
    dropped.drop()
    feed(session, tmp_path, 3)
    feed(session, tmp_path, 4)
    assert dropped.results().num_rows == 4 and other.results().num_rows == 8
