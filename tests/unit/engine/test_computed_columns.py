"""Computed columns of streams: event times from numbers and texts, of rows from anywhere, by the definition."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from thalweg import Session
from thalweg.errors import SqlError
from thalweg.testing.bound import bind_text
from thalweg.testing.crowd import check_lives
from thalweg.testing.feeds import placed_sql, write_batches
from thalweg.testing.local import LocalSession

FORMS = {
    "ms": ("ms BIGINT", "TIMESTAMP_MILLIS(ms)", lambda ms: ms),
    "quotient": ("ms BIGINT", "TO_TIMESTAMP(ms / 1000)", lambda ms: ms),
    "text": ("t STRING", "CAST(t AS TIMESTAMP)", lambda ms: f"1970-01-01 00:{ms // 60000:02}:{ms % 60000 / 1000:06.3f}"),
    "parts": ("s INT, f INT", "TIMESTAMP_MILLIS(s * 1000L + f)", lambda ms: (ms // 1000, ms % 1000)),
}  # fmt: skip
SELECTS = (
    "SELECT k, window_end, COUNT(*) AS n, MAX(half) AS high FROM s GROUP BY k, TUMBLE '2 seconds'",
    "SELECT k, half, at FROM s WHERE half > 3",
    "SELECT k, window_start, window_end, SUM(half) AS x FROM s WHERE at > TIMESTAMP '1970-01-01 00:00:03' GROUP BY k, SESSION '1 second'",
    "SELECT a.k, b.half FROM s AS a [RANGE 1 SECOND] JOIN s AS b [RANGE 1 SECOND] ON a.k = b.k AND a.half = b.half",
)


def declared(form: str, where: str) -> str:
    columns, value, _ = FORMS[form]
    return f"CREATE STREAM s (k BIGINT, {columns}, v BIGINT, at AS {value}, half AS v / 2) WITH ({where}, time = 'at', watermark = '1 second')"


def rows(form: str, random: Random, second: int, count: int) -> pa.Table:
    columns, _, made = FORMS[form]
    times = [made(int((second + random.random() * 3) * 1000)) for _ in range(count)]
    names = [c.split()[0] for c in columns.split(", ")]
    stored = {n: [t[i] if len(names) > 1 else t for t in times] for i, n in enumerate(names)}
    found = {"k": [random.randrange(3) for _ in times], **stored, "v": [random.randrange(12) for _ in times]}
    kinds = {"s": pa.int32(), "f": pa.int32(), "t": pa.string()}
    return pa.table({n: pa.array(v, kinds.get(n, pa.int64())) for n, v in found.items()})


@pytest.mark.parametrize("form", FORMS)
def test_queries_equal_the_definition(form: str, tmp_path: Path) -> None:
    """With late rows, restarts, and queries that come later."""
    random, fed = Random(form), list[dict[str, pa.Table]]()
    session = LocalSession(tmp_path / "run", 2)
    session.sql(declared(form, f"format = 'parquet', path = '{tmp_path}/s'"))
    stream = session.catalog.streams["s"]
    handles = [session.query(q, name=f"q{n}") for n, q in enumerate(SELECTS)]
    for batch in range(7):
        if batch == 3:
            session.close()
            session = LocalSession(tmp_path / "run", 1)
            handles = [session.handle(f"q{n}") for n in range(len(SELECTS))]
            handles += [session.query(q, name=f"later{n}") for n, q in enumerate(SELECTS)]
        table = rows(form, random, 2 * batch - 3 * (batch == 5), 20)
        fed.append({"s": table})
        session.batch([("s", str(write_batches(tmp_path / "s", stream.stored, [table])[0]))])
    assert check_lives(handles, {"s": stream}, fed) > 0
    assert all(h.results().num_rows for h in handles)
    session.close()


def _csv(table: pa.Table, path: Path) -> None:
    pc.write_csv(table, path)


def _json(table: pa.Table, path: Path) -> None:
    path.write_text("".join(json.dumps(r) + "\n" for r in table.to_pylist()))


@pytest.mark.parametrize(("format_", "write"), [("csv", _csv), ("json", _json), ("parquet", pq.write_table)])
def test_files_of_any_format(format_: str, write: Any, tmp_path: Path) -> None:
    """A column of the files that has the name of a computed one is not read."""
    (tmp_path / "s").mkdir()
    table = rows("ms", Random(1), 0, 30).append_column("at", pa.array(["x"] * 30))
    session = LocalSession(tmp_path / "run", 1)
    session.sql(declared("ms", f"format = '{format_}', path = '{tmp_path}/s', late_rows = '{tmp_path}/late'"))
    if format_ == "csv":
        table = table.drop_columns("at")
    write(table, tmp_path / "s" / f"a.{format_}")
    query = session.query("SELECT k, ms, half, at FROM s")
    session.batch([("s", str(tmp_path / "s" / f"a.{format_}"))])
    found = query.results()
    assert sorted(found.column("ms").to_pylist()) == sorted(table.column("ms").to_pylist())
    assert all(r["at"].timestamp() * 1000 == pytest.approx(r["ms"]) for r in found.to_pylist())
    late = rows("ms", Random(2), -50, 4)
    write(late, tmp_path / "s" / f"b.{format_}")
    session.batch([("s", str(tmp_path / "s" / f"b.{format_}"))])
    kept = pa.concat_tables([pq.read_table(p) for p in (tmp_path / "late").rglob("*.parquet")])
    assert kept.num_rows == 4 and {"ms", "at", "half"} <= set(kept.column_names)
    session.close()


def test_a_bad_value_behind_a_time_is_set_aside(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "a.csv").write_text("k,ms,v\n1,1000,2\n1,x,2\n1,2000,y\n1,,3\n")
    (tmp_path / "s" / "b.csv").write_text("k,ms,v\n7,3000,2\n")
    session = LocalSession(tmp_path / "run", 1)
    session.sql(declared("ms", f"format = 'csv', path = '{tmp_path}/s'"))
    query = session.query("SELECT k, at FROM s")
    session.batch([("s", str(tmp_path / "s" / f"{name}.csv")) for name in "ab"])
    assert query.results().num_rows == 3, "of v nothing is asked; a row without a time is none"
    counts = session.latest_manifest().streams["s"]
    assert (counts.bad_rows, counts.untimed) == (1, 1)
    session.close()


def test_rows_that_are_pushed_and_tables_of_an_iterable(tmp_path: Path) -> None:
    session = Session(tmp_path / "run")
    session.sql(
        "CREATE STREAM p (k BIGINT, ms BIGINT, at AS TIMESTAMP_MILLIS(ms)) WITH (format = 'push', time = 'at')"
    )
    session.push("p", pa.table({"k": [1, 2], "ms": [1, 60_001]}))
    session.push("p", [{"k": 3, "ms": 180_000}])
    with pytest.raises(Exception, match="has no at, the time of the stream"):
        session.push("p", [{"k": 3, "ms": None}])
    table = pa.table({"k": [1, 2, 3], "ms": [1, 60_001, 180_000]})
    session.stream(
        "i", [table], columns="k BIGINT, ms BIGINT", computed="at AS TIMESTAMP_MILLIS(ms)", time="at"
    )
    session.close()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("k BIGINT, at AS k", "the time column at is BIGINT, not TIMESTAMP"),
        ("k BIGINT, at AS TIMESTAMP_MILLIS(kk)", "unknown column kk"),
        ("k BIGINT, a AS k + 1, at AS TIMESTAMP_MILLIS(a)", "unknown column a"),
        ("k BIGINT, at AS TIMESTAMP_MILLIS(MAX(k))", "an aggregate can't stand in a computed column"),
        ("k BIGINT, at AS TIMESTAMP_MILLIS(k), k AS 1", "column k is declared twice"),
        (
            "k BIGINT, at AS TIMESTAMP_MILLIS(k), z AS INTERVAL 1 DAY",
            "a column can't be of the type INTERVAL",
        ),
        ("k BIGINT, at AS ", "expected an expression, not )"),
    ],
)
def test_what_is_refused(columns: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(SqlError, match=re.escape(message)) as error:
        Session(tmp_path / "run").sql(
            f"CREATE STREAM s ({columns}) WITH (format = 'csv', path = 'x', time = 'at')"
        )
    assert error.value.message == message


def test_tables_have_none(tmp_path: Path) -> None:
    with pytest.raises(SqlError, match="column b of a table can't be computed"):
        bind_text("CREATE TABLE t (a INT, b AS a + 1) WITH (format = 'csv', path = 'x');", directory=tmp_path)


def test_a_declaration_is_written_as_it_was() -> None:
    text = "CREATE STREAM s (ms BIGINT, at AS TIMESTAMP_MILLIS(ms + 1)) WITH (time = 'at')"
    assert "AS TIMESTAMP_MILLIS(ms + 1)" in placed_sql(f"{text};", Path("in"))
