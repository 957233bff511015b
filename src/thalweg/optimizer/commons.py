"""Commons: rows of streams that are kept once for joins by whatever columns, in one partition.

A pool finds partners by the columns that its queries equate, so its rows lie in the hash ranges of these, and a row is kept once per pool.
Where pools are many and rows are few, what costs is that every pool has fragments, files and statements in every partition. Then
joined rows are spread over partitions by pool instead: a commons has the rows of the streams that its pools read, each once with a
query-set of as many words as that takes, and every pool is computed in the partition of its commons.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from thalweg.model.query import Query
from thalweg.optimizer.join_nodes import starts_of
from thalweg.optimizer.pool_costs import FEWEST
from thalweg.optimizer.pools import Begins, Home, Kept, Pool, Prices, pool_of
from thalweg.plan.groups import in_order
from thalweg.plan.nodes import named
from thalweg.plan.pool import BITS, SET, pooled
from thalweg.plan.rooms import Room
from thalweg.plan.sides import sides_of

MOST_WORDS = 16
"""Words of the query-sets of one commons."""


@dataclass(frozen=True)
class Commons:
    """Rows of streams in one partition: what is kept, which may be several of one stream, and the bits that pools have."""

    id: str
    place: int
    kept: tuple[Kept, ...] = ()
    rooms: tuple[Room, ...] = ()

    def room_for(self, size: int) -> Room | None:
        """Free bits for so many queries and another one: the next power of two, at a multiple of it.

        >>> Commons("", 0, rooms=(Room(0, 2),)).room_for(2)
        Room(first=4, size=4)
        """
        wide = min(1 << size.bit_length(), BITS)
        taken = {b for r in self.rooms for b in range(r.first, r.first + r.size)}
        return next(
            (
                Room(s, wide)
                for s in range(0, MOST_WORDS * BITS, wide)
                if taken.isdisjoint(range(s, s + wide))
            ),
            None,
        )

    def keeps(self, wanted: Kept) -> Kept | None:
        """What is kept of a stream, if it has all the columns that are wanted."""
        return next(
            (k for k in self.kept if k.source == wanted.source and set(wanted.columns) <= set(k.columns)),
            None,
        )


def may_gather(query: Query) -> bool:
    """Whether joined rows can be computed from a commons: those of several streams, each read once."""
    streams = [i.source for i in query.inputs if i.is_stream]
    are_rows = query.every is None and not query.windows and not query.stands_apart
    return are_rows and len(streams) > 1 and len({*streams}) == len(streams)


def gathered(
    placed: Mapping[str, Pool],
    alone: Sequence[Query],
    before: Mapping[str, Pool],
    others: Sequence[Query],
    prices: Prices,
    begins: Begins,
    ids: set[str],
) -> tuple[dict[str, Pool], list[Query]]:
    """Pools that are new, and queries that are alone, put into commons where that pays; the pools then, and who is still alone.

    `before` are the pools that run, `others` the queries that run alone: they stay as they are, but they count where it is asked whether
    it pays, so that those that come may be the first of a commons that the next will find.
    """
    fresh = {
        id: p
        for id, p in placed.items()
        if id not in before and may_gather(p.shape) and p.choice.invalidate == "slot"
    }
    singles: dict[Query, list[Query]] = {}
    for query in alone:
        if may_gather(query):
            singles.setdefault(query.meaning, []).append(query)
    running = [[m.query for m in p.members] for p in before.values() if p.members and may_gather(p.shape)]
    coming = [*([m.query for m in p.members] for p in fresh.values()), *singles.values()]
    pools = [*coming, *running, *([q] for q in others if may_gather(q))]
    if _is_too_early(coming, pools, before.values()) or not prices.gathers(pools):
        return dict(placed), list(alone)
    units = [*fresh.values(), *_pools(singles.values(), prices, begins, ids)]
    housed = _housed(
        sorted(units, key=lambda u: -len(u.members)),
        running_commons(before.values()),
        prices.partitions,
        begins,
        ids,
    )
    gone = {m.query.name for unit in units for m in unit.members}
    return {**placed, **{u.id: u for u in housed}}, [q for q in alone if q.name not in gone]


def _is_too_early(
    coming: Sequence[Sequence[Query]], pools: Sequence[Sequence[Query]], before: Iterable[Pool]
) -> bool:
    """Whether nobody comes, or one alone to few others: a commons that it opened would have its columns only, and be kept beside the next."""
    return not coming or (len(coming) == 1 and len(pools) < FEWEST and all(p.home is None for p in before))


def _pools(groups: Iterable[Sequence[Query]], prices: Prices, begins: Begins, ids: set[str]) -> list[Pool]:
    """Queries that are alone as pools, whose ids are added; not those whose rows are looked at one by one to be forgotten."""
    found = []
    for group in groups:
        pool = pool_of(group, prices, [starts_of(q, begins) for q in group], ids)
        if pool.choice.invalidate == "slot":
            ids.add(pool.id)
            found.append(pool)
    return found


def running_commons(pools: Iterable[Pool]) -> dict[str, Commons]:
    """The commons that pools are in, by their ids."""
    found: dict[str, Commons] = {}
    for pool in pools:
        if pool.home is not None:
            home = pool.home
            known = found.get(home.commons, Commons(home.commons, home.place))
            found[known.id] = replace(
                known,
                kept=tuple(dict.fromkeys((*known.kept, *filter(None, home.kept)))),
                rooms=(*known.rooms, home.room),
            )
    return found


def _housed(
    units: Sequence[Pool], there: Mapping[str, Commons], places: int, begins: Begins, ids: set[str]
) -> list[Pool]:
    """Pools with their homes; one that finds no room is none's."""
    found = _opened(there, min(places, len(units)), ids)
    chosen: dict[str, tuple[str, Room]] = {}
    for unit in units:
        size = len({m.bit for m in unit.members})
        rooms = {id: room for id, c in found.items() if (room := c.room_for(size)) is not None}
        if rooms:
            id = _place(unit, [found[id] for id in rooms])
            chosen[unit.id] = id, rooms[id]
            found[id] = replace(found[id], rooms=(*found[id].rooms, rooms[id]))
    for id, commons in found.items():
        mine = [u for u in units if u.id in chosen and chosen[u.id][0] == id]
        found[id] = _with_columns(commons, [kept for u in mine for kept in wanted_of(u).values()])
    return [
        _at_home(u, found[chosen[u.id][0]], chosen[u.id][1], begins) if u.id in chosen else u for u in units
    ]


