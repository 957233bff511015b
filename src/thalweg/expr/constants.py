"""Constants as values that can be compared as the engine compares them with an expression."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from thalweg.expr.nodes import Expr, Literal
from thalweg.expr.types import INTEGERS, is_exact, is_numeric, may_not_fit

# Numbers that are this far apart, and this near to one, stay apart when they are rounded to a FLOAT.
_APART, _LEAST, _MOST = Decimal("1e-5"), Decimal("1e-30"), Decimal("1e30")


class Constant(NamedTuple):
    """A value of a kind; `rough` numbers are rounded by the engine before they are compared."""

    value: Decimal | bytes | datetime | bool
    text: str
    rough: bool = False


def constant_of(expr: Expr, type_: str) -> Constant | None:
    """A constant as it is compared with an expression of a type; None where that is not understood."""
    if not isinstance(expr, Literal) or expr.value is None:
        return None
    if is_numeric(type_) and is_numeric(expr.type):
        return _number(expr, type_)
    if type_ != expr.type:
        return None
    if type_ == "VARCHAR":
        return Constant(expr.value.encode(), expr.value)
    if type_ in ("DATE", "TIMESTAMP"):
        return Constant(datetime.fromisoformat(expr.value), expr.value)
    return Constant(expr.value == "TRUE", expr.value) if type_ == "BOOLEAN" else None


def _number(literal: Literal, type_: str) -> Constant | None:
    assert literal.value is not None
    if not is_exact(type_):
        return Constant(Decimal(literal.value), literal.value, rough=True)
    if (
        not is_exact(literal.type)
        or may_not_fit(type_, literal.type)
        or (type_ == "HUGEINT" and literal.type not in INTEGERS)
    ):
        return None
    return Constant(Decimal(literal.value), literal.value)


def above(one: Constant, other: Constant) -> bool:
    """Whether a constant is surely greater than another."""
    if isinstance(one.value, Decimal) and isinstance(other.value, Decimal) and (one.rough or other.rough):
        size = max(abs(one.value), abs(other.value))
        return size < _MOST and one.value - other.value > max(size * _APART, _LEAST)
    return type(one.value) is type(other.value) and one.value > other.value  # type: ignore[operator]


def same(one: Constant, other: Constant) -> bool:
    """Whether two constants are surely equal."""
    if one.rough or other.rough:
        return one.text == other.text
    return type(one.value) is type(other.value) and one.value == other.value
