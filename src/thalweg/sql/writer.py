"""Spark expressions to DuckDB's SQL, in one normal form: equal meaning gives equal text.

Columns stand quoted, operands of operators in parentheses unless they are single things, constants on the right, conditions
flat and in order. Where Spark and DuckDB differ the text says what Spark means; a value that can't be computed (a division
by zero, a failed cast) is NULL, because one bad row must not stop a job that many queries share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlglot import exp

from thalweg.sql import literals
from thalweg.sql.inference import NULL, UNLIKE, InferenceError, family, one_line
from thalweg.sql.nodes import Duration, WindowCall, WindowSet
from thalweg.sql.source import Source

REFUSED: dict[type[exp.Expr], str] = {
    exp.Window: "a window function (OVER)",
    exp.Subquery: "a subquery",
    exp.Select: "a subquery",
    exp.Exists: "a subquery",
    exp.Any: "ANY",
    exp.All: "ALL",
    exp.Lambda: "a lambda",
    exp.Bracket: "an element of an array or map",
    exp.Tuple: "a tuple",
    exp.Star: "*",
    exp.Placeholder: "a parameter",
    exp.Parameter: "a parameter",
    exp.AtTimeZone: "AT TIME ZONE",
    exp.Collate: "COLLATE",
    exp.Dot: "a field of a struct",
    exp.Order: "ORDER BY in a call",
    exp.Distinct: "DISTINCT here",
    exp.Alias: "an alias here",
    exp.Limit: "LIMIT in a call",
    exp.Filter: "FILTER of what is no aggregate",
    exp.IgnoreNulls: "IGNORE NULLS here",
    exp.RespectNulls: "RESPECT NULLS here",
    exp.WithinGroup: "WITHIN GROUP here",
    exp.HexString: "a binary literal",
    WindowCall: "a window here",
    WindowSet: "a window here",
}


class Piece(NamedTuple):
    """SQL, and whether it can be an operand without parentheses."""

    sql: str
    single: bool = True


Forms = Mapping[type[exp.Expr], "Callable[[Writer, Any], Piece]"]


@dataclass(frozen=True)
class Writer:
    """Writes expressions: `forms` say how each kind of node is written, `infer` gives the type of what is written.

    `leaf` gives the SQL that stands for a node as a whole, or None to go into it. What is written is remembered.
    """

    source: Source
    forms: Forms
    infer: Callable[[str], str]
    leaf: Callable[[exp.Expr], str | None]
    _written: dict[int, tuple[exp.Expr, Piece]] = field(default_factory=dict, compare=False)

    def sql(self, node: exp.Expr) -> str:
        """The SQL of a node."""
        return self.piece(node).sql

    def operand(self, node: exp.Expr) -> str:
        """The SQL of a node as an operand."""
        return operand(self.piece(node))

    def piece(self, node: exp.Expr) -> Piece:
        """The SQL of a node, with whether it needs parentheses."""
        known = self._written.get(id(node))
        if known is None:
            known = self._written[id(node)] = (node, self._write(node))
        return known[1]

    def _write(self, node: exp.Expr) -> Piece:
        own = self.leaf(node)
        if own is not None:
            return Piece(own)
        form = self.forms.get(type(node))
        if form is None:
            named = REFUSED.get(type(node)) or self.source.written(node)
            raise self.source.at(node, f"{named} is not supported", "write it another way; docs/sql.md has what expressions may say")
        return form(self, node)

    def type(self, node: exp.Expr) -> str:
        """The type of a node; an error at it where it has none."""
        sql = self.sql(node)
        try:
            return self.infer(sql)
        except InferenceError as error:
            raise self.source.at(node, one_line(error), UNLIKE) from None

    def condition(self, node: exp.Expr) -> Piece:
        """A piece that must be boolean."""
        piece, type_ = self.piece(node), self.type(node)
        if type_ not in ("BOOLEAN", NULL):
            raise self.source.at(node, f"expected a condition, not {type_}", "compare it with something")
        return piece

    def alike(self, nodes: Sequence[exp.Expr], what: str) -> None:
        """Refuse values of unlike types where the engine would convert row by row, and fail on the first bad one."""
        typed = [(n, self.type(n)) for n in nodes]
        plain = [(n, t) for n, t in typed if t != NULL and not is_string(n)]
        for node, type_ in plain[1:]:
            if family(type_) != family(plain[0][1]):
                raise self.source.at(node, f"can't {what} {plain[0][1]} with {type_}", "CAST one of them")
        for node, _ in typed:
            if plain and is_string(node) and not literals.fits(unwrapped(node).name, plain[0][1]):
                raise self.source.at(node, f"{self.source.written(node)} is no {plain[0][1]}", "write a literal of that type")

    def numbers(self, nodes: Sequence[exp.Expr], symbol: str) -> None:
        """Refuse strings as numbers."""
        for node in nodes:
            if is_string(node):
                raise self.source.at(node, f"{symbol} takes numbers, not a string", "write the number without quotes")


def operand(piece: Piece) -> str:
    """A piece as an operand."""
    return piece.sql if piece.single else f"({piece.sql})"


def unwrapped(node: exp.Expr) -> exp.Expr:
    """A node without the parentheses around it."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def is_string(node: exp.Expr) -> bool:
    """Whether a node is a string literal."""
    inner = unwrapped(node)
    return isinstance(inner, exp.Literal) and bool(inner.args["is_string"])


def is_star(node: exp.Expr) -> bool:
    """Whether a node is `*` or `b.*`."""
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))


def is_constant(node: exp.Expr) -> bool:
    """Whether a node is a literal, perhaps negated or typed."""
    inner = unwrapped(node)
    if isinstance(inner, exp.Neg | exp.Cast):
        return is_constant(inner.this)
    return isinstance(inner, exp.Literal | exp.Boolean | exp.Null | Duration)