def _opened(there: Mapping[str, Commons], places: int, ids: set[str]) -> dict[str, Commons]:
    """The commons that run, and new ones for the places that have none."""
    found = dict(there)
    for place in range(places):
        if all(c.place != place for c in found.values()):
            id = next(i for n in range(len(ids) + 1) if (i := named("commons", place, n)) not in ids)
            ids.add(id)
            found[id] = Commons(id, place)
    return found


def _place(unit: Pool, some: Sequence[Commons]) -> str:
    """Where a pool is best: where all that it needs is kept already, then where pools are fewest."""
    wanted = wanted_of(unit).values()
    return min(some, key=lambda c: (not all(map(c.keeps, wanted)), sum(r.size for r in c.rooms), c.place)).id


def _with_columns(commons: Commons, wanted: Sequence[Kept]) -> Commons:
    """A commons that keeps what pools that come need: of each stream what is there, or one more with all the columns."""
    missing: dict[str, Kept] = {}
    for needs in wanted:
        if commons.keeps(needs) is None:
            known = missing.get(needs.source, needs)
            missing[needs.source] = Kept(needs.source, in_order((*known.columns, *needs.columns)))
    return replace(commons, kept=(*commons.kept, *missing.values()))


def _at_home(pool: Pool, commons: Commons, room: Room, begins: Begins) -> Pool:
    """A new pool in a commons. Rows that were there before it may have its bits from pools that are gone: it does not look at them."""
    wanted = wanted_of(pool)
    kept = tuple(commons.keeps(wanted[i.source]) if i.is_stream else None for i in pool.shape.inputs)
    return replace(
        pool, home=Home(commons.id, commons.place, room, kept), floor=starts_of(pool.shape, begins)
    )


def wanted_of(pool: Pool) -> dict[str, Kept]:
    """What a pool needs of each stream."""
    asked = pooled(pool.shape, pool.id, pool.members)
    sides = [s for s in sides_of(asked, (False,) * len(asked.inputs)) if not s.static]
    return {s.source: Kept(s.source, tuple(c for c in s.columns if SET not in c.columns)) for s in sides}
