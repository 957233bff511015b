"""Which queries are computed as one, and the nodes of that: a pool is a join with one more grouping key, the query-set.

A query that comes finds a place in a pool that runs, if that has all it needs; else those that come together make new pools. A query that
has nobody to share with runs alone, at no cost. What runs stays where it is: a bit of a query that has gone is given again once no row
that is still needed can carry it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Protocol

from thalweg.compile.evaluations import EVALUATIONS
from thalweg.compile.retention import needed
from thalweg.expr.nodes import Expr
from thalweg.model.query import Chosen, Query
from thalweg.once import cached_property
from thalweg.optimizer.cost.sharing import groups_of
from thalweg.optimizer.join_nodes import first_whole, starts_of
from thalweg.optimizer.join_plans import JoinChoice
from thalweg.plan.codec import dumps
from thalweg.plan.graph import united
from thalweg.plan.nodes import Emission, Fragment, Join, Plan, fragment, named
from thalweg.plan.pool import BITS, Member, fits, lengths, pattern, pooled, template, unpooled
from thalweg.plan.rooms import Resting, Room
from thalweg.plan.sides import sides_of

Begins = Mapping[str, int | None]
Starts = tuple[int | None, ...]
Conditions = tuple[tuple[Expr, ...], ...]


class Prices(Protocol):
    """What queries cost apart from each other, and as one."""

    def join(self, query: Query) -> JoinChoice:
        """The plan of a join query."""

    def apart(self, query: Query) -> float:
        """The cost of a query alone."""

    def together(self, queries: Sequence[Query]) -> float:
        """The cost of queries of one pattern as one."""

    def gathers(self, pools: Sequence[Sequence[Query]]) -> bool:
        """Whether joined rows of many pools cost less if partitions have pools than if they have hash ranges."""

    @property
    def partitions(self) -> int:
        """How many parts of the work are done at the same time."""


@dataclass(frozen=True)
class Kept:
    """What a commons keeps of a stream."""

    source: str
    columns: tuple[Expr, ...]


@dataclass(frozen=True)
class Home:
    """Where a pool is computed whose streams are kept in a commons: that, its place, the bits that the pool has there, and what is kept
    of each input; nothing of tables. `sides` are the fragments that have it, where the pool runs."""

    commons: str
    place: int
    room: Room
    kept: tuple[Kept | None, ...]
    sides: tuple[Fragment, ...] = ()


@dataclass(frozen=True)
class Pool:
    """Queries that are computed as one: what it keeps and computes, its plan, its members, the bits that it can't give yet, from which
    event times on its rows are looked at, and its home where its streams are kept in a commons."""

    id: str
    shape: Query
    choice: JoinChoice
    members: tuple[Member, ...]
    resting: tuple[Resting, ...] = ()
    floor: Starts = ()
    takes_over: bool = False
    home: Home | None = None

    @cached_property
    def shape_pattern(self) -> Query:
        """What its members have in common."""
        return pattern(self.shape)

    @property
    def free(self) -> list[int]:
        """The bits that it can give, the lowest first."""
        taken = {m.bit for m in self.members} | {r.bit for r in self.resting}
        return [b for b in range(BITS if self.home is None else self.home.room.size) if b not in taken]

    def has_place(self, query: Query) -> bool:
        """Whether a query of its pattern can become a member."""
        return bool(self.free) and fits(query, self.shape) and self._may_evaluate(query)

    def _may_evaluate(self, query: Query) -> bool:
        """Whether its results are evaluated in a way that serves one more query's windows, too."""
        if self.shape.every is None or all(lengths(m.query) == lengths(query) for m in self.members):
            return True
        asked = tuple(replace(i, sets=(Chosen(0, length=i.length),)) for i in query.inputs)
        return EVALUATIONS[self.choice.evaluate].serves(replace(self.shape, inputs=asked))

    def joined(self, query: Query, starts: Starts) -> Pool:
        """The pool with one more member; one that asks the same and begins at the same time has the same bit."""
        same = next(
            (m.bit for m in self.members if m.starts == starts and m.query.meaning == query.meaning), None
        )
        return replace(
            self, members=(*self.members, Member(query, self.free[0] if same is None else same, starts))
        )


def pool_of(queries: Sequence[Query], prices: Prices, starts: Sequence[Starts], known: Iterable[str]) -> Pool:
    """A new pool."""
    shape, taken = template(queries), set(known)
    id = next(i for n in range(len(taken) + 1) if (i := named("pool", dumps(shape), n)) not in taken)
    made = Pool(id, shape, JoinChoice((), ""), (), floor=(None,) * len(shape.inputs))
    for query, begin in zip(queries, starts, strict=True):
        made = made.joined(query, begin)
    return replace(made, choice=prices.join(pooled(shape, id, made.members)))


