"""Thalweg's SQL: Spark's dialect with windows of event time, stream windows and emission clauses.

Function calls stay as they are written (no dialect's meaning is put on them here); every node remembers the characters
that it was parsed from.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, ClassVar, TypeVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from thalweg.sql.nodes import Convert, Misparse, StreamWindow
from thalweg.sql.types import TYPES_HINT, type_name
from thalweg.sql.window_syntax import WindowSyntax

T = TypeVar("T")
E = TypeVar("E", bound=exp.Expr)
_UNEXPECTED = "Invalid expression / Unexpected token"
_EXPECTED = {"Expecting )": ")", "Expecting (": "(", "Expecting ]": "]"}
_NO_TOKEN = Token.string("")
_NO_ALIAS = {"EVERY", "EMIT", "TIMESTAMP"}


def _noting_place(parse: Callable[[Any], tuple[str, Any]]) -> Callable[[Any], tuple[str, Any]]:
    """The parser of a clause that notes its place, from its keyword on."""

    def noting(parser: Any) -> tuple[str, Any]:
        first = parser._curr
        key, node = parse(parser)
        for part in node if isinstance(node, list) else [node]:
            if isinstance(part, exp.Expr):
                part.meta["span"] = (first.start, parser._prev.end + 1)
        return key, node

    return noting


class ThalwegParser(WindowSyntax, SparkParser):
    """Parses queries. Lenient corners of the inherited grammar are closed where they would hide a mistake."""

    FUNCTIONS: ClassVar[dict[str, Callable[..., exp.Expr]]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
        "CAST": lambda self: self._closed(self._parse_convert()),
        "TRY_CAST": lambda self: self._closed(self._parse_convert()),
        "EXTRACT": lambda self: self._closed(self._parse_extract()),
        "POSITION": lambda self: self._closed(self._parse_position()),
        "SUBSTRING": lambda self: self._closed(self._parse_substring()),
        "SUBSTR": lambda self: self._closed(self._parse_substring()),
        "TRIM": lambda self: self._closed(self._parse_trim()),
        "WINDOW": lambda self: self._closed(self._window_arguments()),
    }
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
        "CASE": lambda self: self._parse_case(),
        "IF": lambda self: self._parse_if(),
    }

    QUERY_MODIFIER_PARSERS: ClassVar[dict[TokenType, Callable[..., Any]]] = {
        token_type: _noting_place(parse) for token_type, parse in SparkParser.QUERY_MODIFIER_PARSERS.items()
    }

    def raise_error(self, message: str, token: Token = _NO_TOKEN) -> None:
        """Raise at a token, or at the end of the text where it ends too early."""
        if message in _EXPECTED:
            self.expected(_EXPECTED[message])
        if message.startswith("Required "):
            self.expected("an expression")
        at = token if token.text else self._curr or self._prev
        span = (at.start, at.end + 1) if at else (0, 1)
        raise Misparse(f"unexpected {at.text}" if message == _UNEXPECTED else _lower(message), span)

    def expression(self, instance: E, token: Token | None = None, comments: list[str] | None = None) -> E:
        """Note the last token as the place of a node without parts, such as NULL or DISTINCT."""
        childless = not isinstance(instance, exp.Func) and not any(isinstance(v, exp.Expr | list) and v for v in instance.args.values())
        if childless and token is None and self._prev:
            instance.meta.setdefault("span", (self._prev.start, self._prev.end + 1))
        return super().expression(instance, token, comments)

    def _spanned(self, parse: Callable[[], T]) -> T:
        """Parse, and note in the node the characters it came from."""
        first = self._curr
        node = parse()
        if isinstance(node, exp.Expr) and first and self._prev and self._prev.end >= first.start:
            node.meta.setdefault("span", (first.start, self._prev.end + 1))
        return node

    def _closed(self, node: T) -> T:
        if not self._match(TokenType.R_PAREN, advance=False):
            self.raise_error("Expecting )")
        return node

    def _parse_disjunction(self) -> exp.Expr | None:
        return self._spanned(super()._parse_disjunction)

    def _parse_expression(self) -> exp.Expr | None:
        return self._spanned(super()._parse_expression)

    def _parse_unary(self) -> exp.Expr | None:
        return self._spanned(super()._parse_unary)

    def _parse_primary(self) -> exp.Expr | None:
        return self._spanned(super()._parse_primary)

    def _parse_lambda(self, alias: bool = False) -> exp.Expr | None:
        return self._spanned(lambda: super(ThalwegParser, self)._parse_lambda(alias))

    def _parse_select(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        return self._spanned(lambda: super(ThalwegParser, self)._parse_select(*args, **kwargs))

    def _parse_column(self) -> exp.Expr | None:
        return self._spanned(lambda: self._parse_system_column() or super(ThalwegParser, self)._parse_column())

    def _parse_function_call(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        return self._spanned(lambda: super(ThalwegParser, self)._parse_function_call(*args, **kwargs))

    def _parse_with(self, skip_with_token: bool = False) -> exp.With | None:
        return self._spanned(lambda: super(ThalwegParser, self)._parse_with(skip_with_token))

    def _parse_join(self, *args: Any, **kwargs: Any) -> exp.Join | None:
        return self._spanned(lambda: super(ThalwegParser, self)._parse_join(*args, **kwargs))

    def parse_set_operation(
        self, this: exp.Expr | None, consume_pipe: bool = False, intersect_only: bool = False
    ) -> exp.SetOperation | None:
        """Note the place of UNION and its like."""
        word = self._curr
        node = super().parse_set_operation(this, consume_pipe, intersect_only)
        if node is not None:
            node.meta["keyword"] = (word.start, word.end + 1)
        return node

    def _parse_window(self, this: exp.Expr | None, alias: bool = False) -> exp.Expr | None:
        if this is not None and self._prev and this.meta.get("start") is not None:
            this.meta.setdefault("span", (this.meta["start"], self._prev.end + 1))
        return super()._parse_window(this, alias)

    def _parse_csv(self, parse_method: Callable[[], T | None], sep: TokenType = TokenType.COMMA) -> list[T]:
        first = parse_method()
        items = [first] if first is not None else []
        while self._match(sep):
            item = parse_method()
            if item is None:
                self.expected("an expression")
            items.append(item)
        return items

    def _parse_case(self) -> exp.Expr | None:
        if self._match(TokenType.DOT, advance=False):
            self._retreat(self._index - 1)
            return None
        subject = None if self._match(TokenType.WHEN, advance=False) else self._parse_disjunction()
        branches = []
        while self._match(TokenType.WHEN):
            condition = self._parse_disjunction()
            self._require(TokenType.THEN, "THEN")
            branches.append(self.expression(exp.If(this=condition, true=self._parse_disjunction())))
        default = self._parse_disjunction() if self._match(TokenType.ELSE) else None
        self._require(TokenType.END, "END")
        return self.expression(exp.Case(this=subject, ifs=branches, default=default))

    def _parse_between(self, this: exp.Expr | None) -> exp.Between:
        low = self._parse_bitwise()
        self._require(TokenType.AND, "AND")
        return self.expression(exp.Between(this=this, low=low, high=self._parse_bitwise()))

    def _require(self, token_type: TokenType, word: str) -> None:
        if not self._match(token_type):
            self.expected(word)

    def _parse_convert(self, *args: Any, **kwargs: Any) -> exp.Expr:
        this = self._parse_disjunction()
        self._require(TokenType.ALIAS, "AS")
        return self.expression(Convert(this=this, to=self.parse_type()))

    def parse_type(self) -> str:
        """A column type, by DuckDB's name."""
        first = self._curr
        if not first or first.token_type in (TokenType.STRING, TokenType.NUMBER, *self.RESERVED_TOKENS):
            self.expected("a type")
        self._advance()
        parameters: list[str] = []
        if self._match(TokenType.L_PAREN):
            while self._match(TokenType.NUMBER):
                parameters.append(self._prev.text)
                if not self._match(TokenType.COMMA):
                    break
            self._match_r_paren()
        name = type_name(first.text, tuple(parameters))
        if name is None:
            nested = self._curr and self._curr.token_type == TokenType.LT
            written = self.sql[first.start : self._prev.end + 1] + ("<...>" if nested else "")
            raise Misparse(f"type {written} is not supported", (first.start, self._prev.end + 1), TYPES_HINT)
        return name

    def _parse_table(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        simple = self._curr.token_type in self.ID_VAR_TOKENS and self._next.token_type != TokenType.L_PAREN
        if kwargs.get("schema") or not simple:
            return self._spanned(lambda: super(ThalwegParser, self)._parse_table(*args, **kwargs))
        table = self._spanned(self._parse_stream_reference)
        for join in self._parse_joins() if kwargs.get("joins") else ():
            table.append("joins", join)
        return table

    def _parse_stream_reference(self) -> exp.Expr:
        """`bid [AS] b TIMESTAMP BY at [RANGE 1 HOUR]`, all but the name optional."""
        table = self._spanned(self._parse_table_name)
        time = self._parse_timestamp_by()
        alias = self._parse_table_alias()
        if alias:
            table.set("alias", alias)
        table.set("time", time or self._parse_timestamp_by())
        table.set("window", self._parse_stream_window())
        table.set("sample", self._parse_table_sample())
        table.set("pivots", self._parse_pivots())
        return table

    def _parse_table_name(self) -> exp.Table:
        parts = [self._parse_id_var(any_token=False)]
        while self._match(TokenType.DOT):
            parts.append(self._parse_id_var())
        if not all(parts) or len(parts) > 3:
            self.expected("the name of a stream")
        this, *qualifiers = reversed(parts)
        return self.expression(exp.Table(this=this, **dict(zip(("db", "catalog"), qualifiers, strict=False))))

    def _parse_table_alias(self, alias_tokens: Collection[TokenType] | None = None) -> exp.TableAlias | None:
        if self._curr and self._curr.text.upper() in _NO_ALIAS and self._next.token_type != TokenType.COMMA:
            return None
        return super()._parse_table_alias(alias_tokens)

    def _parse_timestamp_by(self) -> exp.Expr | None:
        return self._parse_column() if self._match_text_seq("TIMESTAMP", "BY") else None

    def _parse_stream_window(self) -> exp.Expr | None:
        return self._spanned(self._parse_bracketed_window) if self._match(TokenType.L_BRACKET, advance=False) else None

    def _parse_bracketed_window(self) -> exp.Expr:
        self._advance()
        if self._match_text_seq("UNBOUNDED") or self._match_text_seq("WINDOW", "UNTIL", "NOW"):
            window = StreamWindow(kind="UNBOUNDED")
        elif self._match_texts(("RANGE", "WINDOW", "TUMBLE")):
            kind = self._prev.text.upper()
            window = StreamWindow(kind="TUMBLE" if kind == "TUMBLE" else "RANGE", duration=self.parse_duration())
        else:
            self.expected("RANGE, WINDOW, TUMBLE or UNBOUNDED")
        if not self._match(TokenType.R_BRACKET):
            self.raise_error("Expecting ]")
        return self.expression(window)

    def _parse_query_modifiers(self, this: Any) -> Any:
        this = super()._parse_query_modifiers(this)
        if isinstance(this, exp.Query):
            while self._curr:
                if self._curr.text.upper() == "EVERY" and self._next.token_type != TokenType.L_PAREN:
                    this.set("every", self._spanned(self._parse_every))
                elif self._match_text_seq("EMIT", advance=False):
                    this.set("emit", self._spanned(self._parse_emit))
                else:
                    break
        return this

    def _parse_every(self) -> exp.Expr:
        self._advance()
        return exp.Tuple(expressions=[self.parse_duration()])

    def _parse_emit(self) -> exp.Expr:
        self._advance()
        if not self._match_texts(("CHANGES", "FINAL")):
            self.expected("CHANGES or FINAL")
        return exp.var(self._prev.text.upper())

    def _parse_as_command(self, start: Token) -> exp.Command:
        raise Misparse(f"unexpected {start.text}", (start.start, start.end + 1))

    def _parse_command(self) -> exp.Command:
        return self._parse_as_command(self._prev)


class Thalweg(Spark):
    """Spark's SQL with Thalweg's additions. TIMESTAMP is UTC without a zone."""

    class Tokenizer(Spark.Tokenizer):
        """Spark's tokens; no statement is swallowed whole as a command."""

        COMMANDS: ClassVar[set[TokenType]] = set()
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            **{k: v for k, v in Spark.Tokenizer.KEYWORDS.items() if v is not TokenType.COMMAND},
            "TIMESTAMP": TokenType.TIMESTAMP,
        }

    Parser = ThalwegParser


def _lower(message: str) -> str:
    return (message[:1].lower() + message[1:]).rstrip(".")
