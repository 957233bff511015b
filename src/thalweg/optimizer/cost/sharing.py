"""What it costs to compute queries as one: the equations of shared joins over query-sets, and the same for this engine.

Equation 1 is the cardinality of a union, equation 2 the cost of a join of two streams that are read by several queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from math import prod
from typing import TypeVar

T = TypeVar("T")
FEW = 12
"""Sets up to which a union is counted exactly."""
CLEARLY = 2
"""How many times less it must cost to compute queries as one for nothing else to be looked at."""
LOOK_UP = 16.0
"""Nanoseconds to find the place of a row among the constants that one expression is compared with."""
SCAN = 7.0
"""Nanoseconds to ask a row the conditions of one query."""
MATERIALIZE = 30.0
"""Nanoseconds to write a row with its query-set before it is looked at."""
RESULT = 800_000.0
"""Nanoseconds to give out the results of one query in a batch: a statement's result and a file."""


def crd(sets: Sequence[T], common: Callable[[Sequence[T]], float], total: float) -> float:
    """Equation 1: rows of `total` that at least one of some queries takes, by inclusion and exclusion; `common` is how many all of some
    take. Of more than a few sets, as if they had nothing to do with each other.

    >>> crd([{1, 2}, {2, 3}, {3}], lambda some: len(set.intersection(*some)), 9)
    3.0
    """
    if len(sets) > FEW:
        return total * union(common([s]) / total for s in sets)
    terms = (
        (-1) ** (n + 1) * common(some) for n in range(1, len(sets) + 1) for some in combinations(sets, n)
    )
    return float(sum(terms))


def paper_cost(
    rows: tuple[float, float],
    keys: tuple[float, float],
    results: float,
    indexed: tuple[bool, bool],
    sink: bool,
) -> float:
    """Equation 2: COST(S1 join S2) = bi1 Crd(S1) + bi2 Crd(S2) + min(DistKeyS1, DistKeyS2) + bm Crd(S1 join S2).

    >>> paper_cost((100, 50), (10, 20), 500, (True, True), True)
    660.0
    """
    indexing = sum(crd_s for crd_s, bi in zip(rows, indexed, strict=True) if bi)
    return float(indexing + min(keys) + (results if sink else 0))


def union(shares: Iterable[float]) -> float:
    """The part of the rows that any of some queries takes, if what they choose by has nothing to do with each other.

    >>> union([0.5, 0.5])
    0.75
    """
    return 1 - prod(1 - s for s in shares)


def groups_of(
    items: Sequence[T], together: Callable[[Sequence[T]], float], apart: Callable[[T], float], most: int
) -> list[list[T]]:
    """Items in groups (figure 7a): each joins the first group that costs less with it than without it and it alone. Where many together
    cost clearly less than all of them apart, that is one look.

    >>> groups_of([1, 2, 9], lambda some: max(some) - min(some) + 1, lambda one: 2, 64)
    [[1, 2], [9]]
    """
    chunks = [list(items[n : n + most]) for n in range(0, len(items), most)]
    return [group for chunk in chunks for group in _grouped(chunk, together, apart)]


def _grouped(
    items: list[T], together: Callable[[Sequence[T]], float], apart: Callable[[T], float]
) -> list[list[T]]:
    if together(items) <= sum(apart(i) for i in items) / CLEARLY:
        return [items]
    found: list[list[T]] = []
    costs: list[float] = []
    for item in items:
        alone = apart(item)
        for n, group in enumerate(found):
            if (cost := together([*group, item])) <= costs[n] + alone:
                group.append(item)
                costs[n] = cost
                break
        else:
            found.append([item])
            costs.append(alone)
    return found
