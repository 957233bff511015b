"""The queries of examples/nexmark run together, and give what DuckDB gives for them over all the data."""
# ruff: noqa: E501

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from benchmarks.nexmark_events import write_events
from examples_support import make

from thalweg.api.functions import declare_from
from thalweg.generate import Nexmark, write
from thalweg.testing.comparison import compare
from thalweg.testing.local import LocalSession

SCRIPT = Path(__file__).parents[2] / "examples" / "nexmark" / "nexmark.sql"
ONE_STREAM = SCRIPT.with_name("one_stream.sql")
NAMES = ("person", "auction", "bid")
EVENTS, RATE = 4000, 0.01  # some days
BID = "(SELECT *, md5(url) AS extra FROM bid)"
HALF = "time_bucket(INTERVAL 12 HOUR, {}.ts)"  # stands for ten seconds, as there are few events
LAST = "least((SELECT max(ts) FROM auction), (SELECT max(ts) FROM bid))"
COUNTED = """SELECT auction, e, count(*) AS n, max(count(*)) OVER (PARTITION BY e) AS most
  FROM bid, range(TIMESTAMP '1970-01-01', (SELECT max(ts) FROM bid) + INTERVAL 1 SECOND, INTERVAL 3 HOUR) AS r(e)
  WHERE ts < e AND ts >= e - INTERVAL 12 HOUR GROUP BY auction, e"""
RANKS = (
    "{0}",
    "{0} FILTER (WHERE price < 10000)",
    "{0} FILTER (WHERE price BETWEEN 10000 AND 999999)",
    "{0} FILTER (WHERE price >= 1000000)",
)
BIDS, BIDDERS, AUCTIONS = (
    ", ".join(f"{r.format(what)} AS {name}{n}" for n, r in enumerate(RANKS))
    for name, what in (("n", "count(*)"), ("b", "count(DISTINCT bidder)"), ("a", "count(DISTINCT auction)"))
)
MINUTES = "WHERE ts < (SELECT date_trunc('minute', max(ts)) FROM bid)"
CHANGING = {"q4": 1, "q15": 1, "q16": 2, "q17": 2}
"""Queries whose results are changes, and how many keys they have: the newest of each is compared."""
NUMBER = r"regexp_extract(url, '(&|^)channel_id=([^&]*)', 2)"
OWN = "auction, bidder, price, channel, url, ts"


def first(rows: str, rank: str, last: str, shown: str) -> str:
    """The rows of groups up to a rank, of those before the last minute."""
    ranked = f"SELECT *, row_number() OVER (PARTITION BY {rank}) AS n FROM {rows} WHERE ts < date_trunc('minute', {last})"
    return f"SELECT {shown} FROM ({ranked}) WHERE n <= top"


