"""Text to statements: what a script asks for, as frozen values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from thalweg.errors import SqlError, UsageError
from thalweg.model.stream import Relation, Stream
from thalweg.sql import declarations
from thalweg.sql.declarations import ColumnSyntax, Declaration
from thalweg.sql.dialect import Thalweg
from thalweg.sql.history import query_options
from thalweg.sql.inputs import MOST_INPUTS
from thalweg.sql.more_columns import added
from thalweg.sql.nodes import Misparse
from thalweg.sql.source import Source, Span
from thalweg.sql.statement_syntax import (
    NAME,
    NAME_HINT,
    AlterSyntax,
    CreateSyntax,
    Drop,
    ExplainSyntax,
    QuerySyntax,
    SetOption,
    Show,
    StatementParser,
    StatementSyntax,
    ViewSyntax,
)

__all__ = [
    "AlterStream", "CreateQuery", "CreateStream", "CreateTable", "CreateView", "Drop", "Explain", "ParsedSelect", "SetOption", "Show",
    "Statement", "parse_script",
]  # fmt: skip


HALF = re.compile(r"[\ud800-\udfff]")
EXAMPLES = "compare it with the examples in thalweg help"
"""What JSON and Python let through, and no file or answer can have: one half of a pair of UTF-16."""


@dataclass(frozen=True)
class ParsedSelect:
    """A SELECT: its syntax tree and the script it stands in, so that places are places in the whole script."""

    node: exp.Query
    text: str
    origin: str
    span: Span

    @property
    def source(self) -> Source:
        """The script."""
        return Source(self.text, self.origin)

    @property
    def sql(self) -> str:
        """The text of the SELECT alone."""
        return self.text[self.span[0] : self.span[1]]


@dataclass(frozen=True)
class CreateStream:
    """CREATE STREAM, with what its computed columns are, by name, and where they stand; `bound` gives these to the stream."""

    stream: Stream
    source: Source = field(default=Source(""), compare=False)
    computed: tuple[ColumnSyntax, ...] = ()


@dataclass(frozen=True)
class AlterStream:
    """ALTER STREAM name ADD COLUMN, for the stream as it is by then."""

    name: str
    columns: tuple[ColumnSyntax, ...]
    source: Source = field(default=Source(""), compare=False)
    span: Span = field(default=(0, 0), compare=False)

    def of(self, stream: Stream) -> CreateStream:
        """The declaration that a stream has with the columns."""
        computed = tuple(c for c in self.columns if c.value is not None)
        return CreateStream(added(self.source, stream, self.columns, self.span), self.source, computed)


@dataclass(frozen=True)
class CreateTable:
    """CREATE TABLE: a static relation."""

    relation: Relation


@dataclass(frozen=True)
class CreateQuery:
    """CREATE [OR REPLACE] QUERY name [INTO 'path'] AS SELECT, or ALTER QUERY; `text` is the whole statement.

    `way` is CREATE (of a name that is free), REPLACE (of one that need not be), or ALTER (of one that is not). `history` is how far back it
    begins, `ttl` how long a group is remembered into which no row comes, in microseconds of event time.
    """

    name: str
    into: str | None
    select: ParsedSelect
    text: str
    way: str = "CREATE"
    history: int | None = None
    ttl: int | None = None


@dataclass(frozen=True)
class CreateView:
    """CREATE [OR REPLACE] VIEW name AS SELECT."""

    name: str
    select: ParsedSelect
    replaces: bool = False


@dataclass(frozen=True)
class Explain:
    """EXPLAIN [ANALYZE] of a SELECT, of a live query by name, or (with neither) of the whole shared plan."""

    analyze: bool
    select: ParsedSelect | None
    query: str | None
    text: str


Statement = (
    CreateStream | AlterStream | CreateTable | CreateView | CreateQuery | Explain | Drop | Show | SetOption
)


def parse_script(
    text: str, origin: str = "", left_out: Callable[[Declaration], Mapping[str, str]] | None = None
) -> tuple[Statement, ...]:
    """The statements of a script; `left_out` are options of its declarations that stand elsewhere."""
    source = Source(text, origin)
    parsed = _parsed(source)
    if left_out is not None:
        parsed = tuple(
            replace(s, declaration=s.declaration.given(left_out(s.declaration)))
            if isinstance(s, CreateSyntax)
            else s
            for s in parsed
        )
    return tuple(_statement(source, syntax) for syntax in parsed)


def placed_script(text: str, origin: str = "") -> tuple[tuple[Statement, Span], ...]:
    """The statements of a script, each with its place."""
    source = Source(text, origin)
    return tuple((_statement(source, syntax), _span(syntax)) for syntax in _parsed(source))


def _span(syntax: StatementSyntax) -> Span:
    """Where a statement stands; of a declaration, its name."""
    if isinstance(syntax, ViewSyntax):
        return syntax.place
    return syntax.declaration.span if isinstance(syntax, CreateSyntax) else syntax.span


def parse_statement(text: str, origin: str = "") -> Statement:
    """The only statement of a text."""
    statements = parse_script(text, origin)
    if len(statements) != 1:
        raise Source(text, origin).error(
            f"expected one statement, not {len(statements)}", (0, 1), "separate statements and run each"
        )
    return statements[0]


def parse_select(text: str, origin: str = "") -> ParsedSelect:
    """A text that is a SELECT and nothing else, as `Session.query` takes it."""
    source = Source(text, origin)
    syntaxes = _parsed(source)
    if len(syntaxes) != 1 or not isinstance(syntaxes[0], QuerySyntax) or syntaxes[0].name is not None:
        raise source.error(
            "expected one SELECT",
            syntaxes[0].span if syntaxes else (0, 1),
            "write SELECT ... FROM ... GROUP BY ...",
        )
    return _select(source, syntaxes[0].node)


def is_name(name: object) -> bool:
    """Whether a statement could give that name."""
    return isinstance(name, str) and NAME.fullmatch(name) is not None


def checked_name(name: str, of: str) -> str:
    """A name that a statement could give too."""
    if not is_name(name):
        raise UsageError(f"{name!r} can't be the name of a {of}", NAME_HINT)
    return name


def _parsed(source: Source) -> tuple[StatementSyntax, ...]:
    """The statements as written. Whatever the parser stumbles over is the text's fault."""
    chunk: list[Token] = []
    try:
        chunks = _chunks(_tokens(source))
        parsed = []
        for chunk in chunks:
            _check_joins(source, chunk)
            parsed.append(StatementParser(dialect=Thalweg).parse_statement(chunk, source.text))
        return tuple(parsed)
    except Misparse as error:
        raise source.error(error.message, error.span, error.hint or EXAMPLES) from None
    except SqlError:
        raise
    except RecursionError:
        raise source.error(
            "the statement is nested too deeply", (chunk[0].start, chunk[-1].end + 1), "take it apart"
        ) from None
    except Exception as error:  # the inherited grammar meets texts that it was never tried on
        if isinstance(error, AssertionError | MemoryError):
            raise
        span = (chunk[0].start, chunk[-1].end + 1) if chunk else (0, 1)
        raise source.error("the statement can't be read", span, EXAMPLES) from error


