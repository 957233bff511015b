"""Expressions given as the text that the engine runs, for tests that say by text what a tree must come to, or need no tree."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp, parse_one

from thalweg.expr.nodes import Expr
from thalweg.expr.pieces import Piece
from thalweg.model.query import ColumnRef, Output, Term


class Text(Expr):
    """An expression that is equal to each that is written so and is of that type.

    >>> from thalweg.expr.nodes import Column
    >>> Column("price", "BIGINT") == Text('"price"', "BIGINT")
    True
    """

    def __init__(self, sql: str, type_: str) -> None:
        self.sql, self.type = sql, type_
        self.operand = Piece(sql, sql.isidentifier()).operand
        self.columns = frozenset(c.name for c in parse_one(sql, read="duckdb").find_all(exp.Column))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expr) and (self.sql, self.type) == (other.sql, other.type)

    def __hash__(self) -> int:
        return hash(self.sql)

    def __repr__(self) -> str:
        return f"Text({self.sql!r}, {self.type!r})"


def output(name: str, sql: str, type_: str) -> Output:
    """A column of the result by its text."""
    return Output(name, Text(sql, type_))


def term(sql: str, type_: str, columns: Sequence[ColumnRef], own: str | None = None) -> Term:
    """A term by its texts."""
    return Term(Text(sql, type_), tuple(columns), None if own is None else Text(own, type_))
