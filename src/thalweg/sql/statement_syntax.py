"""The grammar of statements: CREATE, ALTER, DROP, EXPLAIN, SHOW, SET around queries. What says all by itself is a statement as it stands."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from thalweg.sql.declarations import COMPUTED, ColumnSyntax, Declaration, OptionSyntax
from thalweg.sql.dialect import ThalwegParser
from thalweg.sql.nodes import Misparse
from thalweg.sql.source import Span, did_you_mean, span_of, suggestion

T = TypeVar("T")
KEYWORDS = (
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP",
    "BY",
    "HAVING",
    "INTO",
    "WITH",
    "AS",
    "TUMBLE",
    "HOP",
    "WINDOWS",
    "EVERY",
    "EMIT",
)
_STREAM = (
    "CREATE STREAM bid (price BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = 'data/bid', time = 'at')"
)
_TABLE = "CREATE TABLE person (id BIGINT, name STRING) WITH (format = 'csv', path = 'data/person.csv')"
_TOP = "QUERY top AS SELECT auction, MAX(price) AS price FROM bid GROUP BY auction, TUMBLE '1 minute'"
_QUERY = f"CREATE {_TOP}"
_JOIN = "SELECT a.kind, COUNT(*) AS n FROM bid b [RANGE 1 HOUR], auction a [RANGE 1 DAY] WHERE b.auction = a.id GROUP BY a.kind EVERY 1 DAY"
_QUERIES = ("CREATE", "ALTER", "SELECT", "FROM", "WITH", "EXPLAIN")
EXAMPLES = {
    ("CREATE", "STREAM"): _STREAM,
    ("CREATE", "TABLE"): _TABLE,
    ("CREATE", "VIEW"): "CREATE VIEW large AS SELECT auction, price FROM bid WHERE price > 1000",
    ("CREATE",): _QUERY,
    ("SELECT",): _QUERY,
    ("FROM",): _QUERY,
    ("WITH",): _QUERY,
    ("ALTER", "STREAM"): "ALTER STREAM bid ADD COLUMN channel STRING",
    ("ALTER",): f"ALTER {_TOP}",
    ("DROP",): "DROP QUERY top",
    ("EXPLAIN",): "EXPLAIN QUERY top",
    ("SHOW",): "SHOW QUERIES",
    ("SET",): "SET plan.windows = 'best'",
}
SHOWN = ("QUERIES", "STREAMS", "VIEWS", "FUNCTIONS", "PLAN", "STATISTICS", "CHANGES")
_WORD = re.compile(r"[^\W\d]\w*")
NAME = re.compile(r"[^\W\d]\w*", re.ASCII)
NAME_HINT = "use letters, digits and _, a letter first"


@dataclass(frozen=True)
class CreateSyntax:
    """CREATE STREAM or TABLE."""

    declaration: Declaration
    span: Span


@dataclass(frozen=True)
class AlterSyntax:
    """ALTER STREAM name ADD COLUMN."""

    name: str
    columns: tuple[ColumnSyntax, ...]
    span: Span


@dataclass(frozen=True)
class QuerySyntax:
    """CREATE [OR REPLACE] QUERY or ALTER QUERY, which `way` says in its first word; without a name, a SELECT on its own."""

    name: str | None
    into: str | None
    node: exp.Query
    span: Span
    way: str = "CREATE"
    options: tuple[OptionSyntax, ...] = ()


@dataclass(frozen=True)
class ViewSyntax:
    """CREATE [OR REPLACE] VIEW; `place` is that of its name."""

    name: str
    node: exp.Query
    replaces: bool
    span: Span
    place: Span


@dataclass(frozen=True)
class Drop:
    """DROP QUERY, STREAM, TABLE, VIEW or FUNCTION."""

    kind: str
    name: str
    span: Span = field(default=(0, 0), compare=False)


@dataclass(frozen=True)
class ExplainSyntax:
    """EXPLAIN of a SELECT, of a query by name, or of everything."""

    analyze: bool
    node: exp.Query | None
    query: str | None
    span: Span


@dataclass(frozen=True)
class Show:
    """SHOW QUERIES | STREAMS | VIEWS | FUNCTIONS | PLAN | STATISTICS | CHANGES."""

    what: str
    span: Span = field(default=(0, 0), compare=False)


@dataclass(frozen=True)
class SetOption:
    """`SET plan.windows = 'best'`."""

    key: str
    value: str
    span: Span = field(default=(0, 0), compare=False)


StatementSyntax = (
    CreateSyntax | AlterSyntax | QuerySyntax | ViewSyntax | Drop | ExplainSyntax | Show | SetOption
)


class StatementParser(ThalwegParser):
    """Parses one statement."""

    def parse_statement(self, tokens: list[Token], text: str) -> StatementSyntax:
        """The statement that the tokens of a text are."""
        self.reset()
        self.sql, self._chunks = text, [tokens]
        self._advance_chunk()
        try:
            parsed = self._read_statement((tokens[0].start, tokens[-1].end + 1))
            if self._curr:
                raise Misparse(f"unexpected {self.shown(self._curr)}", (self._curr.start, self._curr.end + 1))
            return parsed
        except Misparse as error:
            raise Misparse(error.message, error.span, error.hint or self._hint(tokens)) from None

    def parse_signature(self, tokens: list[Token], text: str) -> tuple[tuple[str, ...], str]:
        """The types of the parameters and of the result that the tokens of `BIGINT, STRING -> DOUBLE` are."""
        self.reset()
        self.sql, self._chunks = text, [tokens]
        self._advance_chunk()
        parameters = [self.parse_type()]
        while self._match(TokenType.COMMA):
            parameters.append(self.parse_type())
        if not self._match(TokenType.ARROW):
            self.expected("-> and the type of the result")
        result = self.parse_type()
        if self._curr:
            raise Misparse(f"unexpected {self.shown(self._curr)}", (self._curr.start, self._curr.end + 1))
        return tuple(parameters), result

    def _hint(self, tokens: list[Token]) -> str | None:
        """A word near the place that is nearly a keyword, or an example of such a statement."""
        for token in (self._curr, self._prev):
            near = (
                did_you_mean(token.text, KEYWORDS) if token and token.token_type != TokenType.STRING else None
            )
            if near and near != token.text.upper():
                return f"did you mean {near} instead of {token.text}?"
        words = tuple(t.text.upper() for t in tokens[:2])
        if (
            words[0] in _QUERIES
            and any(t.token_type == TokenType.L_BRACKET for t in tokens)
            and words[1] not in ("STREAM", "TABLE")
        ):
            return f"as in {_JOIN}"
        example = EXAMPLES.get(words) or EXAMPLES.get(words[:1])
        return f"as in {example}" if example else None

    def _read_statement(self, span: Span) -> StatementSyntax:
        if self._match_text_seq("CREATE"):
            return self._read_create(span)
        if self._match_text_seq("ALTER"):
            if self._word(("QUERY", "STREAM")) == "STREAM":
                return self._more_columns(span)
            return self._named_query(span, "ALTER")
        if self._match_text_seq("DROP"):
            kind = self._word(("QUERY", "STREAM", "TABLE", "VIEW", "FUNCTION"))
            return Drop(kind, self._name(kind.lower()), span)
        if self._match_text_seq("EXPLAIN"):
            return self._read_explain(span)
        if self._match_text_seq("SHOW"):
            return Show(self._word(SHOWN), span)
        if self._match_text_seq("SET"):
            return self._read_set(span)
        if self._curr.token_type in (
            TokenType.SELECT,
            TokenType.WITH,
            TokenType.FROM,
            TokenType.L_PAREN,
            TokenType.VALUES,
        ):
            return QuerySyntax(None, None, self._query(), span)
        word = self._curr.text
        hint = suggestion(
            word, ("CREATE", "ALTER", "DROP", "EXPLAIN", "SHOW", "SET"), "statements begin with"
        )
        raise Misparse(f"unexpected {self.shown(self._curr)}", (self._curr.start, self._curr.end + 1), hint)

    def _read_create(self, span: Span) -> StatementSyntax:
        if self._match_text_seq("OR", "REPLACE"):
            if self._word(("QUERY", "VIEW")) == "VIEW":
                return self._view(span, True)
            return self._named_query(span, "REPLACE")
        kind = self._word(("STREAM", "TABLE", "QUERY", "VIEW"))
        if kind == "VIEW":
            return self._view(span, False)
        if kind != "QUERY":
            return CreateSyntax(self._declaration(kind), span)
        return self._named_query(span, "CREATE")

    def _more_columns(self, span: Span) -> AlterSyntax:
        name = self._name("stream")
        self._word(("ADD",))
        if self._word(("COLUMN", "COLUMNS")) == "COLUMN":
            return AlterSyntax(name, (self._column(),), span)
        return AlterSyntax(name, self._list(self._column), span)

    def _view(self, span: Span, replaces: bool) -> ViewSyntax:
        first = self._curr
        name = self._name("view")
        self._require(TokenType.ALIAS, "AS")
        return ViewSyntax(name, self._query(), replaces, span, (first.start, first.end + 1))

    def _named_query(self, span: Span, way: str) -> QuerySyntax:
        name = self._name("query")
        into = self._string("the path to write to") if self._match_text_seq("INTO") else None
        options = self._list(self._option) if self._match_text_seq("WITH") else ()
        self._require(
            TokenType.ALIAS, "AS" if options else "WITH or AS" if into is not None else "INTO, WITH or AS"
        )
        return QuerySyntax(name, into, self._query(), span, way, options)

    def _read_explain(self, span: Span) -> StatementSyntax:
        analyze = self._match_text_seq("ANALYZE")
        if not self._curr:
            return ExplainSyntax(analyze, None, None, span)
        if self._match_text_seq("QUERY"):
            return ExplainSyntax(analyze, None, self._name("query"), span)
        return ExplainSyntax(analyze, self._query(), None, span)

    def _read_set(self, span: Span) -> StatementSyntax:
        key = [self._part()]
        while self._match(TokenType.DOT):
            key.append(self._part())
        if not self._match(TokenType.EQ) and not self._match_text_seq("TO"):
            self.expected("=")
        return SetOption(".".join(key).lower(), self._value()[0], span)

    def _query(self) -> exp.Query:
        first = self._curr
        node = self._parse_select(nested=True, parse_subquery_alias=False)
        node = self._parse_query_modifiers(self._parse_set_operations(node))
        if not isinstance(node, exp.Query):
            if node is not None and (span := span_of(node)):
                raise Misparse("expected a SELECT", span)
            self.expected("SELECT")
        node.meta["span"] = (first.start, self._prev.end + 1)
        return node

    def _declaration(self, kind: str) -> Declaration:
        first = self._curr
        name = self._name(kind.lower())
        span = (first.start, first.end + 1)
        columns = self._list(self._column)
        if not self._match_text_seq("WITH"):
            self.expected("WITH and options")
        return Declaration(kind, name, columns, self._list(self._option), span)

    def _list(self, item: Callable[[], T]) -> tuple[T, ...]:
        if not self._match(TokenType.L_PAREN):
            self.expected("(")
        items = [item()]
        while self._match(TokenType.COMMA):
            items.append(item())
        if not self._match(TokenType.R_PAREN):
            self.expected(", or )")
        return tuple(items)

    def _column(self) -> ColumnSyntax:
        token = self._curr
        name = self._part("the name of a column")
        place = (token.start, token.end + 1)
        if not self._match(TokenType.ALIAS):
            type_ = self.parse_type()
            optional = self._match_text_seq("DEFAULT", "NULL")
            return ColumnSyntax(name, type_, place, optional=bool(optional))
        first = self._curr
        value = self._parse_disjunction()
        if value is None:
            self.expected("an expression")
        return ColumnSyntax(name, COMPUTED, place, value, self.sql[first.start : self._prev.end + 1])

    def _option(self) -> OptionSyntax:
        token = self._curr
        key = self._part("an option")
        if not self._match(TokenType.EQ):
            self.expected("=")
        value, span = self._value()
        return OptionSyntax(key, value, (token.start, token.end + 1), span)

    def _value(self) -> tuple[str, Span]:
        """A string, number, word or duration, as text."""
        first = self._curr
        if not first:
            self.expected("a value")
        if first.token_type in (TokenType.STRING, TokenType.NUMBER, TokenType.DASH, TokenType.INTERVAL):
            text = self._duration_text()
        else:
            text = self._part("a value")
        if first.token_type in (TokenType.TRUE, TokenType.FALSE):
            text = text.lower()
        return text, (first.start, self._prev.end + 1)

    def _word(self, words: tuple[str, ...]) -> str:
        if not self._match_texts(words):
            if not self._curr:
                self.expected(" or ".join(words))
            span = (self._curr.start, self._curr.end + 1)
            raise Misparse(
                f"expected {' or '.join(words)}, not {self._curr.text}",
                span,
                suggestion(self._curr.text, words, "write one of"),
            )
        return self._prev.text.upper()

    def _part(self, what: str = "a name") -> str:
        token = self._curr
        word = (
            token and token.token_type not in self.TEXT_MATCH_EXCLUDED_TOKENS and _WORD.fullmatch(token.text)
        )
        if not word and token.token_type != TokenType.IDENTIFIER:
            self.expected(what)
        self._advance()
        return self._prev.text

    def _name(self, of: str) -> str:
        """A name that can also be a directory's."""
        name = self._part(f"the name of the {of}")
        if not NAME.fullmatch(name):
            span = (self._prev.start, self._prev.end + 1)
            raise Misparse(f"{name!r} can't be the name of a {of}", span, NAME_HINT)
        return name

    def _string(self, what: str) -> str:
        if not self._match(TokenType.STRING):
            self.expected(f"{what} in quotes")
        if not self._prev.text.strip():
            raise Misparse(
                f"{what} is empty",
                (self._prev.start, self._prev.end + 1),
                "write a path, as in INTO 'out/prices'",
            )
        return self._prev.text
