"""Which windowed queries are computed as one: those over the same stream and keys whose conditions differ.

Their rows are aggregated by keys, slot and query-set, and so are all windows that are combined from these; results are told apart at the
end. Conditions on different columns are different pools. Where all conditions compare one expression with constants, a cell of its values
(`compile/cells.py`) is in the place of the query-set.
Queries with the same conditions have one bit. A bit that nobody has any more can be given at once: the instances of who gets it begin after
all rows that carry it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from thalweg.compile.cells import subject_of
from thalweg.expr.implication import said
from thalweg.expr.nodes import Column, Expr
from thalweg.model.query import Query
from thalweg.plan.groups import CELLED, Group, group_of
from thalweg.plan.members import base_of
from thalweg.plan.nodes import Emission, Plan, named
from thalweg.plan.pool import SET, TYPE

WORD = 64
MOST_WORDS = 16
MOST_BY_CELL = 4_096
"""Different conditions in a pool by cells."""
SETS = 8
"""Query-sets that rows of one key are taken to have, at the most, before it is known."""
ROOM = 8
"""A pool is opened with room for one more query in so many."""
Where = tuple[Expr, ...]
Place = tuple[Group, int]
"""The group that a query of a pool is planned in, and its bit."""


class WindowPrices(Protocol):
    """What windowed queries cost apart from each other, and as one."""

    def windows_apart(self, query: Query) -> float:
        """The cost of a query alone."""

    def windows_together(self, queries: Sequence[Query]) -> float:
        """The cost of queries over one stream and keys as one."""


@dataclass
class WindowPool:
    """A pool while queries are put into it: its name, what it is of, and the conditions of each bit."""

    id: str
    stream: str
    keys: tuple[Expr, ...]
    words: int
    celled: bool = False
    bits: dict[int, Where] = field(default_factory=dict)
    _given: dict[Where, int] = field(default_factory=dict)
    _next: int = 0

    @property
    def group(self) -> Group:
        """What its windows are planned as: the query-set or the cell is one more key."""
        sets = (CELLED,) if self.celled else tuple(Column(f"{SET}{n}", TYPE) for n in range(self.words))
        return Group(self.stream, (), (*self.keys, *sets), self.id, self.words)

    def may_take(self, query: Query) -> bool:
        """Whether a query asks for the same but for its conditions, and these are about the same as all others."""
        own = group_of(query)
        alike = (own.stream, own.keys, judged(query.where)) == (
            self.stream,
            self.keys,
            judged(next(iter(self.bits.values()))),
        )
        return alike and (not self.celled or subject_of(query.where) is not None)

    def give(self, bit: int, where: Where) -> None:
        """Give a bit to some conditions."""
        self.bits[bit] = where
        self._given[where] = bit

    def place(self, where: Where) -> int | None:
        """The bit of some conditions, given now if it must be; None where there is none left."""
        if where not in self._given:
            most = MOST_BY_CELL if self.celled else self.words * WORD
            self._next = next((bit for bit in range(self._next, most) if bit not in self.bits), most)
            if self._next == most:
                return None
            self.give(self._next, where)
        return self._given[where]

    @property
    def spread(self) -> int:
        """In how many cells or query-sets the rows of a key may lie: there are as many as constants, but not every key has rows in all."""
        constants = {
            (s, v) for where in self.bits.values() for c in where for s, _, values in said(c) for v in values
        }
        return -(-len(constants) // 2) if self.celled else min(len(self.bits), SETS)


def judged(where: Where) -> frozenset[Expr]:
    """What conditions are about: those that compare different things share no cells, whose number is the product of all."""
    found = [{subject for subject, _, _ in said(c)} or {c} for c in where]
    return frozenset().union(*found)


def places_of(plan: Plan, emissions: Iterable[Emission]) -> dict[str, Place]:
    """The pools that queries are in."""
    found: dict[str, Place] = {}
    for emission in emissions:
        if emission.window is not None and emission.bit is not None:
            lifted = base_of(plan, emission)
            found[emission.query] = (
                Group(lifted.source, (), lifted.columns, lifted.pool, lifted.words),
                emission.bit,
            )
    return found


def placed_windows(
    old: Plan, queries: Sequence[Query], emissions: Sequence[Emission], prices: WindowPrices, sharing: str
) -> dict[str, Place]:
    """The pools of queries, those of a plan of which some emissions stay, or new ones; nothing for those that are alone."""
    if sharing == "off":
        return {}
    running = places_of(old, emissions)
    found = {
        q.name: running[q.name] for q in queries if q.name in running and old.query(q.name).where == q.where
    }
    pools: dict[str, WindowPool] = {}
    for emission in emissions:  # of a query that goes from one pool to another both bits are taken
        for name, (group, bit) in places_of(old, [emission]).items():
            keys = group.keys[: len(group.keys) - group.words]
            pool = WindowPool(group.pool, group.stream, keys, group.words, group.celled)
            pools.setdefault(group.pool, pool).give(bit, old.query(name).where)
    left: dict[tuple[str, tuple[Expr, ...], frozenset[Expr], bool], list[Query]] = {}
    for query in queries:
        if query.name not in found:
            own = group_of(query)
            place = _place(query, [p for p in pools.values() if p.may_take(query)])
            if place is None:
                left.setdefault(
                    (own.stream, own.keys, judged(query.where), subject_of(query.where) is not None), []
                ).append(query)
            else:
                found[query.name] = place
    known = {f.pool for f in old.fragments}
    for (stream, keys, _, celled), some in left.items():
        different = {q.where: q for q in some}
        if len(different) > 1 and (sharing == "all" or _pays(list(different.values()), prices)):
            found |= _opened(stream, keys, celled, some, len(different), known)
    return found


def _place(query: Query, pools: Iterable[WindowPool]) -> Place | None:
    for pool in pools:
        if (bit := pool.place(query.where)) is not None:
            return pool.group, bit
    return None


def _pays(queries: list[Query], prices: WindowPrices) -> bool:
    return prices.windows_together(queries) < sum(prices.windows_apart(q) for q in queries)


def _opened(
    stream: str,
    keys: tuple[Expr, ...],
    celled: bool,
    queries: Sequence[Query],
    different: int,
    known: set[str],
) -> dict[str, Place]:
    """New pools, with some room for who comes next."""
    words = 1 if celled else min(-(-(different + different // ROOM) // WORD), MOST_WORDS)
    found: dict[str, Place] = {}
    pools: list[WindowPool] = []
    for query in queries:
        place = _place(query, pools)
        if place is None:
            id = next(
                i
                for n in range(len(known) + 1)
                if (i := named("pool", stream, [k.sql for k in keys], words, n)) not in known
            )
            known.add(id)
            pools.append(WindowPool(id, stream, keys, words, celled))
            place = _place(query, pools[-1:])
            assert place is not None
        found[query.name] = place
    groups = {pool.id: replace(pool.group, spread=pool.spread) for pool in pools}
    return {name: (groups[group.pool], bit) for name, (group, bit) in found.items()}
