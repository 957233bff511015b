"""Which windowed queries are computed as one: those over the same stream and keys whose conditions differ.

Their rows are aggregated by keys, slot and query-set, and so are all windows that are combined from these; results are told apart at the
end. Conditions on different columns are different pools.
Queries with the same conditions have one bit. A bit that nobody has any more can be given at once: the instances of who gets it begin after
all rows that carry it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from thalweg.expr.implication import said
from thalweg.expr.nodes import Expr
from thalweg.expr.quoting import identifier
from thalweg.model.query import Query
from thalweg.plan.groups import Group, group_of
from thalweg.plan.members import base_of
from thalweg.plan.nodes import Emission, Plan, named
from thalweg.plan.pool import SET

WORD = 64
MOST_WORDS = 16
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
    keys: tuple[str, ...]
    words: int
    bits: dict[int, Where] = field(default_factory=dict)

    @property
    def group(self) -> Group:
        """What its windows are planned as: the query-set is one more key."""
        sets = tuple(identifier(f"{SET}{n}") for n in range(self.words))
        return Group(self.stream, (), (*self.keys, *sets), self.id, self.words)

    @property
    def judged(self) -> frozenset[Expr]:
        """What its members choose rows by."""
        return frozenset().union(*(judged(where) for where in self.bits.values()))

    def place(self, where: Where) -> int | None:
        """The bit of some conditions, given now if it must be; None where there is none left."""
        known = next((bit for bit, own in self.bits.items() if own == where), None)
        if known is None:
            known = next((bit for bit in range(self.words * WORD) if bit not in self.bits), None)
            if known is not None:
                self.bits[known] = where
        return known


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
            found[emission.query] = Group(lifted.source, (), lifted.columns, lifted.pool, lifted.words), emission.bit
    return found


def placed_windows(
    old: Plan, queries: Sequence[Query], emissions: Sequence[Emission], prices: WindowPrices, sharing: str
) -> dict[str, Place]:
    """The pools of queries, those of a plan of which some emissions stay, or new ones; nothing for those that are alone."""
    if sharing == "off":
        return {}
    running = places_of(old, emissions)
    found = {q.name: running[q.name] for q in queries if q.name in running and old.query(q.name).where == q.where}
    pools: dict[str, WindowPool] = {}
    for emission in emissions:  # of a query that goes from one pool to another both bits are taken
        for name, (group, bit) in places_of(old, [emission]).items():
            keys = group.keys[: len(group.keys) - group.words]
            pools.setdefault(group.pool, WindowPool(group.pool, group.stream, keys, group.words)).bits[bit] = old.query(name).where
    left: dict[tuple[str, tuple[str, ...], frozenset[Expr]], list[Query]] = {}
    for query in queries:
        if query.name not in found:
            own = group_of(query)
            kind = own.stream, own.keys, judged(query.where)
            place = _place(query, [p for p in pools.values() if (p.stream, p.keys, p.judged) == kind])
            if place is None:
                left.setdefault(kind, []).append(query)
            else:
                found[query.name] = place
    known = {f.pool for f in old.fragments}
    for (stream, keys, _), some in left.items():
        different = {q.where: q for q in some}
        if len(different) > 1 and (sharing == "all" or _pays(list(different.values()), prices)):
            found |= _opened(stream, keys, some, len(different), known)
    return found


def _place(query: Query, pools: Iterable[WindowPool]) -> Place | None:
    for pool in pools:
        if (bit := pool.place(query.where)) is not None:
            return pool.group, bit
    return None


def _pays(queries: list[Query], prices: WindowPrices) -> bool:
    return prices.windows_together(queries) < sum(prices.windows_apart(q) for q in queries)


def _opened(stream: str, keys: tuple[str, ...], queries: Sequence[Query], different: int, known: set[str]) -> dict[str, Place]:
    """New pools, with some room for who comes next."""
    words = min(-(-(different + different // ROOM) // WORD), MOST_WORDS)
    found: dict[str, Place] = {}
    pools: list[WindowPool] = []
    for query in queries:
        place = _place(query, pools)
        if place is None:
            id = next(i for n in range(len(known) + 1) if (i := named("pool", stream, keys, words, n)) not in known)
            known.add(id)
            pools.append(WindowPool(id, stream, keys, words))
            place = _place(query, pools[-1:])
            assert place is not None
        found[query.name] = place
    return found
