"""Trees as plain lists and texts, for plans that are written down."""

from __future__ import annotations

from typing import Any

from thalweg.expr.nodes import Call, Case, Cast, Column, Expr, Literal, Variable


def to_data(expr: Expr) -> list[Any]:
    """A tree as lists: the kind of node, its type, and the rest.

    >>> to_data(Call("=", (Column("a", "BIGINT"), Literal("1", "INTEGER")), "BOOLEAN"))
    ['call', 'BOOLEAN', '=', [['column', 'BIGINT', 'a'], ['literal', 'INTEGER', '1']]]
    """
    match expr:
        case Column(name, type_):
            return ["column", type_, name]
        case Variable(name, type_):
            return ["variable", type_, name]
        case Literal(value, type_):
            return ["literal", type_, value]
        case Call(function, args, type_, params):
            return ["call", type_, function, [to_data(a) for a in args], *([list(params)] if params else [])]
        case Cast(arg, type_):
            return ["cast", type_, to_data(arg)]
        case Case(branches, type_, otherwise, subject):
            rest = [None if e is None else to_data(e) for e in (otherwise, subject)]
            return ["case", type_, [[to_data(test), to_data(value)] for test, value in branches], *rest]
    raise TypeError(f"{type(expr).__name__} is no node of a tree")


def from_data(data: list[Any]) -> Expr:
    """The tree that `to_data` gave."""
    match data:
        case ["column", type_, name]:
            return Column(name, type_)
        case ["variable", type_, name]:
            return Variable(name, type_)
        case ["literal", type_, value]:
            return Literal(value, type_)
        case ["call", type_, function, args, *params]:
            return Call(function, tuple(map(from_data, args)), type_, tuple(params[0]) if params else ())
        case ["cast", type_, arg]:
            return Cast(from_data(arg), type_)
        case ["case", type_, branches, otherwise, subject]:
            rest = (None if e is None else from_data(e) for e in (otherwise, subject))
            return Case(tuple((from_data(test), from_data(value)) for test, value in branches), type_, *rest)
    raise ValueError(f"no tree: {data[:2]}")