def nodes_of(pool: Pool) -> Plan:
    """The fragments and the join of a pool."""
    gone = [Member(r.query, r.bit, r.starts) for r in pool.resting if r.query is not None]
    asked, choice = pooled(pool.shape, pool.id, pool.members, gone), pool.choice
    sides = sides_of(asked, choice.early) if pool.home is None else _common_sides(asked, pool.home)
    evaluate = "rows" if asked.every is None else choice.evaluate
    ids = tuple(s.id for s in sides)
    join = Join(
        id=named(evaluate, pool.id, ids, evaluate),
        asked=replace(
            asked, inputs=tuple(replace(i, sets=()) for i in asked.inputs)
        ),  # the fragments say who takes what
        sides=ids,
        evaluate=evaluate,
        method=choice.method,
        begins=pool.floor,
        invalidate=choice.invalidate if evaluate == "rows" else "slot",
        takes_over=pool.takes_over,
        order=choice.order,
        resting=pool.resting,
        room=None if pool.home is None else pool.home.room,
    )
    return united(sides, [join], ())


def _common_sides(asked: Query, home: Home) -> tuple[Fragment, ...]:
    """The sides of a pool in a commons: its tables, and of the streams what is kept there for all pools."""
    if home.sides and None not in home.kept:
        return home.sides
    own = sides_of(asked, (False,) * len(asked.inputs))
    return tuple(
        s if kept is None else _common(s, kept, home) for s, kept in zip(own, home.kept, strict=True)
    )


def _common(side: Fragment, kept: Kept, home: Home) -> Fragment:
    counted = tuple(tuple(kept.columns.index(side.columns[i]) for i in some) for some in side.counted)
    made = replace(
        side,
        columns=kept.columns,
        required=(),
        route=(),
        pattern=(),
        counted=counted,
        pool=home.commons,
        sets=(),
        owner="",
    )
    return fragment(replace(made, place=home.place, common=home.room.word + 1))


def emission_of(pool: Pool, join: str, query: Query, born: Starts) -> Emission:
    """What a member is given."""
    member = next(m for m in reversed(pool.members) if m.query.name == query.name)
    return Emission(query.name, (join,), begin=first_whole(query, member.starts), born=born, bit=member.bit)


def running_pools(
    old: Plan, staying: Sequence[Emission], begins: Begins, frontiers: Begins
) -> dict[str, Pool]:
    """The pools of a plan with the members that stay, by the ids of their joins."""
    found, oldest = {}, needed(old, frontiers) if any(j.pool for j in old.joins) else {}
    for join in old.joins:
        if join.pool:
            mine = [e for e in staying if e.nodes[0] == join.id]
            found[join.id] = _running(old, join, mine, begins, oldest)
    return found


def _running(
    old: Plan, join: Join, mine: Sequence[Emission], begins: Begins, oldest: Mapping[str, int]
) -> Pool:
    """A pool as it runs: its members ask what they asked, whatever takes their place."""
    sets = [{c.bit: c.begin for c in sets_of(old, join, side)} for side in join.sides]
    members = tuple(
        Member(old.query(e.query), e.bit or 0, tuple(s.get(e.bit or 0) for s in sets)) for e in mine
    )
    left = set(sets[_first_stream(join)]) - {m.bit for m in members}
    asked = {} if join.asked.every is None else {e.bit: old.query(e.query) for e in old.users(join.id)}
    gone = [Resting(bit, starts_of(join.asked, begins), asked.get(bit)) for bit in sorted(left)]
    rested = [r for r in join.resting if _is_forgotten(old, join, r, oldest)]
    floor = tuple(
        max((s for s in (at, *(r.starts[n] for r in rested)) if s is not None), default=None)
        for n, at in enumerate(join.begins)
    )
    resting = (*(r for r in join.resting if r not in rested), *gone)
    early = tuple(old.fragment(s).early for s in join.sides)
    choice = JoinChoice(early, join.evaluate, join.method, join.invalidate, join.order)
    return Pool(
        join.pool, unpooled(join.asked), choice, members, resting, floor, join.takes_over, _home(old, join)
    )


def sets_of(plan: Plan, join: Join, side: str) -> tuple[Chosen, ...]:
    """What the members of a pool take of one of its sides."""
    fragment = plan.fragment(side)
    return join.room.own(fragment.sets) if join.room is not None and fragment.common else fragment.sets


def _home(old: Plan, join: Join) -> Home | None:
    if join.room is None:
        return None
    sides = [old.fragment(s) for s in join.sides]
    first = next(s for s in sides if s.common)
    return Home(
        first.pool,
        first.place or 0,
        join.room,
        tuple(Kept(s.source, s.columns) if s.common else None for s in sides),
        tuple(sides),
    )


