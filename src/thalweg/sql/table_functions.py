"""The notation of Flink's windows in FROM: `TABLE(TUMBLE(TABLE bid, DESCRIPTOR(at), INTERVAL '10' SECOND))`."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from thalweg.sql.nodes import Misparse, TableWindow
from thalweg.sql.window_syntax import WindowSyntax

_TAKEN = {
    "TUMBLE": ("the size",),
    "HOP": ("the slide", "the size"),
    "CUMULATE": ("the step", "the greatest size"),
    "SESSION": ("the gap",),
}
_UNSHIFTED = ("SESSION",)
_FORM = "write {0}(TABLE bid, DESCRIPTOR(at), {1})"


class TableFunctionSyntax(WindowSyntax):
    """The part of the parser that reads windows in FROM."""

    def starts_table_function(self) -> bool:
        """Whether `TABLE(` follows, or a window function of a table without it."""
        called = self._next.token_type == TokenType.L_PAREN
        word = self._curr.text.upper() if called and self._curr.token_type != TokenType.IDENTIFIER else ""
        return word == "TABLE" or word in _TAKEN

    def parse_table_function(self) -> exp.Expr:
        """A table with its window, under the name that it may be given."""
        wrapped = self._match_text_seq("TABLE", "(")
        table = self._windowed_table()
        if wrapped:
            self._closing()
        alias = self._parse_table_alias()
        if alias:
            table.set("alias", alias)
        return table

    def parse_table_name(self) -> exp.Table:
        """The name of a stream or a table."""
        parts = [self._parse_id_var(any_token=False)]
        while self._match(TokenType.DOT):
            parts.append(self._parse_id_var())
        if not all(parts) or len(parts) > 3:
            self.expected("the name of a stream")
        this, *qualifiers = reversed(parts)
        return self.expression(exp.Table(this=this, **dict(zip(("db", "catalog"), qualifiers, strict=False))))

    def _windowed_table(self) -> exp.Expr:
        first = self._curr
        word = first.text.upper()
        if word not in _TAKEN:
            self.expected("TUMBLE, HOP, CUMULATE or SESSION")
        self._advance()
        self._opening()
        if not self._match_text_seq("TABLE"):
            self.expected("TABLE and the name of a stream")
        table = self.parse_table_name()
        keys = self._partitioning() if word == "SESSION" else []
        self._comma("DESCRIPTOR")
        time = self._descriptor()
        durations = []
        while self._match(TokenType.COMMA):
            durations.append(self.parse_duration())
        self._closing()
        span = (first.start, self._prev.end + 1)
        wanted = _TAKEN[word]
        shift = "" if word in _UNSHIFTED else ", and perhaps an offset"
        if not len(wanted) <= len(durations) <= len(wanted) + bool(shift):
            said = ", ".join("INTERVAL '10' SECOND" for _ in wanted)
            raise Misparse(f"{word} takes {' and '.join(wanted)}{shift}", span, _FORM.format(word, said))
        window = TableWindow(kind=word, time=time, durations=durations, keys=keys)
        window.meta["span"] = span
        table.set("windowing", window)
        return table

    def _partitioning(self) -> list[exp.Expr]:
        """`PARTITION BY bidder`, which only sessions have."""
        if not self._match(TokenType.PARTITION_BY):
            return []
        keys = [self._key()]
        while self._match(TokenType.COMMA, advance=False) and self._next.text.upper() != "DESCRIPTOR":
            self._advance()
            keys.append(self._key())
        return keys

    def _key(self) -> exp.Expr:
        key = self._parse_column()
        if key is None:
            self.expected("a column")
        return key

    def _descriptor(self) -> exp.Expr:
        if not self._match_text_seq("DESCRIPTOR"):
            self.expected("DESCRIPTOR and the time column")
        self._opening()
        time = self._parse_column()
        if time is None:
            self.expected("the time column")
        self._closing()
        return time

    def _opening(self) -> None:
        if not self._match(TokenType.L_PAREN):
            self.expected("(")

    def _closing(self) -> None:
        if not self._match(TokenType.R_PAREN):
            self.expected(")")

    def _comma(self, what: str) -> None:
        if not self._match(TokenType.COMMA):
            self.expected(f", and {what}")
