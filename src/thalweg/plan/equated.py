"""Which columns of a join's inputs must be equal, and which inputs are linked by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from thalweg.model.query import Equality, Term

Equated = frozenset[tuple[int, str]]
"""Columns that must be equal, each with its input."""


@dataclass(frozen=True)
class EquatedClass:
    """Columns that must be equal, of all classes that link the same inputs: `pairs` are the inputs that an equality is between."""

    pairs: frozenset[frozenset[int]]
    parts: tuple[Equated, ...]

    def columns(self, number: int) -> tuple[str, ...]:
        """The columns of an input, those of the same part at the same place for every input."""
        return tuple(c for part in self.parts for c in sorted(c for n, c in part if n == number))

    @property
    def inputs(self) -> frozenset[int]:
        """The inputs that are linked."""
        return frozenset[int]().union(*self.pairs)


def equated_classes(equalities: Sequence[Equality]) -> tuple[EquatedClass, ...]:
    """The classes of equated columns; several between the same inputs are one."""
    sides = [(_node(e.left), _node(e.right)) for e in equalities]
    found: dict[frozenset[frozenset[int]], list[Equated]] = {}
    for columns in _classes(sides):
        pairs = frozenset(frozenset((left[0], right[0])) for left, right in sides if left in columns)
        found.setdefault(pairs, []).append(columns)
    return tuple(EquatedClass(pairs, tuple(sorted(parts, key=sorted))) for pairs, parts in found.items())


def _classes(sides: Sequence[tuple[tuple[int, str], tuple[int, str]]]) -> list[Equated]:
    found: list[Equated] = []
    for both in map(frozenset, sides):
        apart = [c for c in found if not c & both]
        found = [*apart, both.union(*(c for c in found if c & both))]
    return found


def _node(term: Term) -> tuple[int, str]:
    return term.inputs[0], term.own or term.sql
