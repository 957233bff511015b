"""The streams of the sharing benchmark, drawn by numpy from a seed: AJoin's attributes, ads, and Nexmark's auctions.

Events come in order and at a constant pace; a batch is a file of every stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

from benchmarks.data import BASE
from benchmarks.sharing_template import ATTRIBUTES, VALUES
from thalweg.generate import Nexmark
from thalweg.generate.nexmark import EPOCH, PEOPLE
from thalweg.testing.bound import bind_statements
from thalweg.testing.feeds import placed_sql, write_batches

SECOND = 1_000_000
Chunks = list[tuple[str, str]]
"""The files of a batch, each with its stream."""


class Feed(Protocol):
    """Streams and their rows."""

    @property
    def sql(self) -> str:
        """The streams as a user declares them, without a place."""

    @property
    def events(self) -> int:
        """Events of a batch that is measured, over all streams."""

    def batches(self, count: int) -> Iterator[dict[str, pa.Table]]:
        """The first batches, by stream."""


@dataclass(frozen=True)
class Attributes:
    """AJoin's streams of these numbers: six uniform attributes, equal rates, a seed each.

    At `rate` rows per second a row has `2 * rate * window / values` partners in another stream.
    """

    streams: tuple[int, ...]
    events: int = 8_000
    rate: int = 250
    values: int = VALUES

    @property
    def sql(self) -> str:
        """The streams."""
        columns = ", ".join(f"a{i} INT" for i in range(ATTRIBUTES))
        return "".join(_stream(f"s{n}", f"{columns}, ts TIMESTAMP", "ts") for n in self.streams)

    def batches(self, count: int) -> Iterator[dict[str, pa.Table]]:
        """The first batches, by stream."""
        return ({f"s{n}": self._rows(n, batch) for n in self.streams} for batch in range(count))

    def _rows(self, stream: int, batch: int) -> pa.Table:
        size = self.events // len(self.streams)
        random = np.random.default_rng((stream, batch))
        columns = {f"a{i}": random.integers(0, self.values, size, dtype=np.int32) for i in range(ATTRIBUTES)}
        return pa.table({**columns, "ts": _times(batch * size, size, self.rate)})


@dataclass(frozen=True)
class Ads:
    """Events of ads: 100 campaigns, 1,000 audiences, prices in cents."""

    events: int = 1_000_000
    rate: int = 10_000

    @property
    def sql(self) -> str:
        """The stream."""
        return _stream("ad", "campaign INT, audience INT, price INT, at TIMESTAMP", "at")

    def batches(self, count: int) -> Iterator[dict[str, pa.Table]]:
        """The first batches."""
        return ({"ad": self._rows(batch)} for batch in range(count))

    def _rows(self, batch: int) -> pa.Table:
        random = np.random.default_rng((100, batch))
        drawn = {name: random.integers(0, n, self.events, dtype=np.int32) for name, n in AD_VALUES.items()}
        return pa.table({**drawn, "at": _times(batch * self.events, self.events, self.rate)})


AD_VALUES = {"campaign": 100, "audience": 1_000, "price": 10_000}


@dataclass(frozen=True)
class Auctions:
    """Nexmark's bids and auctions, `keys` of them open at a time; the first batch has `fill` seconds and fills the windows.

    Of the `size` events that the generator makes for a batch, one in 50 is a person and left out.
    """

    size: int = 10_200
    rate: int = 10_000
    keys: int = 10_000
    fill: int = 20

    @property
    def sql(self) -> str:
        """The streams, with the columns that queries read."""
        return "".join(_stream(name, columns, "at") for name, columns in AUCTION_COLUMNS.items())

    @property
    def events(self) -> int:
        """Events of a batch."""
        return self.size // EPOCH * (EPOCH - PEOPLE)

    def batches(self, count: int) -> Iterator[dict[str, pa.Table]]:
        """The first batches, by stream."""
        sizes = [self.fill * self.rate, *[self.size] * (count - 1)]
        made = Nexmark(sum(sizes), self.rate, self.keys)
        for low, high in pairwise(accumulate(sizes, initial=0)):
            found = made.tables(np.arange(low, high))
            yield {
                name: found[name].select([c.split()[0] for c in columns.split(", ")])
                for name, columns in AUCTION_COLUMNS.items()
            }


AUCTION_COLUMNS = {
    "bid": "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, at TIMESTAMP",
    "auction": "id BIGINT, initial_bid BIGINT, reserve BIGINT, seller BIGINT, category BIGINT, at TIMESTAMP",
}


def written(feed: Feed, count: int, directory: Path) -> list[Chunks]:
    """Write the first batches of a feed under a directory, where `placed_sql` lets its streams look for them."""
    streams = bind_statements(placed_sql(feed.sql, directory)).streams
    found = []
    for batch in feed.batches(count):
        found.append(
            [
                (name, str(write_batches(directory / name, streams[name], [rows])[0]))
                for name, rows in batch.items()
            ]
        )
    return found


def _stream(name: str, columns: str, time: str) -> str:
    return f"CREATE STREAM {name} ({columns}) WITH (time = '{time}', watermark = '0 seconds');\n"


def _times(first: int, count: int, rate: int) -> pa.Array:
    return pa.array(BASE + (first + np.arange(count)) * (SECOND // rate), pa.timestamp("us", "UTC"))
