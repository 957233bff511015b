"""OVER that runs along with event time: what it asks for, what is refused, and what DuckDB's own windows say."""
# ruff: noqa: E501

from __future__ import annotations

from pathlib import Path
from random import Random

import duckdb
import pyarrow as pa
import pytest

from thalweg.errors import SqlError
from thalweg.model.running import Frame
from thalweg.testing.bound import bind_text
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalSession

STREAMS = """CREATE STREAM s (k BIGINT, v BIGINT, at TIMESTAMP) WITH (time = 'at', watermark = '1 second');
CREATE STREAM r (k BIGINT, w BIGINT, at TIMESTAMP) WITH (time = 'at', watermark = '1 second');"""
OVER = "OVER (PARTITION BY k ORDER BY at{})"


def refused(select: str) -> str:
    """The refusal of a query, with its place and hint."""
    with pytest.raises(SqlError) as caught:
        bind_text(f"{STREAMS}\nCREATE QUERY q AS {select};")
    return str(caught.value)


@pytest.mark.parametrize(
    ("frame", "meant"),
    [
        ("", Frame("range")),
        (" ROWS 3 PRECEDING", Frame("rows", 3)),
        (" ROWS BETWEEN 3 PRECEDING AND CURRENT ROW", Frame("rows", 3)),
        (" ROWS UNBOUNDED PRECEDING", Frame("rows")),
        (" RANGE BETWEEN INTERVAL 2 SECONDS PRECEDING AND CURRENT ROW", Frame("range", 2_000_000)),
        (" RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", Frame("range")),
        (" ROWS BETWEEN CURRENT ROW AND CURRENT ROW", Frame("rows", 0)),
    ],
)
def test_frames(frame: str, meant: Frame) -> None:
    query = bind_text(f"{STREAMS} CREATE QUERY q AS SELECT SUM(v) {OVER.format(frame)} AS x FROM s").queries[
        "q"
    ]
    assert query.running is not None and [c.frame for c in query.running.calls] == [meant]


@pytest.mark.parametrize(
    ("select", "message", "hint"),
    [
        (f"SELECT SUM(v) {OVER.format(' ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING')} FROM s", "a frame with later rows", "LEAD"),
        (f"SELECT SUM(v) {OVER.format(' ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING')} FROM s", "ends before its row", "ROWS BETWEEN"),
        (f"SELECT SUM(v) {OVER.format(' RANGE 3 PRECEDING')} FROM s", "is an interval", "INTERVAL '1' HOUR"),
        (f"SELECT SUM(v) {OVER.format(' ROWS 100000 PRECEDING')} FROM s", "is a number up to 10,000", "such as 10"),
        ("SELECT LAG(v) OVER (PARTITION BY k) FROM s", "needs the order of event time", "ORDER BY at"),
        ("SELECT LAG(v) OVER (ORDER BY v) FROM s", "v is not the event time", "ORDER BY at"),
        ("SELECT LAG(v) OVER (ORDER BY at DESC) FROM s", "is not the event time", "ORDER BY at"),
        ("SELECT LAG(v) OVER (ORDER BY at, k DESC) FROM s", "in the order of columns, ascending", "name a column"),
        ("SELECT SUM(v) OVER (ORDER BY at, k) FROM s", "without a frame", "ROWS UNBOUNDED PRECEDING"),
        ("SELECT LAG(v) OVER (PARTITION BY k ORDER BY at), LAG(v) OVER (PARTITION BY v ORDER BY at) FROM s", "two PARTITION BY", "SELECT in FROM"),
        (f"SELECT LAG(v, k) {OVER.format('')} FROM s", "second argument of LAG", "such as 10"),
        (f"SELECT LEAD(v, 1, 0) {OVER.format('')} FROM s", "LEAD waits", "leave it out"),
        (f"SELECT LAG(v) IGNORE NULLS {OVER.format('')} FROM s", "IGNORE NULLS", "WHERE"),
        (f"SELECT COUNT(DISTINCT v) {OVER.format('')} FROM s", "COUNT(DISTINCT v) OVER is not supported", "window in GROUP BY"),
        (f"SELECT NTILE(4) {OVER.format('')} FROM s", "NTILE(4) OVER is not supported", "LAG, LEAD"),
        (f"SELECT k, LAG(v) {OVER.format('')} FROM s GROUP BY k", "OVER beside GROUP BY", "SELECT in FROM"),
        ("SELECT LAG(s.v) OVER (PARTITION BY s.k ORDER BY s.at) FROM s [RANGE 1 SECOND] JOIN r [RANGE 1 SECOND] ON s.k = r.k", "OVER beside a join", "SELECT in FROM"),
        (f"SELECT LAG(v) {OVER.format('')} FROM s [RANGE 1 SECOND]", "a window after a stream", "frames"),
        (f"SELECT LAG(v) {OVER.format('')} FROM s EVERY 1 SECOND", "EVERY beside OVER", "leave it out"),
        ("SELECT LAG(n) OVER (ORDER BY k) FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k, TUMBLE '1 second')", "k is not the event time", "show window_end"),
        ("SELECT LAG(v) OVER (ORDER BY at) FROM (SELECT s.v, s.at FROM s [RANGE 1 SECOND] JOIN r [RANGE 1 SECOND] ON s.k = r.k)", "at is not the event time", "greatest(s.at, r.at)"),
        ("SELECT LAG(v) OVER (ORDER BY at) FROM (SELECT v, at, LEAD(v, 2) OVER (ORDER BY at) AS n FROM s)", "at is not the event time", "show LEAD(at, 2)"),
    ],
)  # fmt: skip
def test_refusals(select: str, message: str, hint: str) -> None:
    text = refused(select)
    assert message in text.splitlines()[0] and hint in text.splitlines()[-1], text


