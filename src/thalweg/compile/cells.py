"""Cells: where all queries of a pool compare one expression with constants, one value stands for all that none of them tells apart.

The constants cut the values into ranges; a range is known by its least value, the *cell*. A condition holds for all rows of a cell if it
holds for that value, so state by cells needs no query-sets: whoever comes later cuts later rows finer, and reads no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor

import numpy as np
import pyarrow as pa

from thalweg.compile.sets import MOST_CONSTANTS, Held, Indexed, Words, index_of, mask_of, masks_at
from thalweg.expr.constants import Constant
from thalweg.expr.implication import said
from thalweg.expr.nodes import Expr
from thalweg.model.query import Chosen
from thalweg.once import cached_property
from thalweg.plan.groups import CELL

MOST_VALUES = 1 << 16
"""Values up to which a table says of each which cell it is in."""
_WIDTHS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64}
_ARROW = {"TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INTEGER": pa.int32(), "BIGINT": pa.int64()}
_VALUE, _LOW = "__value", "__low"
_TOO_LARGE = 1 << 62
Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]


def subject_of(where: Sequence[Expr]) -> Expr | None:
    """The expression whose values conditions cut into cells: whole numbers in any way, texts where they are equal to something.

    None where conditions are about more than one, or say that there is no value.
    """
    known = [list(said(condition)) for condition in where]
    subjects = {subject for some in known for subject, _, _ in some}
    if (
        len(subjects) != 1
        or not all(known)
        or any(sum(len(v) for _, _, v in some) > MOST_CONSTANTS for some in known)
    ):
        return None
    subject = next(iter(subjects))
    return (
        subject
        if all(_is_cut(subject.type, function, values) for some in known for _, function, values in some)
        else None
    )


def _is_cut(type_: str, function: str, values: Sequence[Constant]) -> bool:
    if type_ in _WIDTHS:
        return function != "IS NULL" and all(abs(_number(v)) < _TOO_LARGE for v in values)
    return type_ == "VARCHAR" and function in ("=", "IN")


def _number(value: Constant) -> float:
    return value.value  # type: ignore[return-value]


@dataclass(frozen=True)
class Lookup:
    """How rows find their cells: a table, and the join of rows with it."""

    table: pa.Table
    join: str


@dataclass(frozen=True)
class Cells:
    """The ranges of an expression that queries tell apart, and who takes which."""

    index: Indexed
    full: int

    @property
    def subject(self) -> Expr:
        """What is cut."""
        return self.index.subject

    def takers(self, cells: pa.ChunkedArray) -> Words:
        """Who takes the rows of some cells: a row of numbers per word of 64 bits."""
        found: Words = self._masks[:, self._places(cells)]
        return found

    def lookup(self, table: str) -> Lookup:
        """How rows find their cells in a table of some name: by their value where values are few, else by the next cell below."""
        if self.subject.type == "VARCHAR":
            texts = pa.array(
                [cut.value.text for n, cut in enumerate(self.index.cuts) if self._masks[:, 2 * n + 1].any()],
                pa.string(),
            )
            return Lookup(pa.table({_VALUE: texts, CELL: texts}), _equal(table, self.subject.operand))
        starts, taken = self._ranges
        lengths = np.diff(starts[1:]) * taken[1:-1]
        if len(starts) == 1 or lengths.sum() > MOST_VALUES:
            low = {_LOW: pa.array(starts, self._type), CELL: pa.array(starts, self._type, mask=~taken)}
            return Lookup(pa.table(low), f'ASOF JOIN "{table}" ON {self.subject.operand} >= "{_LOW}"')
        return self._by_value(table, starts, taken, lengths)

    def _by_value(self, table: str, starts: Numbers, taken: Held, lengths: Numbers) -> Lookup:
        """Each value of the ranges between the first and the last; for all of these two one value stands."""
        firsts = np.repeat(starts[1:-1] - np.cumsum(lengths) + lengths, lengths)
        values, cells = [firsts + np.arange(len(firsts))], [np.repeat(starts[1:-1], lengths)]
        key, subject = self.subject.operand, self.subject.operand
        if taken[0]:
            key = f"CASE WHEN {subject} < {starts[1]} THEN {starts[1] - 1} ELSE {key} END"
            values, cells = [*values, starts[1:2] - 1], [*cells, starts[:1]]
        if taken[-1]:
            key = f"CASE WHEN {subject} >= {starts[-1]} THEN {starts[-1]} ELSE {key} END"
            values, cells = [*values, starts[-1:]], [*cells, starts[-1:]]
        found = {_VALUE: np.concatenate(values), CELL: pa.array(np.concatenate(cells), self._type)}
        return Lookup(pa.table(found), _equal(table, key))

    @cached_property
    def _ranges(self) -> tuple[Numbers, Held]:
        """Where ranges of the same takers begin, the first with the least number of the type; and whether anybody takes them."""
        bits = _WIDTHS[self.subject.type] - 1
        least, most = -(1 << bits), (1 << bits) - 1
        values = [_number(c.value) for c in self.index.cuts]
        edges = [
            least,
            *(edge for v in values for edge in (ceil(v), floor(v) + 1)),
        ]  # an empty place begins where the next one does
        starts = np.array([max(least, e) for e in edges if e <= most], np.int64)
        masks = self._masks[:, : len(starts)]
        filled = np.append(starts[1:] > starts[:-1], True)
        starts, masks = starts[filled], masks[:, filled]
        differs = np.append(True, (masks[:, 1:] != masks[:, :-1]).any(axis=0))
        taken: Held = np.bitwise_or.reduce(masks[:, differs], axis=0) != 0
        return starts[differs], taken

    def _places(self, cells: pa.ChunkedArray) -> Numbers:
        """The places of cells among the cuts: below the first is 0, at it 1, between it and the second 2."""
        if self.subject.type == "VARCHAR":
            known = {cut.value.text: 2 * n + 1 for n, cut in enumerate(self.index.cuts)}
            return np.array([known.get(cell, 0) for cell in cells.to_pylist()], np.int64)
        values, numbers = [_number(c.value) for c in self.index.cuts], cells.to_numpy()
        at, over = (
            np.array(edges, np.int64) for edges in (list(map(ceil, values)), [floor(v) + 1 for v in values])
        )
        places: Numbers = np.searchsorted(at, numbers, side="right") + np.searchsorted(
            over, numbers, side="right"
        )
        return places

    @cached_property
    def _masks(self) -> Words:
        return masks_at(self.index, self.full)

    @property
    def _type(self) -> pa.DataType:
        return _ARROW[self.subject.type]


@lru_cache(maxsize=32)
def cells_of(sets: tuple[Chosen, ...]) -> Cells:
    """The cells of what some queries take."""
    subject = subject_of(sets[0].where)
    assert subject is not None
    index = index_of(subject, [(condition, 1 << c.bit) for c in sets for condition in c.where])
    assert index is not None
    return Cells(index, mask_of(c.bit for c in sets))


def _equal(table: str, key: str) -> str:
    return f'JOIN "{table}" ON "{_VALUE}" = {key}'
