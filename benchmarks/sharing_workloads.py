"""What the sharing benchmark asks: queries over streams, by part, case and value, in order.

Joins of AJoin's template run at 250 rows per second and stream, so that with 500 values a row has one to three partners in
another stream; a batch of 8,000 events is then 16 s of two streams, longer than the windows. With 100 queries it makes about as many
result rows a query as it has events, a fifth of that with predicates; writing them as Parquet then takes less than a tenth of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

from benchmarks.sharing_feeds import Ads, Attributes, Auctions, Feed
from benchmarks.sharing_template import (
    Asked,
    Conditions,
    no_conditions,
    one_comparison,
    pattern_of,
    queries_of,
    share,
)
from benchmarks.sharing_users import bid_joins, dashboard_queries, mixed_queries, paced_queries

COUNTS = (1, 5, 20, 100, 500)
WARMUP = 3
HALF = Fraction(1, 2)
WITHOUT, WITH = "no predicates", "a predicate per stream"


@dataclass(frozen=True)
class Workload:
    """Queries over a feed. part, case, value: where it stands in the report. warmup, measured: batches."""

    part: str
    case: str
    value: float
    feed: Feed
    queries: tuple[str, ...]
    warmup: int
    measured: int

    @property
    def batches(self) -> int:
        """All batches."""
        return self.warmup + self.measured


def drawn(
    count: int, ways: int = 2, wanted: Fraction = HALF, conditions: Conditions = one_comparison
) -> tuple[Asked, ...]:
    """Queries of the template, the same in every run."""
    random = Random(7)
    return queries_of(count, pattern_of(ways, random), wanted, conditions, random)


def drawn_groups(count: int, groups: int) -> tuple[Asked, ...]:
    """Queries of several patterns of two streams, in turns."""
    random = Random(7)
    patterns = [pattern_of(2, random) for _ in range(groups)]
    share_of_each = [len(range(n, count, groups)) for n in range(groups)]
    some = [
        queries_of(size, pattern, Fraction(1), one_comparison, random)
        for size, pattern in zip(share_of_each, patterns, strict=True)
    ]
    return tuple(some[n % groups][n // groups] for n in range(count))


def joins(counts: Sequence[int], quick: bool) -> Iterator[Workload]:
    """Figures 15 and 16: more and more queries over two streams, 50 % similar, as the figures have them and with predicates."""
    for case, conditions in ((WITHOUT, no_conditions), (WITH, one_comparison)):
        for count in counts:
            yield _template("joins", case, count, drawn(count, conditions=conditions), quick)


def similarities(counts: Sequence[int], quick: bool) -> Iterator[Workload]:
    """Figure 20d."""
    for percent in (25, 50, 75, 100):
        yield _template(
            "similarity", WITH, percent, drawn(_many(counts), wanted=Fraction(percent, 100)), quick
        )


def ways(counts: Sequence[int], quick: bool) -> Iterator[Workload]:
    """Figure 20a: joins of more and more streams."""
    for number in (2, 3) if quick else (2, 3, 4, 5):
        yield _template("ways", WITH, number, drawn(_many(counts), number), quick)


def shared_data(counts: Sequence[int], quick: bool) -> Iterator[Workload]:
    """Figure 22a: one join predicate for all, and each row belongs to some part of the queries."""
    for number in (2,) if quick else (2, 3):
        for percent in (5, 25, 50, 75):
            asked = drawn(_many(counts), number, Fraction(1), share(percent / 100))
            yield _template("shared-data", f"{number}-way", percent, asked, quick)


def keys(counts: Sequence[int], quick: bool) -> Iterator[Workload]:
    """Figure 17: more and more distinct values, so that a row has fewer and fewer partners."""
    asked = drawn(_many(counts), conditions=no_conditions)
    for values in (100, 500, 5_000, 50_000):
        feed = replace(Attributes(streams_of(asked)), values=values)
        yield _template("keys", WITHOUT, values, asked, quick, feed)


def selectivities(counts: Sequence[int], quick: bool) -> Iterator[Workload]:
    """Figure 17: each query takes some part of the rows of both streams."""
    for percent in (1, 10, 50, 90):
        asked = drawn(_many(counts), conditions=share(percent / 100))
        yield _template("selectivity", "a range per stream", percent, asked, quick)


def groups(counts: Sequence[int], quick: bool) -> Iterator[Workload]:
    """Figure 20c: queries over the same streams that are as many patterns, all of a pattern alike."""
    for number in (1, 4, 16):
        asked = drawn_groups(_many(counts), number)
        yield _template("groups", WITH, number, asked, quick)


def dashboards(counts: Sequence[int], quick: bool) -> Iterator[Workload]:
    """Windowed aggregates over one stream, each with a filter of its own."""
    feed = Ads(200_000) if quick else Ads()
    for count in counts:
        warmup, measured = (1, 2) if quick else (2, 3)
        yield Workload(
            "dashboards", "three windows each", count, feed, dashboard_queries(count), warmup, measured
        )


def dashboards_on_spark(counts: Sequence[int], quick: bool) -> Iterator[Workload]:
    """The most of these dashboards on all cores, a file a batch."""
    feed, count = Ads(200_000) if quick else Ads(), max(counts)
    yield Workload(
        "dashboards-spark",
        "three windows each",
        count,
        feed,
        dashboard_queries(count),
        *((2, 3) if quick else (6, 6)),
    )


def realistic(counts: Sequence[int], quick: bool) -> Iterator[Workload]:
    """Bids joined with their auctions among 10,000 open ones, for users who each follow what they are interested in."""
    for count in counts:
        yield Workload(
            "realistic",
            "bids of auctions",
            count,
            Auctions(),
            bid_joins(count),
            WARMUP,
            _measured(count, quick),
        )


def paces(counts: Sequence[int], quick: bool) -> Iterator[Workload]:
    """Aggregates over a join at instants that are one to ten seconds apart, over windows of some lengths and kinds."""
    for count in counts:
        yield Workload(
            "paces",
            "bids of auctions",
            count,
            Auctions(),
            paced_queries(count),
            WARMUP,
            _measured(count, quick),
        )


def mixed(counts: Sequence[int], quick: bool) -> Iterator[Workload]:
    """Windows, joined rows and aggregates over joins together."""
    count = _many(counts)
    warmup, measured = (5, 5) if quick else (12, 12)
    yield Workload("mixed", "a third each", count, Auctions(), mixed_queries(count), warmup, measured)


PARTS: dict[str, Callable[[Sequence[int], bool], Iterator[Workload]]] = {
    "joins": joins,
    "similarity": similarities,
    "ways": ways,
    "shared-data": shared_data,
    "groups": groups,
    "keys": keys,
    "selectivity": selectivities,
    "dashboards": dashboards,
    "dashboards-spark": dashboards_on_spark,
    "realistic": realistic,
    "paces": paces,
    "mixed": mixed,
}


def _template(
    part: str,
    case: str,
    value: float,
    asked: tuple[Asked, ...],
    quick: bool,
    feed: Attributes | None = None,
) -> Workload:
    return Workload(
        part,
        case,
        value,
        feed or Attributes(streams_of(asked)),
        tuple(a.sql for a in asked),
        WARMUP,
        _measured(len(asked), quick),
    )


def streams_of(asked: Sequence[Asked]) -> tuple[int, ...]:
    """The streams that some query reads."""
    return tuple(sorted({p.stream for a in asked for p in a.parts}))


def _many(counts: Sequence[int]) -> int:
    """How many queries a part has that varies something else: 100, or the most that was asked for."""
    return min(100, max(counts))


def _measured(count: int, quick: bool) -> int:
    return 3 if count > 100 else 5 if quick or count > 20 else 8
