"""A parser whose nodes remember the characters that they were parsed from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from sqlglot import exp
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

T = TypeVar("T")
E = TypeVar("E", bound=exp.Expr)


def noted(parser: Any, first: Token, node: T) -> T:
    """A node that was parsed from some token on, with its place noted."""
    if isinstance(node, exp.Expr) and first and parser._prev and parser._prev.end >= first.start:
        node.meta["span"] = (first.start, parser._prev.end + 1)
    return node


def _placed(name: str) -> Callable[..., Any]:
    """The inherited method of a name, noting the place of what it parses."""
    inherited = getattr(SparkParser, name)

    def parse(self: Any, *args: Any, **kwargs: Any) -> Any:
        return noted(self, self._curr, inherited(self, *args, **kwargs))

    return parse


def _placed_clause(inherited: Callable[[Any], tuple[str, Any]]) -> Callable[[Any], tuple[str, Any]]:
    """The parser of a clause, noting its place from its keyword on."""

    def parse(self: Any) -> tuple[str, Any]:
        first = self._curr
        key, nodes = inherited(self)
        for node in nodes if isinstance(nodes, list) else [nodes]:
            noted(self, first, node)
        return key, nodes

    return parse


class PlacedParser(SparkParser):
    """Spark's grammar, with places."""

    _parse_disjunction = _placed("_parse_disjunction")
    _parse_expression = _placed("_parse_expression")
    _parse_unary = _placed("_parse_unary")
    _parse_column = _placed("_parse_column")
    _parse_primary = _placed("_parse_primary")
    _parse_lambda = _placed("_parse_lambda")
    _parse_function_call = _placed("_parse_function_call")
    _parse_select = _placed("_parse_select")
    _parse_table = _placed("_parse_table")
    _parse_table_sample = _placed("_parse_table_sample")
    _parse_with = _placed("_parse_with")
    _parse_lateral = _placed("_parse_lateral")
    _parse_join = _placed("_parse_join")

    QUERY_MODIFIER_PARSERS: ClassVar[dict[TokenType, Callable[..., Any]]] = {
        token_type: _placed_clause(parse) for token_type, parse in SparkParser.QUERY_MODIFIER_PARSERS.items()
    }

    def expression(self, instance: E, token: Token | None = None, comments: list[str] | None = None) -> E:
        """Note the last token as the place of a node without parts, such as NULL or DISTINCT."""
        childless = not isinstance(instance, exp.Func) and not any(
            isinstance(v, exp.Expr | list) and v for v in instance.args.values()
        )
        if childless and token is None and self._prev:
            instance.meta.setdefault("span", (self._prev.start, self._prev.end + 1))
        return super().expression(instance, token, comments)

    def parse_set_operation(
        self, this: exp.Expr | None, consume_pipe: bool = False, intersect_only: bool = False
    ) -> exp.SetOperation | None:
        """Note the place of the word UNION and its like."""
        word = self._curr
        node = super().parse_set_operation(this, consume_pipe, intersect_only)
        if node is not None:
            node.meta["keyword"] = (word.start, word.end + 1)
        return node

    def _parse_window(self, this: exp.Expr | None, alias: bool = False) -> exp.Expr | None:
        """A call ends here, before FILTER and OVER are put around it."""
        if this is not None and self._prev and this.meta.get("start") is not None:
            this.meta.setdefault("span", (this.meta["start"], self._prev.end + 1))
        return super()._parse_window(this, alias)