LAST_BID = "(SELECT max(ts) FROM bid)"
WON = (
    "(SELECT a.* EXCLUDE (ts), md5(description) AS extra, b.auction, b.bidder, b.price, b.ts AS bid_ts, md5(b.url) AS bid_extra, greatest(a.ts, b.ts) AS ts, 1 AS top, "
    "a.ts AS a_ts FROM auction a JOIN bid b ON a.id = b.auction AND b.ts BETWEEN a.ts AND a.expires)"
)
DEFINED = {
    "q18": first(
        f"(SELECT *, 1 AS top FROM {BID})",
        f"bidder, auction ORDER BY ts DESC, {OWN}",
        LAST_BID,
        f"{OWN}, extra",
    ),
    "q19": first(
        f"(SELECT *, 10 AS top FROM {BID})",
        f"auction ORDER BY price DESC, {OWN}",
        LAST_BID,
        f"{OWN}, extra, n",
    ),
    "q9": first(
        WON,
        "id ORDER BY price DESC, bid_ts, bidder, bid_extra",
        LAST,
        "id, item_name, description, initial_bid, reserve, a_ts, expires, seller, category, extra, auction, bidder, price, bid_ts, bid_extra",
    ),
    "q0": f"SELECT auction, bidder, price, ts, extra FROM {BID}",
    "q1": f"SELECT auction, bidder, 0.908 * price, ts, extra FROM {BID}",
    "q2": "SELECT auction, price FROM bid WHERE auction % 123 = 0",
    "q3": "SELECT p.name, city, state, a.id FROM auction a JOIN person p ON seller = p.id WHERE category = 10 AND state IN ('OR', 'ID', 'CA')",
    "q4": f"SELECT category, avg(final) FROM (SELECT a.id, category, max(price) AS final FROM auction a JOIN bid b ON auction = a.id AND b.ts BETWEEN a.ts AND expires WHERE greatest(a.ts, b.ts) < date_trunc('minute', {LAST}) GROUP BY a.id, category) GROUP BY category",
    "q6": f"SELECT seller, avg(final) OVER (PARTITION BY seller ORDER BY time_bucket(INTERVAL 1 DAY, expires), expires, final ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) FROM (SELECT a.id, seller, expires, max(price) AS final FROM auction a JOIN bid b ON auction = a.id AND b.ts BETWEEN a.ts AND expires GROUP BY a.id, seller, expires) WHERE expires < time_bucket(INTERVAL 1 DAY, {LAST})",
    "q5": f"SELECT auction, n FROM ({COUNTED}) WHERE n = most",
    "q7": f"SELECT b.auction, b.bidder, b.price, b.ts, b.extra FROM {BID} b JOIN (SELECT {HALF.format('bid')} + INTERVAL 12 HOUR AS e, max(price) AS top FROM bid GROUP BY e) m ON price = top AND ts BETWEEN e - INTERVAL 12 HOUR AND e WHERE e <= (SELECT max(ts) FROM bid)",
    "q8": f"SELECT DISTINCT p.id, name, {HALF.format('p')} AS s FROM person p JOIN auction a ON seller = p.id AND {HALF.format('p')} = {HALF.format('a')} WHERE s + INTERVAL 12 HOUR <= least((SELECT max(ts) FROM person), (SELECT max(ts) FROM auction))",
    "q10": f"SELECT auction, bidder, price, ts, extra, strftime(ts, '%Y-%m-%d'), strftime(ts, '%H:%M') FROM {BID}",
    "q11": "SELECT bidder, count(*), min(ts), max(ts) + INTERVAL 12 HOUR AS e FROM (SELECT *, count(*) FILTER (WHERE apart) OVER (PARTITION BY bidder ORDER BY ts) AS n FROM (SELECT *, ts - lag(ts) OVER (PARTITION BY bidder ORDER BY ts) >= INTERVAL 12 HOUR AS apart FROM bid)) GROUP BY bidder, n HAVING e <= (SELECT max(ts) FROM bid)",
    "q12": "SELECT bidder, count(*), s, s + INTERVAL 12 HOUR FROM (SELECT bidder, TIMESTAMP '2026-01-01' + INTERVAL 1 DAY * list_position(files, filename) AS s FROM read) WHERE s < (SELECT TIMESTAMP '2026-01-01' + INTERVAL 1 DAY * len(files) FROM read LIMIT 1) GROUP BY bidder, s",
    "q14": f"SELECT auction, bidder, 0.908 * price AS p, CASE WHEN hour(ts) BETWEEN 8 AND 18 THEN 'dayTime' WHEN hour(ts) IN (7, 19) THEN 'otherTime' ELSE 'nightTime' END, ts, extra, len(list_filter(string_split(extra, ''), lambda c: c = 'c')) FROM {BID} WHERE p > 1000000 AND p < 50000000",
    "q13": "SELECT auction, bidder, price, ts, value FROM bid JOIN side ON auction % 10000 = key",
    "q15": f"SELECT strftime(ts, '%Y-%m-%d') AS d, {BIDS}, {BIDDERS}, {AUCTIONS} FROM bid {MINUTES} GROUP BY d",
    "q16": f"SELECT channel, strftime(ts, '%Y-%m-%d') AS d, max(strftime(ts, '%H:%M')), {BIDS}, {BIDDERS}, {AUCTIONS} FROM bid {MINUTES} GROUP BY channel, d",
    "q17": f"SELECT auction, strftime(ts, '%Y-%m-%d') AS d, {BIDS}, min(price), max(price), avg(price), sum(price)::BIGINT FROM bid {MINUTES} GROUP BY auction, d",
    "q20": f"SELECT auction, bidder, price, channel, url, b.ts, b.extra, item_name, description, initial_bid, reserve, a.ts, expires, seller, category, md5(description) FROM {BID} b JOIN auction a ON auction = a.id WHERE category = 10",
    "q21": f"SELECT auction, bidder, price, channel, coalesce((nullif(list_position(['apple', 'google', 'facebook', 'baidu'], lower(channel)), 0) - 1)::VARCHAR, {NUMBER}) FROM bid",
    "q22": "SELECT auction, bidder, price, channel, split_part(url, '/', 4), split_part(url, '/', 5), split_part(url, '/', 6) FROM bid",
}


def left(db: duckdb.DuckDBPyConnection, changes: pa.Table) -> pa.Table:
    """The rows that came more often than they left."""
    db.register("changes", changes)
    rows = "SELECT * EXCLUDE (window_end, deleted) FROM changes WHERE {} deleted"
    return db.sql(f"{rows.format('NOT')} EXCEPT ALL {rows.format('')}").to_arrow_table()