ASKED = (
    "SELECT k, v, ts, LAG(v, 2, -1) {w} AS a, SUM(v) {w3} AS b, AVG(v) {w} AS c, COUNT(*) {r} AS d, MIN(v) {r} AS e FROM s",
    "SELECT k, v, MAX(v) FILTER (WHERE v % 2 = 0) {w3} AS a, COUNT(v) {u} AS b FROM s",
    "SELECT k, v, LEAD(v, 2) {w} AS a, SUM(v) {u} AS b FROM s QUALIFY LEAD(v, 2) {w} IS NOT NULL",
)
FORMS = {
    "w": "OVER (PARTITION BY k ORDER BY ts)",
    "w3": "OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 3 PRECEDING AND CURRENT ROW)",
    "r": "OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '2' SECOND PRECEDING AND CURRENT ROW)",
    "u": "OVER (PARTITION BY k ORDER BY ts ROWS UNBOUNDED PRECEDING)",
}


@pytest.mark.parametrize("text", ASKED)
def test_the_same_text_in_duckdb(text: str, tmp_path: Path) -> None:
    """Rows of different times, none of them late: what DuckDB gives for the same text over all of them."""
    random, sql = Random(5), text.format(**FORMS)
    times = [i * 130_000 for i in range(120)]
    rows = [(random.randrange(3), random.randrange(50), t) for t in times]
    for i in range(0, 120, 4):
        rows[i : i + 4] = random.sample(rows[i : i + 4], 4)
    data = pa.table(
        {
            "k": [r[0] for r in rows],
            "v": [r[1] for r in rows],
            "ts": pa.array([r[2] for r in rows], pa.timestamp("us")),
        }
    )
    session = LocalSession(tmp_path / "run", 2)
    session.sql(
        f"CREATE STREAM s (k BIGINT, v BIGINT, ts TIMESTAMP) WITH (format = 'parquet', path = '{tmp_path / 's'}', time = 'ts', watermark = '1 second');"
    )
    query = session.query(sql, name="q")
    streams = session.catalog.streams
    end = pa.table({"k": [99], "v": [0], "ts": pa.array([10**9], pa.timestamp("us"))})
    for part in (data.slice(0, 50), data.slice(50, 1), data.slice(51), end):
        session.batch([("s", str(write_batches(tmp_path / "s", streams["s"], [part])[0]))])
    with duckdb.connect() as db:
        db.register("s", data)
        expected = db.sql(sql).to_arrow_table()
    assert expected.num_rows > 10
    compare(query.results(), expected)
    session.close()
