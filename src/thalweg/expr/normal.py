"""The normal form: equal meaning is an equal tree.

Connectives are flat, each condition once and in order; comparisons have the constant on the right, else what comes first in order on the
left; sums and products too. Constants are folded where nothing can fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from thalweg.expr.nodes import FALSE, TRUE, Call, Expr, Literal, is_constant
from thalweg.expr.types import is_numeric

TURNED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<=",
          "IS NOT DISTINCT FROM": "IS NOT DISTINCT FROM", "IS DISTINCT FROM": "IS DISTINCT FROM"}  # fmt: skip
OPPOSITES = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
             "IS NOT DISTINCT FROM": "IS DISTINCT FROM", "IS DISTINCT FROM": "IS NOT DISTINCT FROM",
             "IS NULL": "IS NOT NULL", "IS NOT NULL": "IS NULL"}  # fmt: skip
_COMMUTE = ("+", "*", "&", "|")
_FOLDED = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}


def all_of(conditions: Iterable[Expr]) -> Expr:
    """Conditions that must all hold, as one."""
    return _connected("AND", conditions, TRUE, FALSE)


def any_of(conditions: Iterable[Expr]) -> Expr:
    """Conditions of which one must hold, as one."""
    return _connected("OR", conditions, FALSE, TRUE)


def conjuncts(condition: Expr) -> tuple[Expr, ...]:
    """The conditions that a condition says must all hold, none where it always does."""
    return tuple(c for c in _flat("AND", [condition]) if c != TRUE)


def negated(condition: Expr) -> Expr:
    """A condition that holds where another does not; it is NULL where that is."""
    if condition in (TRUE, FALSE):
        return FALSE if condition == TRUE else TRUE
    if isinstance(condition, Call) and condition.function == "NOT":
        return condition.args[0]
    if isinstance(condition, Call) and condition.function in OPPOSITES:
        return Call(OPPOSITES[condition.function], condition.args, "BOOLEAN")
    return Call("NOT", (condition,), "BOOLEAN")


def compared(symbol: str, left: Expr, right: Expr) -> Expr:
    """A comparison, the constant on the right."""
    if _comes_after(left, right):
        left, right, symbol = right, left, TURNED[symbol]
    return Call(symbol, (left, right), "BOOLEAN")


def one_of(this: Expr, values: Iterable[Expr]) -> Expr:
    """That an expression equals one of some values, each once and in order."""
    distinct = sorted(dict.fromkeys(values), key=lambda v: v.sql)
    return (
        compared("=", this, distinct[0]) if len(distinct) == 1 else Call("IN", (this, *distinct), "BOOLEAN")
    )


def operands(symbol: str, left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """The operands of an operator, in order where it commutes."""
    return (right, left) if symbol in _COMMUTE and _comes_after(left, right) else (left, right)


def ordered(expr: Expr) -> Expr:
    """A tree in normal order again, after its columns were given other names."""
    made = expr.with_children(tuple(ordered(c) for c in expr.children))
    if not isinstance(made, Call) or len(made.args) < 2:
        return made
    if made.function in ("AND", "OR"):
        return all_of(made.args) if made.function == "AND" else any_of(made.args)
    if made.function in TURNED:
        return compared(made.function, *made.args)
    return made.with_children(operands(made.function, *made.args)) if made.function in _COMMUTE else made


def folded(call: Call) -> Expr:
    """A sum, difference or product of whole constants as one constant, where it is of the type that the engine gives it."""
    values = [v for a in call.args if (v := _whole(a)) is not None]
    if (
        call.function == "NEGATE"
        and isinstance(call.args[0], Literal)
        and is_numeric(call.type)
        and call.args[0].value
    ):
        text = call.args[0].value
        return Literal(text[1:] if text.startswith("-") else f"-{text}", call.type)
    if call.function in _FOLDED and len(values) == 2 and call.type == "INTEGER":
        value = _FOLDED[call.function](*values)
        return Literal(str(value), "INTEGER") if -(2**31) < value < 2**31 else call
    return call


def _whole(expr: Expr) -> int | None:
    return int(expr.value) if isinstance(expr, Literal) and expr.type == "INTEGER" and expr.value else None


def _comes_after(left: Expr, right: Expr) -> bool:
    if is_constant(left) or is_constant(right):
        return is_constant(left) and not is_constant(right)
    return left.sql > right.sql


def _connected(connective: str, conditions: Iterable[Expr], nothing: Expr, everything: Expr) -> Expr:
    found = sorted(dict.fromkeys(_flat(connective, conditions)), key=lambda c: c.operand)
    if everything in found:
        return everything
    left = tuple(c for c in found if c != nothing)
    return Call(connective, left, "BOOLEAN") if len(left) > 1 else left[0] if left else nothing


def _flat(connective: str, conditions: Iterable[Expr]) -> Iterator[Expr]:
    for condition in conditions:
        if isinstance(condition, Call) and condition.function == connective:
            yield from condition.args
        else:
            yield condition
