"""Queries as many users of one stream ask them: dashboards over ads, bids of the auctions that someone follows, and a mixture."""

from __future__ import annotations

from random import Random

from benchmarks.sharing_feeds import AD_VALUES

AGGREGATES = "COUNT(*) AS n, SUM(price) AS total, MAX(price) AS highest"
AD_WINDOWS = "WINDOWS(TUMBLE '10 seconds', TUMBLE '1 minute', TUMBLE '5 minutes')"
BID_WINDOWS = "WINDOWS(TUMBLE '2 seconds', TUMBLE '10 seconds', HOP '10 seconds' BY '2 seconds')"
CHANNELS = ("Apple", "Google", "Facebook", "Baidu")
JOINED = "bid AS b [RANGE 10 SECONDS], auction AS a [RANGE 20 SECONDS]"


def dashboard_queries(count: int) -> tuple[str, ...]:
    """By campaign: half of them for one audience, half for a range of prices."""
    random = Random(11)
    audiences = random.sample(range(AD_VALUES["audience"]), count)
    found = []
    for i, audience in enumerate(audiences):
        low, width = (
            random.randrange(AD_VALUES["price"] * 9 // 10),
            random.randrange(50, AD_VALUES["price"] // 10),
        )
        condition = f"price >= {low} AND price < {low + width}" if i % 2 else f"audience = {audience}"
        shown = f"campaign, window_id, window_start, {AGGREGATES}"
        found.append(f"SELECT {shown} FROM ad WHERE {condition} GROUP BY campaign, {AD_WINDOWS}")
    return tuple(found)


def bid_joins(count: int) -> tuple[str, ...]:
    """The bids of auctions that a user follows."""
    random = Random(13)
    return tuple(_bids(random) for _ in range(count))


def paced_queries(count: int) -> tuple[str, ...]:
    """What is sold by category, over windows of some lengths, every one to ten seconds, or in windows that tumble."""
    random = Random(19)
    return tuple(_paced(random) for _ in range(count))


def mixed_queries(count: int) -> tuple[str, ...]:
    """Windows over bids, bids of auctions, and aggregates over such joins, in turns."""
    random = Random(17)
    return tuple((_windows, _bids, _categories)[i % 3](random) for i in range(count))


def _windows(random: Random) -> str:
    where = f"price > {_price(random)} AND channel = '{random.choice(CHANNELS)}'"
    return f"SELECT auction, window_id, window_start, {AGGREGATES} FROM bid WHERE {where} GROUP BY auction, {BID_WINDOWS}"


def _bids(random: Random) -> str:
    shown = random.choice(
        (
            "b.auction, b.bidder, b.price",
            "b.auction, b.price, a.seller, a.category",
            "b.bidder, b.price, a.reserve",
        )
    )
    return f"SELECT {shown} FROM {JOINED} WHERE b.auction = a.id AND {_interest(random)}"


def _categories(random: Random) -> str:
    shown = "a.category, COUNT(*) AS n, SUM(b.price) AS total, MAX(b.price) AS highest"
    return f"SELECT {shown} FROM {JOINED} WHERE b.auction = a.id AND {_interest(random)} GROUP BY a.category EVERY 1 SECOND"


def _paced(random: Random) -> str:
    shown, where = (
        "a.category, COUNT(*) AS n, MAX(b.price) AS highest",
        f"b.auction = a.id AND {_interest(random)}",
    )
    if random.random() < 0.25:
        seconds = random.choice((5, 10))
        windows = f"bid AS b [TUMBLE {seconds} SECONDS], auction AS a [TUMBLE {seconds} SECONDS]"
        return f"SELECT {shown} FROM {windows} WHERE {where} GROUP BY a.category"
    windows = f"bid AS b [RANGE {random.choice((5, 10))} SECONDS], auction AS a [RANGE 10 SECONDS]"
    every = random.choice((1, 2, 5, 10))
    return f"SELECT {shown} FROM {windows} WHERE {where} GROUP BY a.category EVERY {every} SECONDS"


def _interest(random: Random) -> str:
    """A category above some price, a channel, cheap auctions, or some sellers."""
    seller = 1_000 + random.randrange(2_000)
    return random.choice(
        (
            f"a.category = {10 + random.randrange(5)} AND b.price > {_price(random)}",
            f"b.channel = '{random.choice(CHANNELS)}' AND b.price > {_price(random)}",
            f"a.initial_bid < {_price(random)} AND b.price > {_price(random)}",
            f"a.seller >= {seller} AND a.seller < {seller + 500}",
        )
    )


def _price(random: Random) -> int:
    """Prices are log-uniform, and so is what people think is much."""
    return round(100 * 10 ** random.uniform(1, 5.5))
