"""The three streams of generated Nexmark as the one stream that Flink's Nexmark has: an event type, and a struct for each kind."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb

PERSON = """{'id': id, 'name': name, 'emailAddress': email, 'creditCard': credit_card, 'city': city, 'state': state,
    'dateTime': "at", 'extra': md5(name)}"""
AUCTION = """{'id': id, 'itemName': item_name, 'description': description, 'initialBid': initial_bid, 'reserve': reserve, 'dateTime': "at",
    'expires': expires, 'seller': seller, 'category': category, 'extra': md5(description)}"""
BID = """{'auction': auction, 'bidder': bidder, 'price': price, 'channel': channel, 'url': url, 'dateTime': "at", 'extra': md5(url)}"""
KINDS = {"person": PERSON, "auction": AUCTION, "bid": BID}


def events_sql(folder: Path, number: int) -> str:
    """The rows of one file of each stream, in their order."""
    parts = []
    for kind, (name, struct) in enumerate(KINDS.items()):
        values = ", ".join(f"{struct if other == name else 'NULL'} AS {other}" for other in KINDS)
        files = sorted((folder / name).glob("*.parquet"))
        if number < len(files):
            parts.append(
                f"""SELECT {kind}::INTEGER AS event_type, {values}, "at" AS t FROM '{files[number]}'"""
            )
    return f"SELECT * EXCLUDE (t) FROM ({' UNION ALL BY NAME '.join(parts)}) ORDER BY t"


def write_events(folder: Path, out: Path) -> list[Path]:
    """One file for each file that the streams have; returns them in order."""
    out.mkdir(parents=True, exist_ok=True)
    count = max(len(list((folder / name).glob("*.parquet"))) for name in KINDS)
    with duckdb.connect() as db:
        for number in range(count):
            db.execute(
                f"COPY ({events_sql(folder, number)}) TO '{out / f'{number:05}.parquet'}' (FORMAT parquet)"
            )
    return [out / f"{number:05}.parquet" for number in range(count)]


if __name__ == "__main__":
    write_events(Path(sys.argv[1]), Path(sys.argv[2]))
