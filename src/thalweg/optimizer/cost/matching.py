"""Rows that have the same value in equated columns: which part they are of all combinations, by how many values there are and by those that
are frequent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from thalweg.once import cached_property
from thalweg.statistics.records import Values


@dataclass(frozen=True)
class Matching:
    """A class of columns that must be equal: by input the values that its columns have, and the inputs that it is equated with."""

    values: Mapping[int, Values]
    links: Mapping[int, frozenset[int]]

    def share(self, inputs: frozenset[int]) -> float:
        """Which part of all combinations of rows of some inputs has one value: the sum over all values of the product of their shares.

        Of what is frequent in one input the others have its known share, or that of any value. All other values of the input with the
        fewest are in the others too.

        >>> one, other = Values(10), Values(20)
        >>> Matching({0: one, 1: other}, {}).share(frozenset({0, 1}))
        0.05
        >>> hot = Values(1000, ((7, 0.3),))
        >>> round(Matching({0: hot, 1: hot, 2: hot}, {}).share(frozenset({0, 1, 2})), 4)
        0.027
        """
        if (known := self._shares.get(inputs)) is None:
            known = self._shares[inputs] = _share([self.values[n] for n in inputs])
        return known

    def frequent(self, inputs: frozenset[int]) -> dict[int, float]:
        """Which part of the combinations that have one value each frequent value has.

        >>> hot = Values(1000, ((7, 0.3),))
        >>> {v: round(share, 3) for v, share in Matching({0: hot, 1: hot}, {}).frequent(frozenset({0, 1})).items()}
        {7: 0.995}
        """
        whole, found = self.share(inputs), _frequent([self.values[n] for n in inputs])
        return {value: share / whole for value, share in found.items()} if whole else {}

    def kept(self, number: int, before: tuple[int, ...]) -> float:
        """Which part of the combinations of an input with those before it is left: those that were not equated with each other yet are now.

        >>> links = {0: frozenset({2}), 1: frozenset({2}), 2: frozenset({0, 1})}
        >>> class_ = Matching({n: Values(10) for n in range(3)}, links)
        >>> round(class_.kept(2, (0,)), 3), round(class_.kept(2, (0, 1)), 3), class_.kept(1, (0,))
        (0.1, 0.01, 1.0)
        """
        if (known := self._kept.get((number, before))) is None:
            known = self._kept[number, before] = self._left(number, before)
        return known

    def _left(self, number: int, before: tuple[int, ...]) -> float:
        rest = self.links[number].intersection(before)
        if not rest:
            return 1.0
        groups = []
        while rest:
            groups.append(self._reached(min(rest), number, before))
            rest -= groups[-1]
        alone = prod(self.share(g) for g in groups if len(g) > 1)
        return self.share(frozenset({number}).union(*groups)) / alone if alone else 0.0

    def _reached(self, first: int, without: int, among: tuple[int, ...]) -> frozenset[int]:
        """The inputs that are equated with one, and with these, among some."""
        reached, near = frozenset[int](), frozenset({first})
        while near:
            reached |= near
            near = frozenset(m for n in near for m in self.links[n] if m in among and m != without) - reached
        return reached

    @cached_property
    def _kept(self) -> dict[tuple[int, tuple[int, ...]], float]:
        return {}

    @cached_property
    def _shares(self) -> dict[frozenset[int], float]:
        return {}


def _share(values: list[Values]) -> float:
    if len(values) == 1:
        return 1.0
    if not any(v.heavy for v in values):
        counts = [max(v.count, 1.0) for v in values]
        return min(counts) / prod(counts)
    rest, others = _rest(values)
    alike = min(others) * prod(r / n for r, n in zip(rest, others, strict=True))
    return sum(_frequent(values).values()) + alike


def _rest(values: list[Values]) -> tuple[list[float], list[float]]:
    """Of each input the share of rows that have no frequent value, and how many values these have."""
    rest = [max(1.0 - sum(share for _, share in v.heavy), 0.0) for v in values]
    return rest, [max(v.count - len(v.heavy), 1.0) for v in values]


def _frequent(values: list[Values]) -> dict[int, float]:
    """By value that is frequent in some input, which part of all combinations have it."""
    (rest, others), known = _rest(values), [dict(v.heavy) for v in values]
    most = max(others)
    return {
        value: prod(k.get(value, r / most) for k, r in zip(known, rest, strict=True))
        for value in frozenset[int]().union(*known)
    }


def evened(values: Values, rows: float) -> Values:
    """The values of an input that has one row of each, or a few, as an aggregation set of so many rows: none is more frequent than others,
    but those that were are surely there.

    >>> evened(Values(1000, ((7, 0.3),)), 200), evened(Values(10, ((7, 0.3),)), 200)
    (Values(count=1000, heavy=((7, 0.005),)), Values(count=10, heavy=((7, 0.1),)))
    """
    if not values.heavy:
        return values
    share = 1 / max(min(values.count, rows), len(values.heavy))
    return Values(values.count, tuple((value, share) for value, _ in values.heavy))


def least_share(one: Matching, sizes: Sequence[Sequence[float | None]]) -> float:
    """Which part of all combinations of rows of all inputs has one value at least, where each input may be kept in some ways: of `sizes` None
    is for rows as they are, a number for an aggregation set of so many. Of each value that is frequent, and of the rest, the least share counts.

    >>> hot = Values(1000, ((7, 0.3),))
    >>> either = [(None, 1000.0)] * 2
    >>> 0 < least_share(Matching({0: hot, 1: hot}, {}), either) <= 1 / 1000
    True
    """
    ways = [[v if size is None else evened(v, size) for size in sizes[n]] for n, v in one.values.items()]
    heavy = frozenset(value for v in one.values.values() for value, _ in v.heavy)
    (_, others), rests = _rest(list(one.values.values())), [_rest(some)[0] for some in ways]
    most = max(others)
    known = [
        [(dict(v.heavy), r / most) for v, r in zip(*both, strict=True)]
        for both in zip(ways, rests, strict=True)
    ]
    frequent = sum(prod(min(k.get(value, usual) for k, usual in some) for some in known) for value in heavy)
    return frequent + min(others) * prod(min(r) / n for r, n in zip(rests, others, strict=True))
