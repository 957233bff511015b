"""Queries that run for ever with bounded state, and their data: a stream with a table, and three streams of Nexmark."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from thalweg.generate import Nexmark

ROWS, TABLE, THREE_WAY = "gold_bids", "levels", "states"
PEOPLE, LEVELS = 2_000, ("gold", "silver", "bronze", "none")
STREAMS = """
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, at TIMESTAMP) WITH (time = 'at', watermark = '1 second');
CREATE STREAM auction (id BIGINT, seller BIGINT, category BIGINT, at TIMESTAMP) WITH (time = 'at', watermark = '1 second');
CREATE STREAM person (id BIGINT, state STRING, at TIMESTAMP) WITH (time = 'at', watermark = '1 second');
CREATE TABLE member (id BIGINT, level STRING) WITH (format = 'parquet');
"""
QUERIES = f"""
CREATE QUERY {ROWS} AS
  SELECT b.auction, b.bidder, b.price FROM bid AS b [RANGE 1 MINUTE] JOIN member AS m ON b.bidder % {PEOPLE} = m.id
  WHERE m.level = 'gold' AND b.price > 10000000;
CREATE QUERY {TABLE} AS
  SELECT m.level, COUNT(*) AS bids, MAX(b.price) AS highest FROM bid AS b [RANGE 1 MINUTE] JOIN member AS m ON b.bidder % {PEOPLE} = m.id
  GROUP BY m.level EVERY 5 SECONDS;
CREATE QUERY {THREE_WAY} AS
  SELECT a.category, p.state, COUNT(*) AS bids
  FROM bid AS b [RANGE 1 MINUTE] JOIN auction AS a [RANGE 1 MINUTE] ON b.auction = a.id
       JOIN person AS p [RANGE 2 MINUTES] ON a.seller = p.id
  GROUP BY a.category, p.state EVERY 5 SECONDS;
"""
SQL = STREAMS + QUERIES
LONGEST = 120
"""The longest window, in seconds."""
INSTANTS = 60 // 5
"""Results whose windows have a moment in common."""


def member() -> pa.Table:
    """The static table: people by number, each with a level."""
    return pa.table({"id": list(range(PEOPLE)), "level": [LEVELS[min(i * 7 % 10, 3)] for i in range(PEOPLE)]})


def batches(count: int, rate: int, seconds: int) -> Iterator[dict[str, pa.Table]]:
    """Micro-batches of so many seconds of event time at so many events a second, up to a second out of order."""
    return Nexmark(count * rate * seconds, rate, disorder=1.0).chunks(rate * seconds)