def newest(db: duckdb.DuckDBPyConnection, changes: pa.Table, keys: int) -> pa.Table:
    """The newest row of each key."""
    db.register("changes", changes)
    by = ", ".join(f'"{name}"' for name in changes.column_names[:keys])
    order = f"row_number() OVER (PARTITION BY {by} ORDER BY window_end DESC) = 1"
    return db.sql(f"SELECT * EXCLUDE (window_end, deleted) FROM changes QUALIFY {order}").to_arrow_table()


def briefly(script: Path, data: Path) -> str:
    """A script over other data, its windows of hours, as there are few events."""
    sql = script.read_text().replace("data/nexmark", str(data))
    for short, long in (("10 SECONDS", "12 HOURS"), ("'10' SECOND", "'12' HOUR"), ("'2' SECOND", "'3' HOUR")):
        sql = sql.replace(short, long)
    return sql


def check(session: LocalSession, db: duckdb.DuckDBPyConnection, data: Path, defined: dict[str, str]) -> None:
    """Each query has what DuckDB gives over all the data."""
    for name in NAMES:
        db.execute(f"""CREATE VIEW {name} AS SELECT *, "at" AS ts FROM '{data}/{name}/*.parquet'""")
    db.execute(f"CREATE VIEW side AS FROM '{data}/side_input.csv'")
    for name, text in defined.items():
        found, expected = session.handle(name).results(), db.sql(text).to_arrow_table()
        if name in CHANGING:
            found = newest(db, found, CHANGING[name])
        elif "deleted" in found.column_names:
            found = left(db, found)
        assert expected.num_rows > 1, name
        compare(found, expected.rename_columns(found.column_names), 1e-9, 1e-9)


def test_nexmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(Nexmark(events=EVENTS, rate=RATE), tmp_path / "data", "parquet", EVENTS // 4)
    make("side_input", tmp_path / "data", 0)
    session = LocalSession(tmp_path / "run", 2)
    declare_from(session, str(SCRIPT.with_name("count_char.py")))
    session.sql(briefly(SCRIPT, tmp_path / "data"))
    assert set(session.catalog.queries) == set(DEFINED)
    files = {f"{name}_events": sorted((tmp_path / "data" / name).glob("*.parquet")) for name in NAMES}
    files["bids_as_read"] = files["bid_events"]
    for at in range(max(map(len, files.values()))):
        now = datetime(2026, 1, 2 + at, 1, tzinfo=UTC).timestamp()
        monkeypatch.setattr("thalweg.state.clock.nanoseconds", partial(int, now * 1e9))
        session.batch([(name, str(paths[at])) for name, paths in files.items() if at < len(paths)])
    with duckdb.connect() as db:
        paths = [str(p) for p in files["bids_as_read"]]
        db.execute(
            f"CREATE VIEW read AS SELECT *, {paths} AS files FROM read_parquet({paths}, filename = true)"
        )
        check(session, db, tmp_path / "data", DEFINED)
    session.close()


def test_nexmark_as_one_stream(tmp_path: Path) -> None:
    data = tmp_path / "data"
    write(Nexmark(events=EVENTS, rate=RATE), data, "parquet", EVENTS // 4)
    events = write_events(data, data / "events")
    make("side_input", data, 0)
    declared = briefly(ONE_STREAM, data).partition("-- All queries")[0].replace("'4 seconds'", "'0 seconds'")
    asked = briefly(SCRIPT, data).partition("-- Rows of one stream")[2]
    before, after = asked.split("-- Windows of processing time")
    session = LocalSession(tmp_path / "run", 2)
    declare_from(session, str(SCRIPT.with_name("count_char.py")))
    session.sql(f"{declared}--{before}--{after[after.index('-- Queries over queries') :]}")
    for path in events:
        session.batch([("nexmark", str(path))])
    ends = (LAST, "least((SELECT max(ts) FROM person), (SELECT max(ts) FROM auction))")
    defined = {name: text for name, text in DEFINED.items() if name != "q12"}
    for end in ends:  # the last event of all is a bid
        defined = {name: text.replace(end, LAST_BID) for name, text in defined.items()}
    with duckdb.connect() as db:
        check(session, db, data, defined)
    session.close()


def test_the_example_of_one_stream(tmp_path: Path) -> None:
    data = tmp_path / "data"
    write(Nexmark(events=EVENTS, rate=RATE), data, "parquet", EVENTS // 4)
    session = LocalSession(tmp_path / "run", 2)
    events = write_events(data, data / "events")
    session.sql(briefly(ONE_STREAM, data))
    for path in events:
        session.batch([("nexmark", str(path))])
    assert all(session.handle(name).results().num_rows for name in session.catalog.queries)
    session.close()
