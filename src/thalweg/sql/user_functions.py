"""Calls of Python functions that the session was given."""

from __future__ import annotations

from sqlglot import exp

from thalweg.expr.nodes import NULL, Cast, Expr, Literal, is_text
from thalweg.expr.python import Function
from thalweg.expr.types import INTEGERS, digits, is_exact, is_numeric, spoken
from thalweg.sql import literals
from thalweg.sql.builder import Builder


def build_user_call(builder: Builder, node: exp.Expr, function: Function) -> Expr:
    """The tree of a call: arguments in the types of the parameters, where they are of these or of narrower ones."""
    count, expected = len(node.expressions), len(function.parameters)
    if count != expected:
        hint = f"it is {function.name}({function.signature})"
        plural = "argument" if expected == 1 else "arguments"
        raise builder.source.at(node, f"{function.name} takes {expected} {plural}, not {count}", hint)
    args = zip(node.expressions, function.parameters, strict=True)
    return function.called(tuple(_fitted(builder, n, function, to) for n, to in args))


def _fitted(builder: Builder, node: exp.Expr, function: Function, to: str) -> Expr:
    tree = builder.tree(node)
    if tree.type == to:
        return tree
    if is_text(tree) and to in ("DATE", "TIMESTAMP") and literals.fits(str(tree.value), to):  # type: ignore[attr-defined]
        return Literal(tree.value, to)  # type: ignore[attr-defined]
    if tree.type == NULL or is_narrower(tree.type, to):
        return Cast(tree, to)
    said = f"{function.name} takes {spoken(to)} here, not {spoken(tree.type)}"
    raise builder.source.at(
        node, said, f"CAST it to {spoken(to)}; it is {function.name}({function.signature})"
    )


def is_narrower(one: str, other: str) -> bool:
    """Whether each value of a type is one of another type of its kind.

    >>> is_narrower("INTEGER", "BIGINT"), is_narrower("BIGINT", "INTEGER"), is_narrower("DATE", "TIMESTAMP")
    (True, False, True)
    """
    if not (is_numeric(one) and is_numeric(other)):
        return (one, other) == ("DATE", "TIMESTAMP")
    if not is_exact(other):
        return is_exact(one) or one == "FLOAT"
    if not is_exact(one) or (other in INTEGERS and one not in INTEGERS):
        return False
    (whole, scale), (room, places) = digits(one), digits(other)
    return whole <= room and scale <= places
