"""Spark's expressions to typed trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from thalweg.errors import SqlError
from thalweg.expr.calls import OF_NUMBERS, OF_SPANS, OF_TIMES
from thalweg.expr.nested import spark_type
from thalweg.expr.nodes import NULL, Cast, Expr, Literal, is_text
from thalweg.expr.types import family
from thalweg.expr.typing import InferenceError, Typing
from thalweg.sql import literals
from thalweg.sql.nodes import WindowCall, WindowSet
from thalweg.sql.source import UNLIKE, Source, one_line

REFUSED: dict[type[exp.Expr], str] = {
    exp.Window: "a window function (OVER)",
    exp.Subquery: "a subquery",
    exp.Select: "a subquery",
    exp.Exists: "a subquery",
    exp.Any: "ANY",
    exp.All: "ALL",
    exp.Lambda: "a lambda",
    exp.Tuple: "a tuple",
    exp.Star: "*",
    exp.Placeholder: "a parameter",
    exp.Parameter: "a parameter",
    exp.AtTimeZone: "AT TIME ZONE",
    exp.Collate: "COLLATE",
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

_INSTEAD: dict[type[exp.Expr], str] = {
    exp.Window: "write it into SELECT, and a condition on it into QUALIFY or a SELECT around this one",
    exp.Subquery: "join what it reads in FROM",
    exp.Select: "join what it reads in FROM",
    exp.Exists: "join what it reads in FROM, if it has each value once",
}

Forms = Mapping[type[exp.Expr], "Callable[[Builder, Any], Expr]"]


LARGEST = 40_000
"""Expressions that one may be made of when it is written out."""


@dataclass(frozen=True)
class Builder:
    """Builds trees: `forms` say how each kind of node is built, `typing` gives types.

    `leaf` gives the tree that stands for a node as a whole, or None to go into it; `part` the column that a field of a column is. What is built
    is remembered, errors too.
    """

    source: Source
    forms: Forms
    typing: Typing
    leaf: Callable[[exp.Expr], Expr | None]
    part: Callable[[Expr, str], Expr | None] = lambda struct, name: None
    _built: dict[int, tuple[exp.Expr, Expr | SqlError]] = field(default_factory=dict, compare=False)

    def tree(self, node: exp.Expr) -> Expr:
        """The expression that a node says."""
        known = self._built.get(id(node))
        if known is None:
            try:
                known = (node, self._build(node))
            except SqlError as error:
                known = (node, error)
            self._built[id(node)] = known
        if isinstance(known[1], SqlError):
            raise known[1]
        return known[1]

    def _build(self, node: exp.Expr) -> Expr:
        own = self.leaf(node)
        if own is not None:
            return own
        form = self.forms.get(type(node))
        if form is None:
            named = REFUSED.get(type(node)) or self.source.written(node)
            hint = _INSTEAD.get(
                type(node), "write it another way; thalweg help functions has what expressions may say"
            )
            raise self.source.at(node, f"{named} is not supported", hint)
        built = form(self, node)
        if built.size > LARGEST:
            raise self.source.at(
                node,
                "the expression is too large",
                "take it apart; BETWEEN in BETWEEN is twice as much each time",
            )
        return built

    def type(self, node: exp.Expr) -> str:
        """The type of a node."""
        return self.tree(node).type

    def call(self, node: exp.Expr, function: str, *args: Expr, params: tuple[str, ...] = ()) -> Expr:
        """A call, of which a node is the place where an error is shown."""
        if function in OF_NUMBERS and any(map(is_text, args)):
            raise self.source.at(
                node, f"{function} takes numbers, not a string", "write the number without quotes"
            )
        if function in OF_TIMES - OF_SPANS and any(a.type == "INTERVAL" for a in args):
            raise self.source.at(
                node,
                f"{function} takes a DATE or TIMESTAMP, not an INTERVAL",
                "add the interval to a time first",
            )
        given = [Cast(a, "TIMESTAMP") if function in OF_TIMES and is_text(a) else a for a in args]
        try:
            return self.typing.call(function, *given, params=params)
        except InferenceError as error:
            raise self.source.at(node, one_line(error), UNLIKE) from None

    def case(
        self,
        node: exp.Expr,
        branches: Sequence[tuple[Expr, Expr]],
        otherwise: Expr | None,
        subject: Expr | None = None,
    ) -> Expr:
        """A choice, of which a node is the place where an error is shown."""
        try:
            return self.typing.case(branches, otherwise, subject)
        except InferenceError as error:
            raise self.source.at(node, one_line(error), UNLIKE) from None

    def condition(self, node: exp.Expr) -> Expr:
        """An expression that must be boolean."""
        tree = self.tree(node)
        if tree.type not in ("BOOLEAN", NULL):
            raise self.source.at(
                node, f"expected a condition, not {spark_type(tree.type)}", "compare it with something"
            )
        return tree

    def alike(self, nodes: Sequence[exp.Expr], what: str) -> tuple[Expr, ...]:
        """Values of like types; refused are others, where the engine would convert row by row, and fail on the first bad one. A string
        beside a time is one."""
        built = [(n, self.tree(n)) for n in nodes]
        plain = [(n, t) for n, t in built if t.type != NULL and not is_text(t)]
        for node, tree in plain[1:]:
            if family(tree.type) != family(plain[0][1].type):
                raise self.source.at(
                    node,
                    f"can't {what} {spark_type(plain[0][1].type)} with {spark_type(tree.type)}",
                    "CAST one of them",
                )
        return tuple(self._of_type(n, t, plain[0][1].type) if plain and is_text(t) else t for n, t in built)

    def _of_type(self, node: exp.Expr, text: Expr, type_: str) -> Expr:
        assert isinstance(text, Literal) and text.value is not None
        if not literals.fits(text.value, type_):
            raise self.source.at(
                node, f"{self.source.written(node)} is no {spark_type(type_)}", "write a literal of that type"
            )
        return Literal(text.value, type_) if type_ in ("DATE", "TIMESTAMP") else text

    def numbers(self, nodes: Sequence[exp.Expr], symbol: str) -> tuple[Expr, ...]:
        """Expressions; refused are strings as numbers."""
        trees = tuple(map(self.tree, nodes))
        for node, tree in zip(nodes, trees, strict=True):
            if is_text(tree):
                raise self.source.at(
                    node, f"{symbol} takes numbers, not a string", "write the number without quotes"
                )
        return trees


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
