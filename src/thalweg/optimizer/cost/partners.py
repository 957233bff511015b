"""Partners among the rows of a join's inputs: how many there are, what it takes to find them, and in which order that is least."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import prod

from thalweg.model.query import Equality, Query
from thalweg.once import cached_property
from thalweg.optimizer.cost.calibration import JoinConstants
from thalweg.optimizer.cost.matching import Matching, evened
from thalweg.optimizer.cost.orders import Path, cheapest_path
from thalweg.plan.equated import EquatedClass, equated_classes
from thalweg.statistics.records import InputStatistics, JoinStatistics, Values

LET_THROUGH = 3.0
"""Of so many pairs a condition that is no equality is taken to let one through."""


@dataclass(frozen=True)
class Partners:
    """How so many inputs meet, one after another: each with what those before it have made.

    classes: what is equated. others: how many conditions there are besides. loops: every pair is looked at. times: how many times the
    joined rows that all this lets expect there are.
    """

    inputs: int
    classes: tuple[Matching, ...] = ()
    others: int = 0
    loops: bool = False
    times: float = 1.0
    constants: JoinConstants = field(default_factory=JoinConstants)

    def pairs(self, rows: Sequence[float], order: Sequence[int]) -> float:
        """Joined rows of so many of each input.

        >>> chain = Partners(3, (linked((0, 1), 10), linked((1, 2), 100)))
        >>> chain.pairs([100, 100, 200], (0, 1, 2)), chain.pairs([100, 100, 200], (0, 2, 1))
        (2000.0, 2000.0)
        """
        return self._left(self._met(rows, order).rows)

    def found(self, rows: Sequence[float], order: Sequence[int]) -> tuple[float, float]:
        """Nanoseconds to find all partners, and joined rows."""
        met = self._met(rows, order)
        return met.cost, self._left(met.rows)

    def _left(self, rows: float) -> float:
        """Of rows that equalities let through, those that the other conditions do too."""
        return rows / LET_THROUGH**self.others * self.times

    def cost(self, rows: Sequence[float], order: Sequence[int]) -> float:
        """Nanoseconds to find all partners: of two inputs the smaller is put into a hash table, and what they make meets the next."""
        return self._met(rows, order).cost

    def cheapest(self, rows: Sequence[float]) -> tuple[int, ...]:
        """The order that costs least. Inputs are found one after another, those first that are equated with some before them.

        >>> Partners(3, (linked((0, 1), 2), linked((1, 2), 1000))).cheapest([10, 1000, 20])
        (1, 2, 0)
        """
        found = cheapest_path(self, rows)
        self._paths[tuple(rows), found.order] = found
        return found.order

    def evened(self, sizes: Mapping[int, float]) -> Partners:
        """These where some inputs are aggregation sets, of so many rows: there no value is more frequent than others."""
        if not sizes or not self.skewed:
            return self
        return replace(self, classes=tuple(_evened(c, sizes) for c in self.classes))

    def _met(self, rows: Sequence[float], order: Sequence[int]) -> Path:
        """What inputs make that meet in an order; of one that was searched for that is known."""
        key = tuple(rows), tuple(order)
        if (known := self._paths.get(key)) is None:
            known = Path(0.0, (order[0],), 1 << order[0], rows[order[0]])
            for number in order[1:]:
                known = self.joined(known, number, rows[number])
            self._paths[key] = known
        return known

    def joined(self, path: Path, number: int, more: float) -> Path:
        """A path that goes on with so many rows of another input. What was made on the way costs once more."""
        c, few, many = self.constants, path.rows, more
        if few > many:
            few, many = many, few
        found = few * many * c.compare if self.loops else few * c.build + many * c.probe
        between = path.rows * c.probe if len(path.order) > 1 else 0.0
        made = few * many * self._kept(number, path.met)
        return Path(path.cost + found + between, (*path.order, number), path.met | 1 << number, made)

    def least_found(self, rows: Sequence[float]) -> float:
        """Nanoseconds that it takes at least to find partners of some rows: each is put into a table or looked up once."""
        c = self.constants
        return 0.0 if self.loops else sum(rows) * min(c.build, c.probe)

    def following(self, met: int) -> Collection[int]:
        """The inputs that may come next: those that are equated with some before, or any where there are none."""
        if (known := self._next.get(met)) is None:
            rest = [n for n in range(self.inputs) if not met >> n & 1]
            near = set[int]().union(*(self._linked[n] for n in range(self.inputs) if met >> n & 1))
            known = self._next[met] = [n for n in rest if n in near] or rest
        return known

    def _kept(self, number: int, met: int) -> float:
        """Which part of the combinations of an input with those before it is left, by all classes."""
        if (known := self._parts.get((number, met))) is None:
            before = tuple(n for n in range(self.inputs) if met >> n & 1)
            known = self._parts[number, met] = prod(c.kept(number, before) for c in self._of[number])
        return known

    @cached_property
    def _next(self) -> dict[int, list[int]]:
        return {}

    @cached_property
    def _parts(self) -> dict[tuple[int, int], float]:
        return {}

    @cached_property
    def _paths(self) -> dict[tuple[tuple[float, ...], tuple[int, ...]], Path]:
        return {}

    @cached_property
    def skewed(self) -> bool:
        """Whether some values are known to be frequent."""
        return any(v.heavy for c in self.classes for v in c.values.values())

    @cached_property
    def _of(self) -> list[list[Matching]]:
        """Per input the classes that it has columns of."""
        return [[c for c in self.classes if n in c.links] for n in range(self.inputs)]

    @cached_property
    def _linked(self) -> list[set[int]]:
        """Per input those that it is equated with."""
        return [{m for c in self._of[n] for m in c.links[n]} for n in range(self.inputs)]


def _evened(one: Matching, sizes: Mapping[int, float]) -> Matching:
    return replace(one, values={n: evened(v, sizes[n]) if n in sizes else v for n, v in one.values.items()})


def linked(inputs: Sequence[int], values: float) -> Matching:
    """A class of columns of some inputs, each equated with the next, that have so many values."""
    pairs = frozenset(frozenset(p) for p in pairwise(inputs))
    return Matching({n: Values(values) for n in inputs}, _links(pairs))


def partners_of(query: Query, statistics: JoinStatistics, method: str, constants: JoinConstants) -> Partners:
    """How the rows of a join find each other."""
    return Partners(
        len(query.inputs),
        classes_of(query.equalities, statistics.inputs),
        len(query.partnering),
        method == "loop",
        constants=constants,
    )


def classes_of(equalities: Sequence[Equality], inputs: Sequence[InputStatistics]) -> tuple[Matching, ...]:
    """The classes of equated columns, with the values that each input has of them.

    Where only of all its equated columns together is known how many values an input has, and some of them are of other classes, that says
    little of this one; then the other end of an equality is asked, which has as many where all find partners.
    """
    found, matched = equated_classes(equalities), []
    for one in found:
        whole = one.inputs - frozenset[int]().union(*(c.inputs for c in found if c is not one))
        links = _links(one.pairs)
        values = {
            n: _known(one, n, inputs) or Values(_guessed(n, links[n], whole, inputs)) for n in one.inputs
        }
        alike = len({len(one.columns(n)) for n in one.inputs}) == 1
        matched.append(Matching(values if alike else {n: Values(v.count) for n, v in values.items()}, links))
    return tuple(matched)


def _known(one: EquatedClass, number: int, inputs: Sequence[InputStatistics]) -> Values | None:
    return dict(inputs[number].equated).get(one.columns(number))


def _guessed(
    number: int, others: Collection[int], whole: Collection[int], inputs: Sequence[InputStatistics]
) -> float:
    """How many values an input has, where that is not known of the class alone; `whole` are the inputs that have no other."""
    if number in whole:
        return max(1.0, inputs[number].keys)
    known = [inputs[n].keys for n in others if n in whole]
    return max(1.0, max(known) if known else min(inputs[n].keys for n in (number, *others)))


def _links(pairs: Collection[frozenset[int]]) -> dict[int, frozenset[int]]:
    """By input those that it is equated with."""
    inputs = frozenset[int]().union(*pairs)
    return {n: frozenset(m for p in pairs if n in p for m in p if m != n) for n in inputs}