def _first_stream(join: Join) -> int:
    return next(n for n, given in enumerate(join.asked.inputs) if given.is_stream)


def _is_forgotten(old: Plan, join: Join, resting: Resting, oldest: Mapping[str, int]) -> bool:
    """Whether no row that is still needed can carry a bit."""
    for side, start, given in zip(join.sides, resting.starts, join.asked.inputs, strict=True):
        if (
            given.is_stream
            and start is not None
            and (side not in oldest or oldest[side] * old.fragment(side).slot < start)
        ):
            return False
    return True


def placed(
    queries: Sequence[Query],
    pools: Mapping[str, Pool],
    others: Iterable[Query],
    prices: Prices,
    begins: Begins,
    sharing: str,
    ids: set[str],
) -> tuple[dict[str, Pool], list[Query]]:
    """Queries put into pools, those that run or new ones (by id, where they have no join yet); and the queries that are alone.

    `others` are queries that run alone: where there is one of the same pattern, a new one opens a pool, which a next one will find.
    `ids` are those of all pools, to which new ones are added.
    """
    apart = [
        q for q in queries if sharing == "off" or q.stands_apart
    ]  # whose rows may have no partner is not the same for all members
    if sharing == "off":
        return dict(pools), apart
    made, left = dict(pools), dict[Query, list[Query]]()
    for query in (q for q in queries if not q.stands_apart):
        asked = pattern(query)
        place = _place(
            query, [(id, p) for id, p in made.items() if p.shape_pattern == asked], prices, sharing
        )
        if place is None:
            left.setdefault(asked, []).append(query)
        else:
            made[place] = made[place].joined(query, starts_of(query, begins))
    running: dict[Query, set[Conditions]] = {}
    for query in others:
        running.setdefault(pattern(query), set()).add(_conditions(query))
    return made, [*apart, *_new_pools(left, made, running, prices, begins, sharing, ids)]


def _place(query: Query, pools: Sequence[tuple[str, Pool]], prices: Prices, sharing: str) -> str | None:
    """The pool that takes a query: the one with instants as far apart as its own, else one in which it costs no more than alone."""
    fitting = [(id, p) for id, p in pools if p.has_place(query)]
    fitting.sort(key=lambda one: -(one[1].shape.every or 0))
    return next((id for id, p in fitting if sharing == "all" or _takes(p, query, prices)), None)


def _takes(pool: Pool, query: Query, prices: Prices) -> bool:
    if pool.shape.every == query.every:
        return True
    members = [m.query for m in pool.members]
    return bool(members) and prices.together([*members, query]) <= prices.together(members) + prices.apart(
        query
    )


def _new_pools(
    left: Mapping[Query, list[Query]],
    made: dict[str, Pool],
    running: Mapping[Query, set[Conditions]],
    prices: Prices,
    begins: Begins,
    sharing: str,
    ids: set[str],
) -> list[Query]:
    """New pools, added to `made`; what is left is alone."""
    alone: list[Query] = []
    for asked, queries in left.items():
        opened = any(p.shape_pattern == asked for p in made.values())
        equal: dict[Query, list[Query]] = {}
        for query in queries:
            equal.setdefault(query.meaning, []).append(query)
        for different in _grouped([same[0] for same in equal.values()], prices, sharing):
            group = [q for one in different for q in equal[one.meaning]]
            beside = running.get(asked, set()) - {
                _conditions(different[0])
            }  # those that take the same rows share them as they are
            if len(different) == 1 and not opened and not beside:
                alone += group
                continue
            starts = [starts_of(q, begins) for q in group]
            pool = pool_of(group, prices, starts, ids)
            ids.add(pool.id)
            made[pool.id] = pool
    return alone


def _conditions(query: Query) -> Conditions:
    return tuple(i.where for i in query.inputs)


def _grouped(queries: list[Query], prices: Prices, sharing: str) -> list[list[Query]]:
    if sharing == "all" or len(queries) == 1:
        some = [queries[n : n + BITS] for n in range(0, len(queries), BITS)]
        return [alike for queries in some for alike in possible(queries, prices)]
    return groups_of(queries, prices.together, prices.apart, BITS)


def possible(queries: Sequence[Query], prices: Prices) -> list[list[Query]]:
    """Queries of a pattern as one if settings leave a plan for that; else apart by their windows."""
    if len(queries) == 1 or isfinite(prices.together(queries)):
        return [list(queries)]
    found: dict[tuple[int | None, ...], list[Query]] = {}
    for query in queries:
        found.setdefault(lengths(query), []).append(query)
    return list(found.values())
