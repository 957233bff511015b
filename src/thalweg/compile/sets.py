"""Query-sets: for a row, which queries of a pool take it, as the bits of one number.

The conditions of all queries that compare one expression with constants are an index: its constants cut the values into ranges, and the
range of a row says which queries may take it. What is not understood so is asked one by one, each distinct condition once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cmp_to_key, lru_cache

import numpy as np

from thalweg.expr.constants import Constant, above, same
from thalweg.expr.implication import said
from thalweg.expr.nodes import Call, Column, Expr, Literal
from thalweg.model.query import Chosen
from thalweg.once import cached_property
from thalweg.plan.pool import TYPE

_TIME = Column("__time", "BIGINT")
MOST_CONSTANTS = 64
"""Constants of one condition up to which they are cuts of an index; the engine looks a longer list up by itself."""
Words = np.ndarray[tuple[int, int], np.dtype[np.uint64]]
Held = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True)
class Atom:
    """A comparison of an expression with constants that queries ask for: the bits of those."""

    function: str
    values: tuple[Constant, ...]
    bits: int


@dataclass(frozen=True)
class Cut:
    """A constant that cuts the values of an expression, as a value and as it is written."""

    value: Constant
    written: Expr


@dataclass(frozen=True)
class Indexed:
    """An expression with its cuts in order, and what is asked of it."""

    subject: Expr
    cuts: tuple[Cut, ...]
    atoms: tuple[Atom, ...]


def mask_of(bits: Iterable[int]) -> int:
    """The number of which some bits are set.

    >>> mask_of([0, 2])
    5
    """
    found = 0
    for bit in bits:
        found |= 1 << bit
    return found


def set_sql(sets: Sequence[Chosen]) -> str:
    """The query-set of a row. It is remembered: where one query comes or goes, most pools take what they took before.

    >>> from thalweg.expr.nodes import Call, Column, Literal
    >>> a, one, two = Column("a", "INTEGER"), Literal("1", "INTEGER"), Literal("2", "INTEGER")
    >>> print(set_sql([Chosen(0, (Call("<", (a, two), "BOOLEAN"),)), Chosen(1)]))
    CASE WHEN "a" < 2 THEN 3::UBIGINT ELSE 2::UBIGINT END
    """
    return _set_sql(tuple(sets))


@lru_cache(maxsize=1024)
def _set_sql(sets: tuple[Chosen, ...]) -> str:
    full = mask_of(c.bit for c in sets)
    indexed, alone = indexes(sets)
    found = [_index_sql(i, full) for i in indexed]
    found += [
        f"CASE WHEN {condition.sql} THEN {_mask(full)} ELSE {_mask(full & ~bits)} END"
        for condition, bits in alone
    ]
    return " & ".join(f"({sql})" if len(found) > 1 else sql for sql in found) or _mask(full)


def indexes(sets: Sequence[Chosen]) -> tuple[list[Indexed], list[tuple[Expr, int]]]:
    """The conditions of all queries as indexes, and those that are asked one by one, each with the bits of who asks it."""
    asked: dict[Expr, int] = {}
    for chosen in sets:
        begun = (
            ()
            if chosen.begin is None
            else (Call(">=", (_TIME, Literal(str(chosen.begin), "BIGINT")), "BOOLEAN"),)
        )
        for condition in (*chosen.where, *begun):
            asked[condition] = asked.get(condition, 0) | 1 << chosen.bit
    by_subject: dict[Expr, list[tuple[Expr, int]]] = {}
    alone: list[tuple[Expr, int]] = []
    for condition, bits in asked.items():
        known = list(said(condition))
        subjects = {
            subject for subject, _, values in known if sum(len(v) for _, _, v in known) <= MOST_CONSTANTS
        }
        (by_subject.setdefault(subjects.pop(), []) if len(subjects) == 1 else alone).append((condition, bits))
    found = []
    for subject, conditions in by_subject.items():
        index = index_of(subject, conditions) if len(conditions) > 1 else None
        if index is None:
            alone += conditions
        else:
            found.append(index)
    return found, alone


def index_of(subject: Expr, conditions: Sequence[tuple[Expr, int]]) -> Indexed | None:
    """The index of an expression; none where it is not sure which of two constants is greater."""
    atoms = [Atom(function, values, bits) for c, bits in conditions for _, function, values in said(c)]
    cuts = _ordered([cut for c, _ in conditions for cut in _cuts(c)])
    return None if cuts is None else Indexed(subject, cuts, tuple(atoms))


def _cuts(condition: Expr) -> list[Cut]:
    """The constants of a condition."""
    inner = (
        condition.children[0] if isinstance(condition, Call) and condition.function == "NOT" else condition
    )
    values = [v for _, _, values in said(inner) for v in values]
    return [Cut(value, written) for value, written in zip(values, inner.children[1:], strict=False)]


def _ordered(cuts: Sequence[Cut]) -> tuple[Cut, ...] | None:
    """The constants from the least on, each once; None where some two can't be told apart."""
    order = sorted(cuts, key=cmp_to_key(_compared))
    found: list[Cut] = []
    for cut in order:
        if found and same(found[-1].value, cut.value):
            continue
        if found and not above(cut.value, found[-1].value):
            return None
        found.append(cut)
    return tuple(found)


def _compared(one: Cut, other: Cut) -> int:
    return int(above(one.value, other.value)) - int(above(other.value, one.value))


def _index_sql(index: Indexed, full: int) -> str:
    """By the range that a value falls into; NULL falls into none."""
    masks = masks_at(index, full)
    tree = _tree(index, masks, 0, len(index.cuts))
    return f"CASE WHEN {index.subject.operand} IS NULL THEN {_mask(mask_at(masks, None))} ELSE {tree} END"


