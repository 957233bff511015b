"""The streams of the join benchmarks: `k BIGINT` (joined on), `g BIGINT` (grouped by), `x BIGINT`, `ts TIMESTAMP`, as Parquet.

All values are uniform and independent, as in the papers, and drawn from the row's number, so the same stream is the same
rows in any split into files. Rows come at a constant pace and in order.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path

import duckdb

BASE = 1_700_000_000
MILLION = 1_000_000
COLUMNS = "k BIGINT, g BIGINT, x BIGINT, ts TIMESTAMP"


@dataclass(frozen=True)
class JoinFeed:
    """A stream: rows per second of event time, values of the join attribute, of the grouping attribute, and of x."""

    rate: int
    keys: int
    groups: int = 1
    values: int = 1_000
    seed: int = 1

    @property
    def name(self) -> str:
        """The directory of its files."""
        return f"rate-{self.rate}-keys-{self.keys}-groups-{self.groups}-values-{self.values}-seed-{self.seed}"


def rows_sql(feed: JoinFeed, first: float, last: float) -> str:
    """The rows of a stretch of time, in seconds from the beginning of the stream."""
    low, high = round(first * feed.rate), round(last * feed.rate)
    drawn = [
        f"(hash(i * 7 + {feed.seed * 1_000_003 + n}) % {m})::BIGINT AS {c}"
        for n, (c, m) in enumerate(_domains(feed))
    ]
    time = f"make_timestamp({BASE * MILLION} + (i * {MILLION}) // {feed.rate}) AS ts"
    return f"SELECT {', '.join([*drawn, time])} FROM range({low}, {high}) AS rows(i)"


def _domains(feed: JoinFeed) -> tuple[tuple[str, int], ...]:
    return ("k", feed.keys), ("g", feed.groups), ("x", feed.values)


def files(feed: JoinFeed, spans: tuple[float, ...], root: Path) -> list[Path]:
    """A file for each of the following stretches of time, made where it is not there yet."""
    folder = root / feed.name
    folder.mkdir(parents=True, exist_ok=True)
    bounds = list(pairwise(accumulate((0.0, *spans))))
    paths = [
        folder / f"{number:04d}-{first:g}-{last:g}.parquet" for number, (first, last) in enumerate(bounds)
    ]
    for number, (path, (first, last)) in enumerate(zip(paths, bounds, strict=True)):
        if not path.exists():
            _write(rows_sql(feed, first, last), path, number)
    return paths


def _write(sql: str, path: Path, number: int) -> None:
    """Whole or not at all, with a modification time that gives the order, which Spark's file source follows."""
    unfinished = path.with_suffix(f".{os.getpid()}")
    _database().execute(f"COPY ({sql}) TO '{unfinished}' (FORMAT parquet, ROW_GROUP_SIZE 122880)")
    os.utime(unfinished, (BASE + number, BASE + number))
    unfinished.replace(path)


@cache
def _database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1})


def place(paths: list[Path], directory: Path) -> Path:
    """Put files into a directory of a run."""
    directory.mkdir(parents=True, exist_ok=True)
    for path in paths:
        (directory / path.name).hardlink_to(path)
    return directory
