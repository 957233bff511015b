"""Whether one condition contains another: where it holds, the other does.

Understood are conjunctions of comparisons with constants, BETWEEN, IN, IS NULL and IS NOT NULL of an expression; of anything else, that
it is the same. Never true where it isn't: conditions are of three values, NaN is above all numbers, and constants are compared only where
the engine's own comparison can't come out another way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from thalweg.expr.constants import Constant, above, constant_of, same
from thalweg.expr.nodes import FALSE, Call, Expr
from thalweg.expr.normal import conjuncts
from thalweg.once import once

_RANGES = {"<": (False, False), "<=": (False, True), ">": (True, False), ">=": (True, True)}


@dataclass(frozen=True)
class Bound:
    """An end of a range, and whether it belongs to it."""

    value: Constant
    inside: bool


@dataclass(frozen=True)
class Region:
    """What is known of the value of an expression: that it is NULL or not, bounds, what it may be, and what it is not."""

    null: bool | None = None
    low: Bound | None = None
    high: Bound | None = None
    among: tuple[Constant, ...] | None = None
    apart: tuple[Constant, ...] = ()


def implies(given: Expr, wanted: Expr) -> bool:
    """Whether `wanted` holds wherever `given` does."""
    if given in (wanted, FALSE):
        return True
    if isinstance(given, Call) and given.function == "OR":
        return all(implies(one, wanted) for one in given.args)
    atoms = conjuncts(given)
    regions: dict[Expr, Region] = {}
    for atom in atoms:
        for subject, function, values in said(atom):
            regions[subject] = _narrowed(regions.get(subject, Region()), function, values)
    return all(atom in atoms or _follows(regions, atom) for atom in conjuncts(wanted))


@once
def said(atom: Expr) -> tuple[tuple[Expr, str, tuple[Constant, ...]], ...]:
    """What an atom says of an expression, if it is understood: the function and the constants."""
    return tuple(_said(atom))


def _said(atom: Expr) -> Iterator[tuple[Expr, str, tuple[Constant, ...]]]:
    if not isinstance(atom, Call):
        return
    if atom.function == "NOT" and isinstance(inner := atom.args[0], Call) and inner.function == "IN":
        yield from ((s, "<>", (v,)) for s, _, values in said(inner) for v in values)
    if atom.function in ("IS NULL", "IS NOT NULL"):
        yield atom.args[0], atom.function, ()
    if atom.function in (*_RANGES, "=", "<>", "IN"):
        subject, *others = atom.args
        values = [constant_of(v, subject.type) for v in others]
        if all(v is not None for v in values):
            yield subject, atom.function, tuple(v for v in values if v is not None)


def _narrowed(region: Region, function: str, values: tuple[Constant, ...]) -> Region:
    """A region where one more thing is known."""
    if function == "IS NULL":
        return replace(region, null=True)
    region = replace(region, null=False)
    if function in ("=", "IN"):
        kept = (
            values
            if region.among is None
            else tuple(v for v in region.among if not all(_differ(v, w) for w in values))
        )
        return replace(region, among=kept)
    if function == "<>":
        return replace(region, apart=(*region.apart, *values))
    if function in _RANGES:
        upward, inside = _RANGES[function]
        found, known = Bound(values[0], inside), region.low if upward else region.high
        if known is None or _tighter(found, known, upward):
            return replace(region, low=found) if upward else replace(region, high=found)
    return region


def _differ(one: Constant, other: Constant) -> bool:
    return above(one, other) or above(other, one)


def _tighter(one: Bound, other: Bound, upward: bool) -> bool:
    further = above(one.value, other.value) if upward else above(other.value, one.value)
    return further or (same(one.value, other.value) and not one.inside)


def _follows(regions: dict[Expr, Region], atom: Expr) -> bool:
    if isinstance(atom, Call) and atom.function == "OR":
        return any(_follows(regions, one) for one in atom.args)
    known = said(atom)
    return bool(known) and all(
        _holds(regions.get(subject, Region()), function, values) for subject, function, values in known
    )


def _holds(region: Region, function: str, values: tuple[Constant, ...]) -> bool:
    """Whether what is said holds for every value of a region."""
    if function == "IS NULL":
        return region.null is True
    if region.null is not False:
        return False
    if function == "IS NOT NULL":
        return True
    if region.among is not None:
        return all(_true(function, v, values) for v in region.among)
    if function == "<>":
        return any(same(values[0], v) for v in region.apart) or _outside(region, values[0])
    if function in _RANGES:
        upward, inside = _RANGES[function]
        bound = region.low if upward else region.high
        return bound is not None and _within(bound, values[0], upward, inside or _apart(region, bound))
    return False


def _apart(region: Region, bound: Bound) -> bool:
    """Whether the end of a range is known not to be the value."""
    return not bound.inside or any(same(bound.value, v) for v in region.apart)


def _within(bound: Bound, value: Constant, upward: bool, touching: bool) -> bool:
    further = above(bound.value, value) if upward else above(value, bound.value)
    return further or (touching and same(bound.value, value))


def _outside(region: Region, value: Constant) -> bool:
    below = region.low is not None and _within(region.low, value, True, not region.low.inside)
    return below or (region.high is not None and _within(region.high, value, False, not region.high.inside))


def _true(function: str, value: Constant, others: tuple[Constant, ...]) -> bool:
    tests: dict[str, Any] = {
        "=": lambda: any(same(value, o) for o in others),
        "IN": lambda: any(same(value, o) for o in others),
        "<>": lambda: _differ(value, others[0]),
        "<": lambda: above(others[0], value),
        "<=": lambda: above(others[0], value) or same(value, others[0]),
        ">": lambda: above(value, others[0]),
        ">=": lambda: above(value, others[0]) or same(value, others[0]),
    }
    return bool(tests[function]())
