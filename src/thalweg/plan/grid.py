"""Where rows that belong together meet: partitions as a grid, with one axis per class of equated columns.

A row finds its place along an axis by the hash of its columns of that class. Along an axis that its stream has no column of,
every place gets a copy. So partners meet in exactly one partition after a single exchange, whichever columns equate them:

    a.k = b.k AND b.j = c.j          hash of j:  0  1
    six partitions as 3 x 2      hash of k:  0   .  .     a goes by k to one line, c by j to one column,
                                             1   .  .     b by both to one place
                                             2   .  .

A value that very many rows have may be split where there is one axis: it has all partitions. In one input of the join its rows are dealt
out to them, in the others they are copied to each, so that partners still meet in exactly one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from math import prod

from thalweg.plan.arithmetic import route_sql

Pattern = tuple[tuple[bool, ...], ...]
"""Which axes each stream of a join has columns of."""


@lru_cache(maxsize=1024)
def sizes(pattern: Pattern, partitions: int) -> tuple[int, ...]:
    """Places along each axis: those with which a partition gets the fewest copies, if all streams are alike.

    >>> chain = ((True, False), (True, True), (False, True))
    >>> [sizes(chain, p) for p in (1, 2, 4, 6, 7, 16)]
    [(1, 1), (2, 1), (2, 2), (3, 2), (3, 2), (4, 4)]
    """
    axes = len(pattern[0])
    return min(
        _grids(axes, partitions), key=lambda grid: (_load(pattern, grid), -prod(grid), [-n for n in grid])
    )


def _load(pattern: Pattern, grid: tuple[int, ...]) -> float:
    """Parts of a stream that a place of the grid gets, over all streams."""
    return sum(1 / prod(n for n, has in zip(grid, stream, strict=True) if has) for stream in pattern)


def _grids(axes: int, partitions: int) -> Iterator[tuple[int, ...]]:
    if axes == 0:
        yield ()
        return
    for first in range(1, partitions + 1):
        yield from ((first, *rest) for rest in _grids(axes - 1, partitions // first))


@dataclass(frozen=True)
class Split:
    """Frequent values, by their hashes, that all partitions have: rows with one of them are `dealt` out, or else copied to each.

    The slowest partition is expected to take so many times less as `gain` says.
    """

    hot: tuple[int, ...]
    dealt: bool
    gain: float = field(default=1.0, compare=False)


HOT = -1
"""Where rows go of which the place is not found by their value."""


@dataclass(frozen=True)
class Cut:
    """How the rows of one name are spread over partitions: per axis the columns by whose hash a row finds its place, or None where
    it is copied to all. No axis at all: every partition has every row. `pattern` is needed where there are several axes.
    With a `place` all rows are in one partition. Where there is one axis some values may be `split`."""

    axes: tuple[tuple[str, ...] | None, ...] = ()
    pattern: Pattern = ()
    place: int | None = None
    split: Split | None = None

    def sql(self, partitions: int, hot: str = str(HOT)) -> str:
        """The first partition that a row goes to; for values that are split as it is said.

        >>> Cut((("k",),), split=Split((7,), True)).sql(2)
        'CASE WHEN hash(k) IN (7::UBIGINT) THEN -1 ELSE CAST(((hash(k) >> 32) * 2) >> 32 AS INTEGER) END'
        """
        if self.split is not None and partitions > 1:
            return f"CASE WHEN {self.hot_sql} THEN {hot} ELSE {self._routed(partitions)} END"
        return self._routed(partitions)

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the one axis."""
        return self.axes[0] or ()

    @property
    def hot_sql(self) -> str:
        """Whether a row has a value that is split."""
        hot = () if self.split is None else self.split.hot
        return f"hash({', '.join(self.columns)}) IN ({', '.join(f'{h}::UBIGINT' for h in hot)})"

    def _routed(self, partitions: int) -> str:
        if self.place is not None:
            return str(self.place % partitions)
        terms = [
            (route_sql(columns, size), stride)
            for columns, (size, stride) in self._placed(partitions)
            if columns is not None
        ]
        return " + ".join(place if stride == 1 else f"{stride} * {place}" for place, stride in terms) or "0"

    def copies(self, partitions: int) -> tuple[int, ...]:
        """How far from the first partition the others are that a row goes to.

        >>> chain = ((True, False), (True, True), (False, True))
        >>> [Cut(axes, chain).copies(6) for axes in ((("k",), None), (("k",), ("j",)), (None, ("j",)))]
        [(0, 1), (0,), (0, 2, 4)]
        """
        if self.place is not None:
            return (0,)
        if not self.axes:
            return tuple(range(partitions))
        along = [
            range(0, size * stride, stride)
            for columns, (size, stride) in self._placed(partitions)
            if columns is None
        ]
        return tuple(map(sum, product(*along)))

    def home(self, part: int, partitions: int) -> int | None:
        """The partition that has the first copy of what a partition has; None where a partition has no place in the grid.

        >>> chain = ((True, False), (True, True), (False, True))
        >>> [Cut((None, ("j",)), chain).home(p, 7) for p in range(7)]
        [0, 1, 0, 1, 0, 1, None]
        """
        if self.place is not None:
            return part if part == self.place % partitions else None
        if not self.axes:
            return 0
        placed = self._placed(partitions)
        if part >= prod(size for _, (size, _) in placed):
            return None
        return sum(
            part // stride % size * stride for columns, (size, stride) in placed if columns is not None
        )

    @property
    def nests(self) -> bool:
        """Whether the hash ranges of one parallelism lie within those of another."""
        return len(self.axes) == 1 and self.axes[0] is not None

    def _placed(self, partitions: int) -> list[tuple[tuple[str, ...] | None, tuple[int, int]]]:
        return list(zip(self.axes, self._strides(partitions), strict=True))

    def _strides(self, partitions: int) -> list[tuple[int, int]]:
        """Per axis its size and how many partitions lie between two places along it."""
        found = sizes(self.pattern, partitions) if len(self.axes) > 1 else (partitions,) * len(self.axes)
        return [(size, prod(found[i + 1 :])) for i, size in enumerate(found)]
