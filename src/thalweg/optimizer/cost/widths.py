"""How many bytes a row of state takes, by the types of its columns: state is Arrow, in which numbers have a fixed width."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from thalweg.model.aggregates import PartColumn
from thalweg.model.query import Query
from thalweg.once import cached_property
from thalweg.plan.sides import JoinPart, join_parts, side_columns

NUMBER = 8.0
TOTAL = 16.0
"""A sum of whole numbers, which has 38 digits."""
TEXT = 20.0
"""A text is taken to have so many, with its place."""
WIDTHS = {"BOOLEAN": 0.125, "TINYINT": 1.0, "SMALLINT": 2.0, "INTEGER": 4.0, "FLOAT": 4.0, "DATE": 4.0}
WIDTHS |= {"BIGINT": NUMBER, "DOUBLE": NUMBER, "TIMESTAMP": NUMBER, "HUGEINT": TOTAL}
ADDED_UP = frozenset({"sum", "sum_high", "sum_low"})
"""Parts that are sums, which are wider than what is added up."""


def type_bytes(type_: str) -> float:
    """A value of a type.

    >>> type_bytes("BIGINT"), type_bytes("DECIMAL(10,2)"), type_bytes("VARCHAR")
    (8.0, 16.0, 20.0)
    """
    return WIDTHS.get(type_, TOTAL if type_.startswith("DECIMAL") else TEXT)


@dataclass(frozen=True)
class Widths:
    """The bytes of a row of all that a join may keep, each found once however many plans there are."""

    query: Query

    @cached_property
    def parts(self) -> tuple[JoinPart, ...]:
        """What results are lowered from."""
        return join_parts(self.query)

    @cached_property
    def sides(self) -> Mapping[tuple[int, bool], float]:
        """A row of an input, by its number and whether it is aggregated early."""
        numbers = range(len(self.query.inputs))
        return {(n, early): self._side(n, early) for n, early in product(numbers, (False, True))}

    @cached_property
    def group(self) -> float:
        """A row of partial results of a group, where whatever is added up is a sum of sums."""
        return self._keys + sum(_combined(p.column) for p in self.parts)

    @cached_property
    def pair(self) -> float:
        """A joined row with its parts."""
        return self._keys + sum(_part(p.column, is_sum=False) for p in self.parts)

    @cached_property
    def totals(self) -> float:
        """The totals of a group: besides its parts how many pairs have each, and how many there are."""
        return self.group + TOTAL * (len(self.parts) + 1)

    @cached_property
    def sets(self) -> float:
        """A row of the totals and the sets of all windows, which are one table: each has the columns of all."""
        streams = [n for n, i in enumerate(self.query.inputs) if i.is_stream]
        counts = sum(1 for p in self.parts if p.input is not None) + len(streams)
        return self.totals + sum(self.sides[n, True] - NUMBER for n in streams) + NUMBER * counts

    @cached_property
    def stairs(self) -> float:
        """A row of what is least and greatest in all windows, which are one table likewise."""
        streams = [n for n, i in enumerate(self.query.inputs) if i.is_stream]
        return sum(self.sides[n, True] for n in streams) + 1.5 * NUMBER

    @cached_property
    def _keys(self) -> float:
        return NUMBER + sum(type_bytes(k.type) for k in self.query.keys)

    def _side(self, number: int, early: bool) -> float:
        own = [p.column for p in self.parts if p.input == number]
        columns = sum(type_bytes(c.type) for c in side_columns(self.query, number))
        return NUMBER + columns + sum(_part(p, early) for p in own) + (NUMBER if early else 0.0)


def _part(part: PartColumn, is_sum: bool) -> float:
    """A part of a row, or of many of them."""
    kind, args = part.part.kind, part.call.args
    if kind in ("count", "rows") or not args:
        return NUMBER
    own = type_bytes(args[0].type)
    return TOTAL if is_sum and kind in ADDED_UP and args[0].type not in ("FLOAT", "DOUBLE") else own


def _combined(part: PartColumn) -> float:
    return TOTAL if part.part.kind in ("count", "rows", *ADDED_UP) else _part(part, is_sum=True)
