"""Rows that are pushed into a session: kept once by their id through restarts, crashes and the removal of what was read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thalweg.connectors import pushed, pushed_names
from thalweg.connectors.pushed import Box
from thalweg.connectors.pushed_names import Names
from thalweg.errors import Backlog, DataError, SqlError, StateError, UsageError
from thalweg.sql.statements import parse_statement
from thalweg.testing.local import LocalSession

STREAM = "CREATE STREAM s (k BIGINT, at TIMESTAMP) WITH (format = 'push', time = 'at', keep = '{}')"
COUNTS = "CREATE QUERY q AS SELECT k, window_end, COUNT(*) AS n FROM s GROUP BY k, TUMBLE '10 seconds'"
FIRST = datetime(2024, 1, 1, tzinfo=UTC)
DIFFERENT = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def opened(root: Path, keep: str = "0 seconds") -> LocalSession:
    session = LocalSession(root / "run", logged=True)
    if "s" not in session.catalog.streams:
        session.sql(STREAM.format(keep))
        session.sql(COUNTS)
    return session


def rows(number: int, count: int = 1) -> list[dict[str, Any]]:
    return [{"k": number, "at": FIRST + timedelta(seconds=number)}] * count


def files(session: LocalSession) -> list[Path]:
    return sorted((session.directory.inbox / "s").glob("*.parquet"))


def batch(session: LocalSession, read: set[str]) -> None:
    """A batch over what was not read, as Spark would."""
    new = [f for f in files(session) if f.name not in read]
    session.batch([("s", str(f)) for f in new])
    assert session.runner.audience.told(60)
    read |= {f.name for f in new}


def counted(session: LocalSession) -> int:
    return int(sum(session.handle("q").results()["n"].to_pylist()))


def test_without_a_service_and_before_anything_runs(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        assert (
            session.push("s", rows(1, 3), id="a").is_new and not session.push("s", rows(1, 3), id="a").is_new
        )
        other = opened(tmp_path)
        with pytest.raises(UsageError, match="in use by process"):
            other.push("s", rows(1))
        batch(session, read := set[str]())
        session.push("s", pa.table({"k": [9], "at": pa.array([FIRST + timedelta(minutes=1)])}))
        batch(session, read)
        assert counted(session) == 3


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.integers(0, 5)),
        st.tuples(st.sampled_from(["batch", "restart", "crash", "tidy", "torn"]), st.just(0)),
    ),
    min_size=3,
    max_size=20,
)


@DIFFERENT
@given(steps=STEPS)
def test_any_course_of_pushes_batches_and_crashes_counts_each_id_once(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    root, read, ids = tmp_path_factory.mktemp("pushed"), set[str](), set[int]()
    session = opened(root)
    session.begin()
    for step, number in steps:
        if step == "push":
            done = session.push("s", rows(0, number + 1), id=f"id {number}")
            assert done.is_new == (number not in ids)
            ids.add(number)
        elif step == "batch":
            batch(session, read)
        elif step == "tidy":
            session.pushing.tidy()
            assert not [f for f in files(session) if f.name in read], "what was read is gone"
        else:
            if step == "torn":
                (session.directory.inbox / "s" / ".000000099.tmp").write_bytes(b"half a file")
            if step == "restart":
                session.stop()
            else:
                session.directory.unlock()
            session = opened(root)
            session.begin()
    session.push("s", rows(1000))
    batch(session, read)
    assert counted(session) == sum(n + 1 for n in ids)
    assert session.latest_manifest().streams["s"].rows == sum(n + 1 for n in ids) + 1
    assert session.pushing.waiting() == {"s": 0}
    session.close()


def test_what_was_read_is_kept_for_a_while_and_histories_say_what_is_gone(tmp_path: Path) -> None:
    with opened(tmp_path, keep="1 hour") as session:
        session.push("s", rows(1))
        batch(session, read := set[str]())
        session.pushing.tidy()
        assert len(files(session)) == 1
    with opened(tmp_path / "other") as session:
        session.push("s", rows(1))
        batch(session, read := set[str]())
        session.pushing.tidy()
        assert not files(session) and session.sql("SHOW STREAMS")
        session.push("s", rows(60))
        batch(session, read)
        made = session.sql(COUNTS.replace("QUERY q AS", "QUERY h WITH (history = 'all') AS"))
        assert "is gone" in str(made[0])


def test_the_number_of_a_file_is_never_used_again(tmp_path: Path) -> None:
    session, read = opened(tmp_path), set[str]()
    for _ in range(3):
        session.push("s", rows(1))
        (name,) = [f.name for f in files(session)]
        assert name not in read, "else Spark would take it for one that it has read"
        batch(session, read)
        session.pushing.tidy()
        session.stop()
        session = opened(tmp_path)
    session.close()


def test_names_are_forgotten_by_age_and_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000_000.0]
    monkeypatch.setattr("thalweg.connectors.pushed_names.time.time", lambda: now[0])
    monkeypatch.setattr(pushed_names, "PER_FILE", 2)
    monkeypatch.setattr(pushed_names, "MOST", 5)
    names = Names(tmp_path)
    for number in range(4):
        names.add([f"n{number}"], number)
    assert all(f"n{n}" in Names(tmp_path) for n in range(4)) and Names(tmp_path).highest == 3
    now[0] += pushed_names.WEEK + 1
    names.add(["later"], 4)
    assert "n0" not in names and "n3" not in names and "later" in Names(tmp_path)
    for number in range(5, 20):
        names.add([f"m{number}"], number)
    assert "later" not in names and "m19" in names and len(list(tmp_path.iterdir())) <= 4
    part = sorted(tmp_path.iterdir())[-1]
    part.write_bytes(part.read_bytes()[:-5])
    with pytest.raises(StateError, match="damaged"):
        Names(tmp_path)


def test_a_full_disk_takes_nothing_and_says_so_to_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as session:
        session.push("s", rows(1))

        def full(*_: Any) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(pushed, "leave", full)
        with pytest.raises(OSError, match="No space"):
            session.push("s", rows(2), id="x")
        monkeypatch.undo()
        assert session.push("s", rows(2), id="x").is_new and len(files(session)) == 2


def test_what_comes_at_once_is_one_file(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        session.push("s", rows(0))
        box: Box = session.pushing._boxes["s"][1]
        table = pa.table({"k": [1], "at": pa.array([FIRST])})
        box._coming = [pushed._Coming(n, f"{n:032x}", table) for n in range(2, 12)]
        box._number = 11
        box.take(table, "last")
        assert len(files(session)) == 2 and pa.parquet.read_table(files(session)[1]).num_rows == 11


def test_what_may_be_said_of_such_a_stream() -> None:
    made = parse_statement(STREAM.format("2 days")).stream  # type: ignore[union-attr]
    assert made.is_pushed and made.kept == 2 * 86_400 * 1_000_000 and made.path is None
    assert made.declared_format == "push" and made.format == "parquet"
    for wrong, said in (
        ("path = 'x'", "path is no option"),
        ("bad_rows = 'x'", "bad_rows is no option"),
        ("header = 'true'", "header is an option of csv"),
        ("keep = '-1 second'", "negative"),
    ):
        with pytest.raises(SqlError, match=said):
            parse_statement(f"CREATE STREAM s (at TIMESTAMP) WITH (format = 'push', time = 'at', {wrong})")
    with pytest.raises(SqlError, match="keep is an option of push"):
        parse_statement(
            "CREATE STREAM s (at TIMESTAMP) WITH (format = 'csv', path = 'x', time = 'at', keep = '1 day')"
        )
    with pytest.raises(SqlError, match="not one of parquet, csv, json"):
        parse_statement("CREATE TABLE t (at TIMESTAMP) WITH (format = 'push', path = 'x')")


def test_a_session_that_was_moved_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        session.push("s", rows(1))
        session.begin()
    (tmp_path / "run").rename(tmp_path / "moved")
    with (
        LocalSession(tmp_path / "moved") as session,
        pytest.raises(DataError, match="move it back") as refused,
    ):
        session.push("s", rows(1))
    assert str(tmp_path / "run") in (refused.value.hint or "") and not (tmp_path / "run").exists()


def test_too_much_that_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path) as session:
        session.push("s", rows(1))
        with pytest.raises(Backlog, match="wait to be read"):
            session.pushing.take("s", rows(2), None, most=1)
        batch(session, set())
        assert session.pushing.take("s", rows(2), None, most=1).is_new
