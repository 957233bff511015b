"""Results of many queries from cells: all groups by all cells are one block of numbers, folded over the ranges that each query takes.

Ranges are put together of pieces whose lengths are powers of two: those of one length are made of those of half of it, at every place at
once. So the time is that of the block, however wide the ranges are, and nothing is ever subtracted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Array = np.ndarray[Any, np.dtype[Any]]
Takes = Callable[[pa.Table], Array]
"""Of distinct cells or query-sets, by given member and in their order, whether it takes them."""
SPARSE = 4
"""A block is made where it has up to so many places for a row."""
MOST_PLACES = 1 << 24
_EXACT = 1 << 62


@dataclass(frozen=True)
class Fold:
    """How numbers become one; `empty` is what changes nothing."""

    two: np.ufunc
    empty: Callable[[np.dtype[Any]], Any]


def _extreme(high: bool) -> Callable[[np.dtype[Any]], Any]:
    def empty(kind: np.dtype[Any]) -> Any:
        if kind.kind == "f":
            return -np.inf if high else np.nan
        return np.iinfo(kind).min if high else np.iinfo(kind).max

    return empty


FOLDS = {
    "sum": Fold(np.add, lambda kind: 0),
    "max": Fold(np.maximum, _extreme(True)),
    "min": Fold(np.fmin, _extreme(False)),  # NaN is above all numbers
}


@dataclass(frozen=True)
class Codes:
    """The rows of a table by the values of some columns, each distinct combination by its number."""

    numbers: Array
    values: pa.Table

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.values.num_rows)


def folded(
    rows: pa.Table, groups: Sequence[str], cells: Sequence[str], folds: Mapping[str, str | None], takes: Takes
) -> pa.Table | None:
    """The parts of each group for each given member that takes some of its rows, with the member's place as `given`.

    None where a part can't be folded so, or where groups have few of the cells: then a join takes less.
    """
    parts = {name: _part(rows.column(name), fold) for name, fold in folds.items()}
    if not rows.num_rows or any(p is None for p in parts.values()):
        return None
    by, at = coded(rows, groups), coded(rows, cells)
    if by.count * at.count > min(SPARSE * rows.num_rows, MOST_PLACES):
        return None
    order = pc.sort_indices(at.values, [(name, "ascending") for name in cells]).to_numpy()
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order), dtype=order.dtype)
    taken = takes(at.values.take(pa.array(order)))
    if by.count * len(taken) > MOST_PLACES:
        return None
    pieces = pieces_of(taken)
    block = Block(rank[at.numbers].astype(np.int64) * by.count + by.numbers, (at.count, by.count), pieces)
    with np.errstate(invalid="ignore"):  # NaN
        found = np.flatnonzero(block.folded(FOLDS["max"], np.ones(rows.num_rows, np.int8), 0))
        columns = {name: p.typed(block, found) for name, p in parts.items() if p is not None}
    member, group = np.divmod(found, by.count)
    keys = by.values.take(pa.array(group))
    return pa.table(
        {**dict(zip(groups, keys.columns, strict=True)), "given": member.astype(np.int32), **columns}
    )


def coded(table: pa.Table, names: Sequence[str]) -> Codes:
    """Rows by the values of columns; combinations that no row has may have a number too, where they are not many."""
    numbers, size = np.zeros(table.num_rows, np.int64), 1
    for name in names:
        column = _whole(table.column(name)).dictionary_encode(null_encoding="encode")
        numbers, size = (
            numbers * len(column.dictionary) + column.indices.to_numpy(),
            size * len(column.dictionary),
        )
        if size > table.num_rows:
            packed = pa.array(numbers).dictionary_encode()
            numbers, size = packed.indices.to_numpy().astype(np.int64), len(packed.dictionary)
    example = np.zeros(size, np.int64)
    example[numbers] = np.arange(table.num_rows)
    return Codes(numbers, table.select(list(names)).take(pa.array(example)))


@dataclass(frozen=True)
class Pieces:
    """What members take of cells in order: pieces of 2 ** level cells from a first one on."""

    members: int
    member: Array
    level: Array
    first: Array

    def rounds(self, level: int) -> Iterator[tuple[Array, Array]]:
        """The pieces of a level, those of a member one after another: members and first cells."""
        member, first = self.member[self.level == level], self.first[self.level == level]
        order = np.argsort(member, kind="stable")
        member, first = member[order], first[order]
        turn = np.arange(len(member)) - np.searchsorted(member, member)
        for n in range(int(turn.max(initial=-1)) + 1):
            yield member[turn == n], first[turn == n]


def pieces_of(taken: Array) -> Pieces:
    """By member and cell in order, whether it takes it.

    >>> p = pieces_of(np.array([[True, True, True, False, True]]))
    >>> sorted(zip(p.level.tolist(), p.first.tolist()))
    [(0, 2), (0, 4), (1, 0)]
    """
    padded = np.pad(taken.astype(np.int8), ((0, 0), (1, 1)))
    change = np.diff(padded, axis=1)
    member, first = np.nonzero(change == 1)
    left = np.nonzero(change == -1)[1] - first
    found: list[tuple[Array, Array, Array]] = []
    for level in range(int(left.max(initial=0)).bit_length())[::-1]:
        some = left >> level & 1 == 1
        found.append((member[some], np.full(int(some.sum()), level), first[some]))
        first = first + (some.astype(np.int64) << level)
    columns = [np.concatenate(c) for c in zip(*found, strict=True)] if found else [np.zeros(0, np.int64)] * 3
    return Pieces(len(taken), *columns)


@dataclass(frozen=True)
class Block:
    """Where in a block of cells by groups each row stands, and what is taken of it."""

    place: Array
    shape: tuple[int, int]
    pieces: Pieces

    def folded(self, fold: Fold, values: Array, empty: Any) -> Array:
        """By member and group, one after another, what values become."""
        made = np.full(self.shape[0] * self.shape[1], empty, values.dtype)
        fold.two.at(made, self.place, values)
        made = made.reshape(self.shape)
        found = np.full((self.pieces.members, self.shape[1]), empty, values.dtype)
        for level in range(int(self.pieces.level.max(initial=-1)) + 1):
            if level:
                half = 1 << level - 1
                made = fold.two(made[:-half], made[half:])
            for member, first in self.pieces.rounds(level):
                found[member] = fold.two(found[member], made[first])
        return found.ravel()


@dataclass(frozen=True)
class _Part:
    """A part of an aggregate as numbers, and which rows have one."""

    fold: Fold
    numbers: Array
    valid: Array | None
    type: pa.DataType

    def typed(self, block: Block, found: Array) -> pa.Array:
        """The part where something was found."""
        values = block.folded(self.fold, self.numbers, self.fold.empty(self.numbers.dtype))[found]
        none = (
            None
            if self.valid is None
            else block.folded(FOLDS["max"], self.valid.astype(np.int8), 0)[found] == 0
        )
        if pa.types.is_decimal(self.type):
            halves = np.stack([values, values >> 63], axis=1)
            valid = None if none is None else pa.array(~none).buffers()[1]
            return pa.Array.from_buffers(self.type, len(values), [valid, pa.py_buffer(halves.tobytes())])
        whole = pa.array(values, mask=none)
        return (
            whole.cast(pa.int32()).cast(self.type) if pa.types.is_date32(self.type) else whole.cast(self.type)
        )


def _part(column: pa.ChunkedArray, fold: str | None) -> _Part | None:
    """A column as numbers that are folded without rounding; None where it has none."""
    array, valid = _whole(column), None
    numbers = _numbers(array)
    if fold is None or numbers is None:
        return None
    how = FOLDS[fold]
    if array.null_count:
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        numbers = np.where(valid, numbers, how.empty(numbers.dtype))
    if fold == "sum" and numbers.dtype.kind != "f" and np.abs(numbers.astype(np.float64)).sum() >= _EXACT:
        return None
    return _Part(how, numbers, valid, array.type)


def _numbers(array: pa.Array) -> Array | None:
    """The numbers of an array, with any in the place of NULL."""
    kind = array.type
    if pa.types.is_decimal128(kind):
        halves = np.frombuffer(array.buffers()[1], np.int64)[
            2 * array.offset : 2 * (array.offset + len(array))
        ].reshape(-1, 2)
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        return halves[:, 0] if bool(np.all((halves[:, 1] == halves[:, 0] >> 63) | ~valid)) else None
    if pa.types.is_floating(kind):
        rounded: Array = array.fill_null(0).to_numpy().astype(np.float64)
        return rounded
    if pa.types.is_timestamp(kind) or pa.types.is_date32(kind):
        array = array.view(pa.int64() if pa.types.is_timestamp(kind) else pa.int32())
    if not pa.types.is_signed_integer(array.type):
        return None
    numbers: Array = array.fill_null(0).to_numpy().astype(np.int64)
    return numbers


def _whole(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece."""
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
