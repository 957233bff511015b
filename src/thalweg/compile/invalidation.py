"""When rows of a window join are forgotten: the four strategies of windowed joins, beside dropping whole slots.

A row is expired when every partner that may still come finds it out of its window. With `slot` rows lie in files by time: a file
is dropped once all of its rows are expired, and only the one at the edge is cut. The others look at rows when new ones come:
those of the probed buckets of the other inputs (probe), of the bucket that a row is put into as well (probe-and-insert), of all
buckets of the other inputs (probe-all), or of all buckets of all inputs (both-all).
"""

from __future__ import annotations

from collections.abc import Iterable

from thalweg.model.nesting import frontier_of
from thalweg.model.query import TUMBLE
from thalweg.plan.ranges import Frontiers
from thalweg.plan.shape import Shape

SLOT, PROBE, PROBE_AND_INSERT, PROBE_ALL, BOTH_ALL = (
    "slot",
    "probe",
    "probe-and-insert",
    "probe-all",
    "both-all",
)
BUCKETS = 64


def gone_sql(shape: Shape, number: int, frontiers: Frontiers, fresh: Iterable[int]) -> str | None:
    """Which rows of a side its strategy takes out, given the inputs that have new rows; None where it looks at none of them."""
    strategy, others = shape.join.invalidate, [n for n in fresh if n != number]
    own = number in fresh
    looked = bool(others) or (own and strategy in (PROBE_AND_INSERT, BOTH_ALL))
    expired = _expired(shape, number, frontiers)
    if not looked or expired is None:
        return None
    if strategy in (PROBE, PROBE_AND_INSERT):
        touched = [*others, *([number] if own and strategy == PROBE_AND_INSERT else [])]
        buckets = " OR ".join(found for n in touched if (found := _touched(shape, number, n)))
        if buckets:
            expired = f"{expired} AND ({buckets})"
    return expired


def _touched(shape: Shape, number: int, by: int) -> str | None:
    """Whether a row is in a bucket that new rows of an input go to; None where the two have no columns in common."""
    side, other = shape.sides[number], shape.sides[by]
    common = [
        (mine, theirs) for mine, theirs in zip(side.route, other.route, strict=False) if mine and theirs
    ]
    if not common:
        return None
    mine, theirs = common[0]
    return f'{_bucket(mine)} IN (SELECT {_bucket(theirs)} FROM "side_{other.id}" WHERE "__new")'


def _bucket(columns: tuple[int, ...]) -> str:
    names = ", ".join(f'"c{i}"' for i in columns)
    return f"hash({names}) % {BUCKETS}"


def _expired(shape: Shape, number: int, frontiers: Frontiers) -> str | None:
    given = shape.query.inputs[number]
    others = [shape.query.inputs[n].source for n in shape.streams if n != number]
    frontier = frontier_of(others, frontiers)
    if frontier is None or given.length is None:
        return None
    if given.kind == TUMBLE:
        return f'"slot" < {frontier // given.length * given.length}'
    return f'"slot" + {given.length} <= {frontier}'