def _tokens(source: Source) -> list[Token]:
    if half := HALF.search(source.text):
        shown = Source(HALF.sub("?", source.text), source.origin)
        raise shown.error("half of a character stands here", half.span(), "write the text in UTF-8")
    tokenizer = Thalweg().tokenizer()
    try:
        return tokenizer.tokenize(source.text)
    except TokenError:
        start = tokenizer._core._start
        raise source.error(
            "this string, name or comment does not end", (start, start + 1), "close it"
        ) from None


def _chunks(tokens: list[Token]) -> list[list[Token]]:
    chunks: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            chunks.append([])
        else:
            chunks[-1].append(token)
    return [c for c in chunks if c]


def _check_joins(source: Source, tokens: list[Token]) -> None:
    """Refuse more joins in a row without a condition than a query may have inputs: the grammar would try all ways to nest them."""
    bare = 0
    for token in tokens:
        if token.token_type == TokenType.JOIN:
            bare += 1
        elif token.token_type in (TokenType.ON, TokenType.USING):
            bare = 0
        if bare > MOST_INPUTS:
            span = (token.start, token.end + 1)
            raise source.error(
                f"a join has at most {MOST_INPUTS} inputs",
                span,
                "join fewer streams and tables, and write ON after each JOIN",
            )


def _statement(source: Source, syntax: StatementSyntax) -> Statement:
    match syntax:
        case CreateSyntax(declaration):
            if declaration.kind == "STREAM":
                computed = tuple(c for c in declaration.columns if c.value is not None)
                return CreateStream(declarations.stream(source, declaration), source, computed)
            return CreateTable(declarations.relation(source, declaration))
        case AlterSyntax(name, columns, span):
            return AlterStream(name, columns, source, span)
        case QuerySyntax():
            return _create_query(source, syntax)
        case ViewSyntax(name, node, replaces):
            return CreateView(name, _select(source, node), replaces)
        case ExplainSyntax(analyze, node, query, span):
            return Explain(
                analyze, _select(source, node) if node else None, query, source.text[span[0] : span[1]]
            )
        case Drop() | Show() | SetOption():
            return syntax


def _create_query(source: Source, syntax: QuerySyntax) -> CreateQuery:
    start, end = syntax.span
    if syntax.name is None:
        hint = "write CREATE QUERY name AS SELECT ..., or EXPLAIN SELECT ..."
        raise source.error("a SELECT alone has no result to keep", (start, start + len("SELECT")), hint)
    options = query_options(source, syntax.options)
    return CreateQuery(
        syntax.name,
        syntax.into,
        _select(source, syntax.node),
        source.text[start:end],
        syntax.way,
        options.history,
        options.ttl,
    )


def _select(source: Source, node: exp.Query) -> ParsedSelect:
    span = node.meta["span"]
    return ParsedSelect(node, source.text, source.origin, (span[0], span[1]))
