"""Iterables of tables: what was taken once is not taken again, by its place or by its name."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.connectors.inbox import Inbox, check_left
from thalweg.errors import StateError, UsageError
from thalweg.testing.local import LocalSession


def table(value: int) -> pa.Table:
    return pa.table({"v": [value]})


def filled(path: Path, given: Iterable[Any]) -> list[int]:
    """What the stream reads, oldest first, once an iterable was given."""
    Inbox(path, given).fill(whole=True)
    files = sorted(path.glob("*.parquet"), key=lambda p: p.stat().st_mtime_ns)
    assert files == sorted(files) and not list(path.glob(".*"))
    return [v for f in files for v in pq.read_table(f)["v"].to_pylist()]


def test_a_script_that_is_run_again_gives_nothing_twice(tmp_path: Path) -> None:
    assert filled(tmp_path, map(table, range(3))) == [0, 1, 2]
    assert filled(tmp_path, map(table, range(3))) == [0, 1, 2]
    assert filled(tmp_path, map(table, range(5))) == [0, 1, 2, 3, 4]


def test_names_tell_new_tables_from_those_that_were_taken(tmp_path: Path) -> None:
    assert filled(tmp_path, [("a", table(0)), ("b/../c", table(1))]) == [0, 1]
    assert filled(tmp_path, [("b/../c", table(1)), ("d", table(2)), ("d", table(2))]) == [0, 1, 2]
    assert filled(tmp_path, [table(3)]) == [0, 1, 2, 3]
    assert filled(tmp_path, [table(3), ("e", table(4)), table(5)]) == [0, 1, 2, 3, 4, 5]


def test_one_inbox_goes_on_where_it_was(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path, map(table, range(4)))
    for number in range(2):
        inbox._take(table(number))
    inbox.fill(whole=True)
    assert len(list(tmp_path.glob("*.parquet"))) == 6


def test_what_is_no_table_is_refused_and_what_fails_beside_is_kept(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="got dict instead of an Arrow table"):
        filled(tmp_path / "wrong", [{"v": 1}])

    def breaks() -> Iterator[pa.Table]:
        yield table(0)
        raise OSError("the line is dead")

    inbox = Inbox(tmp_path / "broken", breaks())
    inbox.fill(whole=False)
    deadline = time.monotonic() + 10
    while inbox.error is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert "the line is dead" in str(inbox.error) and len(list((tmp_path / "broken").glob("*.parquet"))) == 1


def test_a_table_that_was_changed_where_it_lies_is_refused(tmp_path: Path) -> None:
    inbox = tmp_path / "inbox" / "s"
    filled(inbox, [table(0), ("name", table(1))])
    files = sorted(inbox.glob("*.parquet"))
    check_left(map(str, files))
    for path in files:
        data = bytearray(path.read_bytes())
        data[len(data) // 3] ^= 4
        path.write_bytes(data)
        with pytest.raises(StateError, match=f"{path.name}: damaged"):
            check_left([str(path)])


class Tabular:
    """A table of another library, which hands over Arrow."""

    columns = ("v",)

    def __init__(self, value: int) -> None:
        self._made = table(value)

    def __arrow_c_stream__(self, schema: object = None) -> object:
        return self._made.__arrow_c_stream__(schema)


def test_tables_of_any_kind_are_taken(tmp_path: Path) -> None:
    given = [table(0), table(1).to_batches()[0], Tabular(2), ("name", Tabular(3))]
    assert filled(tmp_path, given) == [0, 1, 2, 3]


def test_the_first_table_tells_the_columns_and_stays_the_first(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path, map(table, range(3)))
    assert inbox.columns() == "`v` BIGINT"
    inbox.fill(whole=True)
    assert len(list(tmp_path.glob("*.parquet"))) == 3
    assert Inbox(tmp_path, []).columns() is None  # the files that are there tell them
    assert Inbox(tmp_path / "other", iter(())).columns() is None


@pytest.mark.parametrize("kind", ["table", "batch", "tabular", "iterable", "pandas"])
def test_a_session_takes_tables_without_columns(kind: str, tmp_path: Path) -> None:
    rows = pa.table({"k": [1, 2], "at": pa.array([0, 5_000_000], pa.timestamp("us"))})
    made = {"table": rows, "batch": rows.to_batches()[0], "iterable": iter([rows])}
    source = made.get(kind)
    if kind == "pandas":
        pytest.importorskip("pandas")
        source = rows.to_pandas()
    if source is None:
        source = Tabular(0)
        source._made = rows
    with LocalSession(tmp_path / "run") as session:
        stream = session.stream("s", source, time="at")
        assert {c.name: c.type for c in stream.columns} == {"k": "BIGINT", "at": "TIMESTAMP"}
        session.query("SELECT k, COUNT(*) AS n FROM s GROUP BY k, TUMBLE '1 second'", name="q")
        assert session.explain().text


def test_no_table_and_no_columns_is_told(tmp_path: Path) -> None:
    with LocalSession(tmp_path / "run") as session, pytest.raises(UsageError, match="columns are not known"):
        session.stream("s", iter(()), time="at")


def test_files_of_others_are_not_looked_at(tmp_path: Path) -> None:
    pq.write_table(table(0), tmp_path / "000000000~00000000.parquet")
    check_left([str(tmp_path / "000000000~00000000.parquet"), str(tmp_path / "any.parquet")])
