"""Partners among the rows of a join's inputs: how many there are, what it takes to find them, and in which order that is least."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from heapq import nsmallest
from typing import NamedTuple

from thalweg.model.query import Equality, Query, Term
from thalweg.optimizer.cost.calibration import JoinConstants
from thalweg.statistics.records import JoinStatistics

LET_THROUGH = 3.0
"""Of so many pairs a condition that is no equality is taken to let one through."""
BEAM = 4
"""So many sets of inputs of one size, the cheapest, are gone on with: of three inputs all that there are."""


class _Path(NamedTuple):
    """Some inputs that have met in an order: what that cost, and the rows that it made."""

    cost: float
    order: tuple[int, ...]
    rows: float


Links = Mapping[int, Mapping[int, float]]
"""A class of columns that must be equal: by input those that it is equated with, and how many values the columns of both have."""


@dataclass(frozen=True)
class Partners:
    """How so many inputs meet, one after another: each with what those before it have made.

    classes: what is equated. others: how many conditions there are besides. loops: every pair is looked at.
    """

    inputs: int
    classes: tuple[Links, ...] = ()
    others: int = 0
    loops: bool = False
    constants: JoinConstants = field(default_factory=JoinConstants)

    def pairs(self, rows: Sequence[float], order: Sequence[int]) -> float:
        """Joined rows of so many of each input.

        >>> chain = Partners(3, ({0: {1: 10}, 1: {0: 10}}, {1: {2: 100}, 2: {1: 100}}))
        >>> chain.pairs([100, 100, 200], (0, 1, 2)), chain.pairs([100, 100, 200], (0, 2, 1))
        (2000.0, 2000.0)
        """
        return self._met(rows, order).rows / LET_THROUGH**self.others

    def cost(self, rows: Sequence[float], order: Sequence[int]) -> float:
        """Nanoseconds to find all partners: of two inputs the smaller is put into a hash table, and what they make meets the next."""
        return self._met(rows, order).cost

    def cheapest(self, rows: Sequence[float]) -> tuple[int, ...]:
        """The order that costs least. Inputs are found one after another, those first that are equated with some before them.

        >>> Partners(3, ({0: {1: 2}, 1: {0: 2}}, {1: {2: 1000}, 2: {1: 1000}})).cheapest([10, 1000, 20])
        (1, 2, 0)
        """
        paths = [_Path(0.0, (n,), rows[n]) for n in range(self.inputs)]
        for _ in rows[1:]:
            found: dict[frozenset[int], _Path] = {}
            for path in (self._joined(p, n, rows) for p in paths for n in self._following(p.order)):
                inputs = frozenset(path.order)
                found[inputs] = min(path, found.get(inputs, path))
            paths = nsmallest(BEAM, found.values())
        return paths[0].order

    def _met(self, rows: Sequence[float], order: Sequence[int]) -> _Path:
        return reduce(lambda path, n: self._joined(path, n, rows), order[1:], _Path(0.0, (order[0],), rows[order[0]]))

    def _joined(self, path: _Path, number: int, rows: Sequence[float]) -> _Path:
        """A path that goes on with another input. What was made on the way costs once more."""
        c, made = self.constants, path.rows * rows[number]
        few, many = (path.rows, rows[number]) if path.rows < rows[number] else (rows[number], path.rows)
        found = few * many * c.compare if self.loops else few * c.build + many * c.probe
        between = path.rows * c.probe if len(path.order) > 1 else 0.0
        for links in self._of[number]:
            made /= _values(links, number, path.order)
        return _Path(path.cost + found + between, (*path.order, number), made)

    def _following(self, order: tuple[int, ...]) -> Collection[int]:
        """The inputs that may come next: those that are equated with some before, or any where there are none."""
        linked = set().union(*(self._linked[n] for n in order)).difference(order)
        return linked or set(range(self.inputs)).difference(order)

    @cached_property
    def _of(self) -> list[list[Links]]:
        """Per input the classes that it has columns of."""
        return [[links for links in self.classes if n in links] for n in range(self.inputs)]

    @cached_property
    def _linked(self) -> list[set[int]]:
        """Per input those that it is equated with."""
        return [{m for links in self._of[n] for m in links[n]} for n in range(self.inputs)]


def _values(links: Links, number: int, before: tuple[int, ...]) -> float:
    """Of how many rows of those before one is a partner by a class of columns: where some of them were not equated yet, they are now.

    >>> links = {0: {2: 10}, 1: {2: 20}, 2: {0: 10, 1: 20}}
    >>> _values(links, 2, (0,)), _values(links, 2, (0, 1)), _values({**links, 0: {1: 20, 2: 10}, 1: {0: 20, 2: 20}}, 2, (0, 1))
    (10, 200.0, 20.0)
    """
    rest, values = {n for n in links[number] if n in before}, 1.0
    if len(rest) == 1:
        return links[number][rest.pop()]
    while rest:
        reached, near = set[int](), {min(rest)}
        while near:
            reached |= near
            near = {m for n in near for m in links[n] if m in before and m != number} - reached
        values *= max(links[number][n] for n in rest & reached)
        rest -= reached
    return values


def partners_of(query: Query, statistics: JoinStatistics, method: str, constants: JoinConstants) -> Partners:
    """How the rows of a join find each other."""
    classes = classes_of(query.equalities, tuple(i.keys for i in statistics.inputs))
    return Partners(len(query.inputs), classes, len(query.residue), method == "loop", constants)


Equated = frozenset[tuple[int, str]]
"""Columns that must be equal, each with its input."""


def classes_of(equalities: Sequence[Equality], keys: Sequence[float]) -> tuple[Links, ...]:
    """The classes of equated columns; several between the same inputs are one.

    Of each input it is known how many values (`keys`) all its equated columns have together. Where some of them are of other classes, that
    says little of this one; then the other end of an equality is asked, which has as many where all find partners.
    """
    sides = [(_node(e.left), _node(e.right)) for e in equalities]
    found: dict[frozenset[frozenset[int]], Equated] = {}
    for columns in _classes(sides):
        pairs = frozenset(frozenset((left[0], right[0])) for left, right in sides if left in columns)
        found[pairs] = found.get(pairs, frozenset()) | columns
    everything = frozenset(node for side in sides for node in side)
    return tuple(_links(pairs, {n for n, _ in columns} - {n for n, _ in everything - columns}, keys) for pairs, columns in found.items())


def _links(pairs: frozenset[frozenset[int]], whole: set[int], keys: Sequence[float]) -> Links:
    """A class by the inputs that it links; `whole` are those that have no other."""
    links: dict[int, dict[int, float]] = {}
    for one, other in pairs:
        known = [keys[n] for n in (one, other) if n in whole]
        values = max(1.0, max(known) if known else min(keys[one], keys[other]))
        links.setdefault(one, {})[other] = links.setdefault(other, {})[one] = values
    return links


def _classes(sides: Sequence[tuple[tuple[int, str], tuple[int, str]]]) -> list[Equated]:
    found: list[Equated] = []
    for both in map(frozenset, sides):
        apart = [c for c in found if not c & both]
        found = [*apart, both.union(*(c for c in found if c & both))]
    return found


def _node(term: Term) -> tuple[int, str]:
    return term.inputs[0], term.own or term.sql
