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

from thalweg.expr.nested import array_type, is_nested, map_type, struct_type
from thalweg.expr.types import TYPES_HINT, type_name
from thalweg.sql.grouping_sets import each_set
from thalweg.sql.nodes import Convert, Misparse, StreamWindow
from thalweg.sql.places import PlacedParser, noted
from thalweg.sql.table_functions import TableFunctionSyntax

T = TypeVar("T")
_UNEXPECTED = "Invalid expression / Unexpected token"
_EXPECTED = {"Expecting )": ")", "Expecting (": "(", "Expecting ]": "]"}
_NO_TOKEN = Token.string("")
_NO_ALIAS = {"EVERY", "EMIT", "TIMESTAMP"}


class ThalwegParser(TableFunctionSyntax, PlacedParser):
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
        "WINDOW": lambda self: self._closed(self.window_arguments("WINDOW")),
        "SESSION_WINDOW": lambda self: self._closed(self.window_arguments("SESSION_WINDOW")),
        "TUMBLE_START": lambda self: self._closed(self.window_end_call("TUMBLE", "start")),
        "TUMBLE_END": lambda self: self._closed(self.window_end_call("TUMBLE", "end")),
        "HOP_START": lambda self: self._closed(self.window_end_call("HOP", "start")),
        "HOP_END": lambda self: self._closed(self.window_end_call("HOP", "end")),
        "SESSION_START": lambda self: self._closed(self.window_end_call("SESSION", "start")),
        "SESSION_END": lambda self: self._closed(self.window_end_call("SESSION", "end")),
    }
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
        "CASE": lambda self: self._parse_case(),
        "IF": lambda self: self._parse_if(),
    }

    COLUMN_OPERATORS: ClassVar[dict[TokenType, Callable[..., Any] | None]] = {
        token_type: SparkParser.COLUMN_OPERATORS[token_type]
        for token_type in (TokenType.DOT, TokenType.DCOLON)
    }

    def raise_error(self, message: str, token: Token = _NO_TOKEN) -> None:
        """Raise at a token, or at the end of the text where it ends too early."""
        if message in _EXPECTED:
            self.expected(_EXPECTED[message])
        if message.startswith("Required "):
            self.expected("an expression")
        if message.startswith("Expected table name"):
            self.expected("the name of a stream")
        at = token if token.text else self._curr or self._prev
        span = (at.start, at.end + 1) if at else (0, 1)
        raise Misparse(f"unexpected {self.shown(at)}" if message == _UNEXPECTED else _lower(message), span)

    def _closed(self, node: T) -> T:
        if not self._match(TokenType.R_PAREN, advance=False):
            self.raise_error("Expecting )")
        return node

    def _parse_column(self) -> exp.Expr | None:
        first = self._curr
        return noted(self, first, self._parse_system_column()) or super()._parse_column()

    def _parse_csv(self, parse_method: Callable[[], T | None], sep: TokenType = TokenType.COMMA) -> list[T]:
        item = parse_method()
        if item is None and not self._match(sep, advance=False):
            return []
        items: list[T] = []
        while True:
            if item is None:
                self.expected("an expression")
            items.append(item)
            if not self._match(sep):
                return items
            item = parse_method()

    def _parse_alias(self, this: exp.Expr | None, explicit: bool = False) -> exp.Expr | None:
        promised = self._match(TokenType.ALIAS, advance=False)
        start = self._index
        node = super()._parse_alias(this, explicit)
        alias = node.args["alias"] if isinstance(node, exp.Alias) and node is not this else None
        if (alias is None and promised) or (alias is not None and not _is_name(alias)):
            self._retreat(start + promised)
            self.expected("a name")
        return node

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
        if first.text.upper() in ("STRUCT", "ARRAY", "MAP"):
            return self._parse_nested_type(first)
        parameters: list[str] = []
        if self._match(TokenType.L_PAREN):
            parameters = [p.name for p in self._parse_csv(self._parse_number) if p is not None]
            self._match_r_paren()
        name = type_name(first.text, tuple(parameters))
        if name is None:
            written = self.sql[first.start : self._prev.end + 1]
            raise Misparse(f"type {written} is not supported", (first.start, self._prev.end + 1), TYPES_HINT)
        return name

    def parse_schema(self, tokens: list[Token], text: str) -> str:
        """A whole text as a nested type, or as the fields of a struct."""
        self.reset()
        self.sql, self._chunks = text, [tokens]
        self._advance_chunk()
        if (
            self._curr
            and self._curr.text.upper() in ("STRUCT", "ARRAY", "MAP")
            and self._next.token_type == TokenType.LT
        ):
            found = self.parse_type()
        else:
            found = struct_type(self._fields(self._curr))
        if self._curr:
            self.raise_error(_UNEXPECTED)
        return found

    def _fields(self, first: Token) -> list[tuple[str, str]]:
        fields = self._parse_csv(self._parse_field_type)
        names = [name.lower() for name, _ in fields]
        if len(set(names)) < len(names):
            span = (first.start, self._prev.end + 1)
            raise Misparse("a STRUCT has two fields of one name", span, "names differ by more than case")
        return fields

    def _parse_nested_type(self, first: Token) -> str:
        """`STRUCT<a: BIGINT, b STRING>`, `ARRAY<INT>` or `MAP<STRING, INT>`, after its name."""
        kind = first.text.upper()
        self._require(TokenType.LT, "<")
        if kind == "STRUCT":
            found = struct_type(self._fields(first))
        elif kind == "ARRAY":
            found = array_type(self.parse_type())
        else:
            key = self.parse_type()
            if is_nested(key):
                span = (first.start, self._prev.end + 1)
                raise Misparse("keys of a MAP can't be nested", span, "use STRING or a number")
            self._require(TokenType.COMMA, ",")
            found = map_type(key, self.parse_type())
        self._require(TokenType.GT, ">")
        return found

    def _parse_field_type(self) -> tuple[str, str] | None:
        if not self._curr or self._curr.token_type == TokenType.GT:
            self.expected("a field")
        name = self._curr.text
        if self._curr.token_type != TokenType.IDENTIFIER and not name.isidentifier():
            self.expected("the name of a field")
        self._advance()
        self._match(TokenType.COLON)
        return name, self.parse_type()

    def _parse_table(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        if self.starts_table_function():
            called: exp.Expr = noted(self, self._curr, self.parse_table_function())
            for join in self._parse_joins() if kwargs.get("joins") else ():
                called.append("joins", join)
            return called
        simple = self._curr.token_type in self.ID_VAR_TOKENS and self._next.token_type != TokenType.L_PAREN
        if kwargs.get("schema") or not simple:
            other: exp.Expr | None = super()._parse_table(*args, **kwargs)
            if isinstance(other, exp.Subquery):
                other.set("window", self._parse_stream_window())
            return other
        table = noted(self, self._curr, self._parse_stream_reference())
        for join in self._parse_joins() if kwargs.get("joins") else ():
            table.append("joins", join)
        return table

    def _parse_stream_reference(self) -> exp.Expr:
        """`bid [AS] b TIMESTAMP BY at [RANGE 1 HOUR]`, all but the name optional."""
        table = noted(self, self._curr, self.parse_table_name())
        table.set("as_of", self._parse_as_of())
        time = self._parse_timestamp_by()
        alias = self._parse_table_alias()
        if alias:
            table.set("alias", alias)
        table.set("time", time or self._parse_timestamp_by())
        table.set("window", self._parse_stream_window())
        table.set("sample", self._parse_table_sample())
        table.set("pivots", self._parse_pivots())
        return table

    def _parse_table_alias(self, alias_tokens: Collection[TokenType] | None = None) -> exp.TableAlias | None:
        if self._curr and self._curr.text.upper() in _NO_ALIAS and self._next.token_type != TokenType.COMMA:
            return None
        return super()._parse_table_alias(alias_tokens)

    def _parse_as_of(self) -> exp.Expr | None:
        """`FOR SYSTEM_TIME AS OF b.time`: a table as it is when a row is read, which is what joins with tables do."""
        first = self._curr
        if not self._match_text_seq("FOR", "SYSTEM_TIME"):
            return None
        if not self._match_text_seq("AS", "OF"):
            self.expected("AS OF")
        return noted(self, first, exp.Paren(this=self._parse_column()))

    def _parse_timestamp_by(self) -> exp.Expr | None:
        if not self._match_text_seq("TIMESTAMP", "BY"):
            return None
        windowed = self._next.token_type == TokenType.L_BRACKET
        return noted(self, self._curr, self._parse_column_reference()) if windowed else self._parse_column()

    def _parse_stream_window(self) -> exp.Expr | None:
        first = self._curr
        return (
            noted(self, first, self._parse_bracketed_window())
            if self._match(TokenType.L_BRACKET, advance=False)
            else None
        )

    def _parse_bracketed_window(self) -> exp.Expr:
        self._advance()
        if self._match_text_seq("UNBOUNDED") or self._match_text_seq("WINDOW", "UNTIL", "NOW"):
            window = StreamWindow(kind="UNBOUNDED")
        elif self._match_texts(("RANGE", "WINDOW", "TUMBLE")):
            kind = self._prev.text.upper()
            window = StreamWindow(
                kind="TUMBLE" if kind == "TUMBLE" else "RANGE", duration=self.parse_duration()
            )
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
                    self._set_once(this, "every", self._parse_every)
                elif self._match_text_seq("EMIT", advance=False):
                    self._set_once(this, "emit", lambda: self._parse_emit(this))
                else:
                    break
        return each_set(this) if isinstance(this, exp.Select) else this

    def _set_once(self, query: exp.Query, key: str, parse: Callable[[], exp.Expr]) -> None:
        first = self._curr
        node = noted(self, first, parse())
        if query.args.get(key) is not None:
            raise Misparse(
                f"{key.upper()} is given twice", (first.start, self._prev.end + 1), "keep one of them"
            )
        query.set(key, node)

    def _parse_every(self) -> exp.Expr:
        self._advance()
        return exp.Tuple(expressions=[self.parse_duration()])

    def _parse_emit(self, query: exp.Query) -> exp.Expr:
        """`EMIT CHANGES`, `EMIT FINAL`, or `EMIT EVERY 5 SECONDS`, which is `EVERY 5 SECONDS EMIT CHANGES`."""
        self._advance()
        if self._curr and self._curr.text.upper() == "EVERY":
            self._set_once(query, "every", self._parse_every)
            return exp.var("CHANGES")
        if not self._match_texts(("CHANGES", "FINAL")):
            self.expected("CHANGES, FINAL or EVERY")
        return exp.var(self._prev.text.upper())

    def _parse_pipe_syntax_query(self, query: exp.Query) -> exp.Query | None:
        self.raise_error(_UNEXPECTED)
        return None

    def _parse_as_command(self, start: Token) -> exp.Command:
        raise Misparse(f"unexpected {start.text}", (start.start, start.end + 1))

    def _parse_command(self) -> exp.Command:
        return self._parse_as_command(self._prev)


class Thalweg(Spark):
    """Spark's SQL with Thalweg's additions. TIMESTAMP is UTC without a zone."""

    class Tokenizer(Spark.Tokenizer):
        """Spark's tokens: a doubled quote is a quote, and no statement is swallowed whole as a command."""

        COMMANDS: ClassVar[set[TokenType]] = set()
        STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            **{k: v for k, v in Spark.Tokenizer.KEYWORDS.items() if v is not TokenType.COMMAND},
            "TIMESTAMP": TokenType.TIMESTAMP,
        }

    Parser = ThalwegParser


def _is_name(alias: exp.Expr) -> bool:
    word = alias.name.replace("_", "a")
    return isinstance(alias, exp.Identifier) and (
        bool(alias.quoted) or (word.isalnum() and not word.isdecimal())
    )


def _lower(message: str) -> str:
    return (message[:1].lower() + message[1:]).rstrip(".")
