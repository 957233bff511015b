"""Data for the examples: `python examples/make_data.py packets|auctions|ysb|side_input [--events N] [--out DIR]`. It makes the same again."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import duckdb

# Two hours of event time from 2026-01-01 on; `hash` is what is random about an event.
MACROS = """
CREATE MACRO pick(n, salt, choices) AS (hash(n, salt) % choices)::BIGINT;
CREATE MACRO moment(n, events) AS make_timestamp(1767225600000000 + (n * 7200000000 // events)::BIGINT);
CREATE MACRO address(n) AS '10.' || (n // 65536) || '.' || (n // 256 % 256) || '.' || (n % 256);
"""
PACKETS = {
    # A packet of one of 200 terminals passes its customer link; two in three then pass the backbone, 1 to 50 ms later.
    "ClinkPacket": """
        SELECT n AS id, address(pick(n, 'source', 200)) AS source, address(1000 + pick(n, 'destination', 500)) AS destination,
               (40 + pick(n, 'length', 1461))::INT AS length, moment(n, {events}) AS time
        FROM range({events}) t(n)""",
    "BlinkPacket": """
        SELECT id, source, destination, length, time + to_microseconds(1000 + pick(id, 'delay', 49000)) AS time
        FROM ({ClinkPacket}) WHERE hash(id, 'backbone') % 3 > 0""",
}
AUCTIONS = {
    # One event in twenty opens an auction; the others are bids on one of the last 200 auctions.
    "Auction": """
        SELECT moment(n, {events}) AS timestamp, n // 20 AS auctionID, pick(n, 'seller', 2000) AS seller,
               (1 + pick(n, 'start', 100))::DOUBLE AS startPrice
        FROM range({events}) t(n) WHERE n % 20 = 0""",
    "Bid": """
        SELECT moment(n, {events}) AS timestamp, greatest(n // 20 - pick(n, 'auction', 200), 0) AS auctionID,
               pick(n, 'bidder', 5000) AS bidderID, (1 + pick(n, 'price', 10000)) / 10 AS bidPrice
        FROM range({events}) t(n) WHERE n % 20 > 0""",
}
PERSONS = """
    SELECT n AS personID, 'person ' || n AS name, ['CA', 'NH', 'NY', 'TX', 'VT', 'WA'][1 + pick(n, 'state', 6)] AS state
    FROM range(2000) t(n)"""

# Ten ads of each of a hundred campaigns, and events on them: a third are views.
CAMPAIGNS = "SELECT 'ad-' || n AS ad_id, 'campaign-' || n // 10 AS campaign_id FROM range(1000) t(n)"
YSB = {
    "events": """
        SELECT 'user-' || pick(n, 'user', 10000) AS user_id, 'page-' || pick(n, 'page', 1000) AS page_id, 'ad-' || pick(n, 'ad', 1000) AS ad_id,
               ['banner', 'modal', 'sponsored-search', 'mail', 'mobile'][1 + pick(n, 'type', 5)] AS ad_type,
               ['view', 'click', 'purchase'][1 + pick(n, 'event', 3)] AS event_type, address(pick(n, 'ip', 60000)) AS ip_address,
               moment(n, {events}) AS event_time
        FROM range({events}) t(n)""",
}
# The table of Nexmark's q13: a value for each of 10,000 keys.
SIDE_INPUT = "SELECT n AS key, 'value ' || n AS value FROM range(10000) t(n)"


def make(workload: str, out: Path, events: int) -> None:
    """Write the streams of an example as folders of Parquet files, its table as one file."""
    out.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(config={"threads": 1}) as db:
        if workload == "side_input":
            db.execute(f"COPY ({SIDE_INPUT}) TO '{_quoted(out / 'side_input.csv')}' (FORMAT csv, HEADER)")
            return
        db.execute(MACROS)
        known = {"events": str(events)}
        for name, sql in STREAMS[workload].items():
            known[name] = sql.format(**known)
            _write_stream(db, out / name, known[name])
        if workload == "ysb":
            db.execute(f"COPY ({CAMPAIGNS}) TO '{_quoted(out / 'campaigns.parquet')}' (FORMAT parquet)")
        if workload == "auctions":
            db.execute(f"COPY ({PERSONS}) TO '{_quoted(out / 'Person.parquet')}' (FORMAT parquet)")


def _write_stream(db: duckdb.DuckDBPyConnection, folder: Path, sql: str) -> None:
    """Files of ten minutes, dated in the order of their rows, for streams take files by their modification times."""
    folder.mkdir(exist_ok=True)
    db.execute(f"CREATE TEMP TABLE rows AS {sql}")
    (time,) = (n for n, kind, *_ in db.execute("DESCRIBE rows").fetchall() if kind == "TIMESTAMP")
    for (part,) in db.execute(
        f"SELECT DISTINCT time_bucket(INTERVAL 10 MINUTES, {time}) FROM rows ORDER BY ALL"
    ).fetchall():
        path = folder / f"{part:%H%M}.parquet"
        chosen = f"FROM rows WHERE time_bucket(INTERVAL 10 MINUTES, {time}) = TIMESTAMP '{part}' ORDER BY ALL"
        db.execute(f"COPY ({chosen}) TO '{_quoted(path)}' (FORMAT parquet)")
        os.utime(path, (part.timestamp(), part.timestamp()))
    db.execute("DROP TABLE rows")


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


FOLDERS = {"packets": "packets", "auctions": "vermont", "side_input": "nexmark", "ysb": "ysb"}
STREAMS = {"packets": PACKETS, "auctions": AUCTIONS, "ysb": YSB}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workload", choices=list(FOLDERS))
    parser.add_argument("--events", type=int, default=300_000)
    parser.add_argument("--out", type=Path, help="where to write, if not below data/")
    given = parser.parse_args()
    make(
        given.workload,
        given.out or Path("data") / FOLDERS[given.workload],
        given.events,
    )


if __name__ == "__main__":
    main()
