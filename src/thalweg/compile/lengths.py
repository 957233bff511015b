"""Members of a pool whose windows are shorter than the pool's: a row has left theirs while it is still in the pool's."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.expr.quoting import identifier
from thalweg.model.query import RANGE, UNBOUNDED
from thalweg.plan.pool import ALL, SET, TYPE
from thalweg.plan.shape import Shape


@dataclass(frozen=True)
class Lengths:
    """Members whose windows are of the same lengths: their bits, and the length of each stream's window; None where it has no end."""

    bits: int
    of: tuple[int | None, ...]


def lengths_of(shape: Shape) -> tuple[Lengths, ...]:
    """The members of a pool by the lengths of their windows; none where these are the same for all."""
    found: dict[tuple[int | None, ...], int] = {}
    chosen = [{c.bit: c.length for c in shape.sides[n].sets} for n in shape.streams]
    for bit in chosen[0] if chosen else ():
        own = tuple(lengths.get(bit) for lengths in chosen)
        found[own] = found.get(own, 0) | 1 << bit
    return tuple(Lengths(bits, own) for own, bits in found.items()) if len(found) > 1 else ()


def shorter(shape: Shape, number: int) -> dict[int, int]:
    """The bits of those whose window of an input is shorter than the pool's, by its length."""
    given, found = shape.query.inputs[number], dict[int, int]()
    if given.kind not in (RANGE, UNBOUNDED):
        return {}
    for chosen in shape.sides[number].sets:
        if chosen.length is not None and chosen.length != given.length:
            found[chosen.length] = found.get(chosen.length, 0) | 1 << chosen.bit
    return dict(sorted(found.items()))


def rarer(shape: Shape) -> dict[int, int]:
    """The bits of those who are given one instant of the pool's in so many."""
    found, every = dict[int, int](), shape.query.every or 1
    for chosen in shape.sides[shape.streams[0]].sets:
        if chosen.every is not None:
            nth = chosen.every // every
            found[nth] = found.get(nth, 0) | 1 << chosen.bit
    return dict(sorted(found.items()))


def kept_set(shape: Shape, number: int) -> str:
    """Where a side of instants has the query-set of a row."""
    return f'"c{shape.sides[number].place_of(identifier(SET))}"'


def within(shape: Shape, number: int, rows: str, end: str, given: bool = False) -> str:
    """Rows of an input's window that ends with a slot, each without the bits of those who have a shorter one that it is not in; and without
    those who are not given the instant, where that is asked."""
    masks = [
        f'CASE WHEN "slot" >= {end} - {length // shape.slot} THEN {ALL}::{TYPE} ELSE {ALL & ~bits}::{TYPE} END'
        for length, bits in shorter(shape, number).items()
    ]
    if given:
        masks += [
            f'CASE WHEN "i" % {nth} = 0 THEN {ALL}::{TYPE} ELSE {ALL & ~bits}::{TYPE} END'
            for nth, bits in rarer(shape).items()
        ]
    if not masks:
        return rows
    own = kept_set(shape, number)
    narrowed = f"SELECT * REPLACE ({' & '.join([own, *masks])} AS {own}) FROM ({rows})"
    return f"SELECT * FROM ({narrowed}) WHERE {own} <> 0"