def _tree(index: Indexed, masks: Words, low: int, high: int) -> str:
    """A search through the cuts from `low` up to `high`, by halves."""
    if low == high:
        return _mask(mask_at(masks, 2 * low))
    middle = (low + high) // 2
    cut = index.cuts[middle].written
    below, equal = (Call(symbol, (index.subject, cut), "BOOLEAN").sql for symbol in ("<", "="))
    left, right = _tree(index, masks, low, middle), _tree(index, masks, middle + 1, high)
    at = _mask(mask_at(masks, 2 * middle + 1))
    if at == right:
        return left if left == right else f"CASE WHEN {below} THEN {left} ELSE {right} END"
    return f"CASE WHEN {below} THEN {left} WHEN {equal} THEN {at} ELSE {right} END"


def mask_at(masks: Words, place: int | None) -> int:
    """Who may take a row whose value is at a place: below the first cut is 0, at it 1, between it and the second 2; None is NULL."""
    return int(masks[0, -1 if place is None else place])


def _number(index: Indexed, value: Constant) -> int:
    return next(n for n, cut in enumerate(index.cuts) if same(cut.value, value))


def _mask(bits: int) -> str:
    return f"{bits}::{TYPE}"


@dataclass(frozen=True)
class CellIndex:
    """The conditions of any number of queries as cells: rows between the same cuts of every expression, of which the same other conditions
    hold, have the same query-set."""

    indexed: tuple[Indexed, ...]
    alone: tuple[tuple[Expr, int], ...]
    full: int

    @classmethod
    def of(cls, sets: Sequence[Chosen]) -> CellIndex:
        """The index of what some queries take."""
        indexed, alone = indexes(sets)
        return cls(tuple(indexed), tuple(alone), mask_of(c.bit for c in sets))

    @property
    def columns(self) -> list[str]:
        """What tells cells apart: the place of each expression among its cuts, and whether each other condition holds."""
        found = [f"({_place_sql(i)})::INTEGER AS {_place(n)}" for n, i in enumerate(self.indexed)]
        return found + [f"coalesce({c.sql}, FALSE) AS {_held(n)}" for n, (c, _) in enumerate(self.alone)]

    def words(self, count: int) -> list[str]:
        """The query-set of a cell, as words of 64 bits."""
        return [self._word(n) for n in range(count)]

    def _word(self, number: int) -> str:
        full = _word(self.full, number)
        if not full:  # room for queries to come
            return _mask(0)
        found = [
            f"([{', '.join(map(str, masks[number].tolist()))}]::{TYPE}[])[{_place(n)} + 1]"
            for n, masks in enumerate(self._masks)
        ]
        found += [
            f"(CASE WHEN {_held(n)} THEN {_mask(full)} ELSE {_mask(full & ~_word(bits, number))} END)"
            for n, (_, bits) in enumerate(self.alone)
        ]
        return " & ".join(found) or _mask(full)

    @cached_property
    def _masks(self) -> list[Words]:
        """Per expression and word, who may take a row at each place."""
        return [masks_at(index, self.full) for index in self.indexed]


def masks_at(index: Indexed, full: int) -> Words:
    """Who may take a row at each place among the cuts, and last where there is no value: a row of numbers per word."""
    count, numbers = full.bit_length() // 64 + 1, {cut.value: n for n, cut in enumerate(index.cuts)}
    places = 2 * len(index.cuts) + 2
    masks = np.repeat(np.array([[_word(full, w)] for w in range(count)], np.uint64), places, axis=1)
    for atom in index.atoms:
        at = [2 * (numbers[v] if v in numbers else _number(index, v)) + 1 for v in atom.values]
        left = ~_held_at(atom.function, at, places)
        for w in range(atom.bits.bit_length() // 64 + 1):
            if gone := _word(atom.bits, w):
                masks[w, left] &= ~np.uint64(gone)
    return masks


def _held_at(function: str, at: list[int], places: int) -> Held:
    """At which of so many places a comparison with constants at some of them holds; the last place is that of NULL."""
    found: Held = np.zeros(places, np.bool_)
    match function:
        case "IS NULL":
            found[-1] = True
        case "IS NOT NULL":
            found[:-1] = True
        case "<" | "<=":
            found[: at[0] + (function == "<=")] = True
        case ">" | ">=":
            found[at[0] + (function == ">") : -1] = True
        case "<>":
            found[:-1] = True
            found[at] = False
        case _:
            found[at] = True
    return found


def _place_sql(index: Indexed) -> str:
    """The place of a value among the cuts, as `mask_at` counts them; NULL comes after all."""
    last = 2 * len(index.cuts) + 1
    return f"CASE WHEN {index.subject.operand} IS NULL THEN {last} ELSE {_place_tree(index, 0, len(index.cuts))} END"


def _place_tree(index: Indexed, low: int, high: int) -> str:
    if low == high:
        return str(2 * low)
    middle = (low + high) // 2
    cut = index.cuts[middle].written
    below, equal = (Call(symbol, (index.subject, cut), "BOOLEAN").sql for symbol in ("<", "="))
    left, right = _place_tree(index, low, middle), _place_tree(index, middle + 1, high)
    return f"CASE WHEN {below} THEN {left} WHEN {equal} THEN {2 * middle + 1} ELSE {right} END"


def _place(number: int) -> str:
    return f'"__place{number}"'


def _held(number: int) -> str:
    return f'"__held{number}"'


def _word(bits: int, number: int) -> int:
    """The n-th 64 bits of a number."""
    return bits >> (64 * number) & (1 << 64) - 1
