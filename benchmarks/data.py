"""The events of the benchmarks: `k INTEGER, ts TIMESTAMP, v DOUBLE` at a constant pace, as Parquet files, made once.

There are 10 M different (k, v) pairs; a stream of more events repeats them at later times. Every engine reads the same
files: a run gets hard links to the first of them, in the order of their modification times, which Spark's file source follows.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parent.parent / "bench-data"
BASE = 1_700_000_000_000_000
EVENTS = 10_000_000
ROW_GROUP = 125_000


@dataclass(frozen=True)
class Feed:
    """A stream of events. `rate` is in events per second of event time and divides a million.

    With `readings`, a CSV file with the columns ts and mf01, these are the events, over and over at later times.
    """

    file_events: int
    keys: int = 100
    rate: int = 1_000
    seed: int = 1
    readings: str = ""

    def __post_init__(self) -> None:
        if 1_000_000 % self.rate:
            raise ValueError(
                f"a rate of {self.rate} events per second is not a whole number of microseconds apart"
            )

    @property
    def name(self) -> str:
        """The directory of its files."""
        if self.readings:
            return f"events-{self.file_events}-{Path(self.readings).name.partition('.')[0]}"
        return f"events-{self.file_events}-keys-{self.keys}-rate-{self.rate}-seed-{self.seed}"

    def time_of(self, event: int) -> int:
        """The event time of an event, in microseconds.

        >>> Feed(10).time_of(5) - BASE
        5000
        """
        return BASE + event * (1_000_000 // self.rate)


def table(feed: Feed, number: int) -> pa.Table:
    """File `number` of a feed."""
    events = np.arange(number * feed.file_events, (number + 1) * feed.file_events)
    if feed.readings:
        return _repeated(feed, events)
    k, v = _columns(feed.keys, feed.seed)
    ts = BASE + events * (1_000_000 // feed.rate)
    places = events % EVENTS
    return pa.table({"k": k[places], "ts": pa.array(ts, pa.timestamp("us", "UTC")), "v": v[places]})


def files(feed: Feed, count: int, root: Path = ROOT) -> list[Path]:
    """The first `count` files of a feed, made where they are not there yet."""
    folder = root / feed.name
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{i:06d}.parquet" for i in range(count)]
    for i, path in enumerate(paths):
        if not path.exists():
            _write(table(feed, i), path, i)
    return paths


def place(feed: Feed, count: int, directory: Path, root: Path = ROOT) -> Path:
    """Put the first `count` files of a feed into a directory of a run."""
    directory.mkdir(parents=True, exist_ok=True)
    for path in files(feed, count, root):
        (directory / path.name).hardlink_to(path)
    return directory


def _repeated(feed: Feed, events: np.ndarray) -> pa.Table:
    """Readings, over and over, each time as much later as they are long."""
    times, values = _readings(feed.readings)
    span = times[-1] - times[0] + 1_000_000 // feed.rate
    places = events % len(times)
    ts = BASE + times[places] - times[0] + events // len(times) * span
    one_key = np.zeros(len(events), np.int32)
    return pa.table({"k": one_key, "ts": pa.array(ts, pa.timestamp("us", "UTC")), "v": values[places]})


@lru_cache(maxsize=1)
def _readings(path: str) -> tuple[np.ndarray, np.ndarray]:
    """Event times in microseconds, in order, and the electrical power of main phase 1."""
    rows = duckdb.sql(
        f"SELECT epoch_us(substr(ts, 1, 26)::TIMESTAMP) AS t, mf01::DOUBLE AS v FROM read_csv('{path}', all_varchar = true) ORDER BY t"
    ).fetchnumpy()
    return np.asarray(rows["t"]), np.asarray(rows["v"])


@lru_cache(maxsize=1)
def _columns(keys: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.integers(0, keys, EVENTS, dtype=np.int32), random.random(EVENTS)


def _write(rows: pa.Table, path: Path, number: int) -> None:
    """Whole or not at all, with a modification time that gives the order."""
    unfinished = path.with_suffix(f".{os.getpid()}")
    pq.write_table(rows, unfinished, row_group_size=ROW_GROUP)
    seconds = BASE // 1_000_000 + number
    os.utime(unfinished, (seconds, seconds))
    unfinished.replace(path)
