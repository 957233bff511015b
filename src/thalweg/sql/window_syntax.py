"""The notations of windows: Thalweg's own, Spark's, Flink's and Azure's, all to the same nodes."""

from __future__ import annotations

from typing import NoReturn

from sqlglot import exp
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from thalweg.model.durations import DurationError, is_unit, parse_duration
from thalweg.sql.nodes import Duration, Misparse, WindowCall, WindowSet

_SESSIONS = ("SESSION", "SESSION_WINDOW")
_KEYWORDS = {"TUMBLE", "HOP", "SESSION"}
_FUNCTIONS = {*_KEYWORDS, "WINDOW", "SESSION_WINDOW", "TUMBLINGWINDOW", "HOPPINGWINDOW"}
_UNSUPPORTED = {"SESSIONWINDOW", "SLIDINGWINDOW", "SNAPSHOTWINDOW", "CUMULATE"}
AS_CALL = "write ROLLUP(...) or CUBE(...) in GROUP BY, and the window beside it"
_GROUPINGS: dict[str, type[exp.Expr]] = {
    "CUBE": exp.Cube,
    "ROLLUP": exp.Rollup,
    "GROUPING SETS": exp.GroupingSets,
}
_AZURE_PARTS = {"DURATION": "range", "HOP": "slide", "OFFSET": "offset"}
_GIVEN = {
    "TUMBLE": ("range", "offset"),
    "HOP": ("range", "slide", "offset"),
    "SESSION": ("range",),
    "SESSION_WINDOW": ("range",),
}
_EXAMPLES = {
    "TUMBLE": "TUMBLE '1 hour'",
    "HOP": "HOP '1 hour' BY '10 minutes'",
    "SESSION": "SESSION '10 minutes'",
    "SESSION_WINDOW": "session_window(at, '10 minutes')",
}
_AMOUNTS = (TokenType.STRING, TokenType.NUMBER, TokenType.INTERVAL, TokenType.DASH)


class WindowSyntax(Parser):
    """The part of the parser that reads durations and windows."""

    def expected(self, what: str) -> NoReturn:
        """Raise that something else stands here, or nothing at all."""
        if not self._curr:
            last = self._tokens[-1] if self._tokens else Token.string("")
            raise Misparse(f"expected {what}, but the statement ends", (last.end + 1, last.end + 2))
        raise Misparse(
            f"expected {what}, not {self.shown(self._curr)}", (self._curr.start, self._curr.end + 1)
        )

    def shown(self, token: Token) -> str:
        """A token as it is written, for a message."""
        text = " ".join(self.sql[token.start : token.end + 1].split())
        return text if len(text) <= 40 else f"{text[:37]}..."

    def parse_duration(self) -> exp.Expr:
        """A duration in any of its forms."""
        first = self._curr
        text = self._duration_text()
        span = (first.start, self._prev.end + 1)
        try:
            length = parse_duration(text)
        except DurationError as error:
            raise Misparse(str(error), span, error.hint) from None
        node = Duration(micros=length.micros, months=length.months)
        node.meta["span"] = span
        return node

    def _duration_text(self) -> str:
        """The pieces of a duration; a string that is one by itself ends it, unless INTERVAL leads."""
        several = self._match(TokenType.INTERVAL) or self._curr.token_type != TokenType.STRING
        pieces = []
        while self._curr and self._curr.token_type in (TokenType.STRING, TokenType.NUMBER, TokenType.DASH):
            pieces.append(self._duration_piece())
            if not several or self._prev.token_type in _AMOUNTS:
                break
        if not pieces:
            self.expected("a duration")
        return " ".join(pieces)

    def _duration_piece(self) -> str:
        sign = "-" if self._match(TokenType.DASH) else ""
        if not self._match_set((TokenType.STRING, TokenType.NUMBER)):
            self.expected("a duration")
        text = sign + self._prev.text
        quoted_number = text.strip().replace(".", "", 1).lstrip("-").isdecimal()
        if (
            quoted_number
            and self._curr
            and self._curr.token_type not in _AMOUNTS
            and is_unit(self._curr.text)
        ):
            self._advance()
            text += f" {self._prev.text}"
        return text

    def _parse_interval(
        self, require_interval: bool = True, parse_function_unit: bool = True
    ) -> exp.Add | exp.Interval | None:
        if self._curr.token_type == TokenType.INTERVAL and self._next.token_type in _AMOUNTS:
            return self.parse_duration()  # type: ignore[return-value]
        return None

    def _parse_group(self, skip_group_by_token: bool = False) -> exp.Group | None:
        if not skip_group_by_token and not self._match(TokenType.GROUP_BY):
            return None
        start = self._prev.start
        if self._match(TokenType.ALL, advance=False) and self._next.token_type not in (
            TokenType.DOT,
            TokenType.COMMA,
        ):
            raise Misparse(
                "GROUP BY ALL is not supported", (start, self._curr.end + 1), "name the grouping keys"
            )
        items = self._parse_csv(self._parse_group_item)
        if not items:
            self.expected("a grouping key or a window")
        if self._match_text_seq("WITH", advance=False) and self._next.text.upper() in _GROUPINGS:
            raise Misparse(
                f"WITH {self._next.text.upper()} is not supported",
                (self._curr.start, self._next.end + 1),
                AS_CALL,
            )
        group = self.expression(exp.Group(expressions=items))
        group.meta["span"] = (start, self._prev.end + 1)
        return group

    def _parse_group_item(self) -> exp.Expr | None:
        word = self._curr.text.upper() if self._curr and self._curr.token_type != TokenType.IDENTIFIER else ""
        if word in _GROUPINGS and self._next.token_type == TokenType.L_PAREN:
            return self._parse_sets_of_keys(_GROUPINGS[word])
        if word == "WINDOWS" and self._next.token_type == TokenType.L_PAREN:
            return self._parse_window_set()
        return self._parse_window_item() or self._parse_disjunction()

    def _parse_sets_of_keys(self, kind: type[exp.Expr]) -> exp.Expr:
        """`ROLLUP(a, b)`, `CUBE(a, (b, c))`, `GROUPING SETS ((a, b), a, ())`."""
        first = self._curr
        self._advance(2)
        items = self._parse_csv(self._parse_set_of_keys)
        if not items:
            self.expected("a grouping key")
        self._match_r_paren()
        node = kind(expressions=items)
        node.meta["span"] = (first.start, self._prev.end + 1)
        return node

    def _parse_set_of_keys(self) -> exp.Expr | None:
        if (
            self._curr
            and self._curr.token_type == TokenType.L_PAREN
            and self._next.token_type == TokenType.R_PAREN
        ):
            self._advance(2)
            return exp.Tuple(expressions=[])
        return self._parse_group_item()

    def _parse_window_set(self) -> exp.Expr:
        first = self._curr
        self._advance(2)
        windows = self._parse_csv(self._parse_window_item)
        if not windows:
            self.expected("a window such as TUMBLE '1 minute'")
        self._match_r_paren()
        node = WindowSet(expressions=windows)
        node.meta["span"] = (first.start, self._prev.end + 1)
        return node

    def _parse_window_item(self) -> exp.Expr | None:
        """One window with the id it may be given; None where no window starts."""
        first = self._curr
        word = (
            first.text.upper()
            if first and first.token_type not in (TokenType.IDENTIFIER, TokenType.STRING)
            else ""
        )
        called = self._next.token_type == TokenType.L_PAREN
        if word in _UNSUPPORTED and called:
            raise Misparse(
                f"{first.text} windows are not supported",
                (first.start, first.end + 1),
                "use TUMBLE, HOP or SESSION",
            )
        if word in _KEYWORDS and self._next.token_type in _AMOUNTS:
            self._advance()
            node = self._keyword_window(word)
        elif word in _FUNCTIONS and called:
            self._advance(2)
            node = self.window_arguments(word)
            self._match_r_paren()
        else:
            return None
        if self._match(TokenType.ALIAS):
            node.set("id", self._window_id())
        node.meta["span"] = (first.start, self._prev.end + 1)
        return node

    def _window_id(self) -> str:
        if not self._match_set((TokenType.STRING, TokenType.IDENTIFIER, TokenType.VAR)):
            self.expected("the id of the window")
        return self._prev.text

    def _keyword_window(self, word: str) -> exp.Expr:
        node = WindowCall(range=self.parse_duration())
        if word == "SESSION":
            node.set("session", True)
            return node
        if word == "HOP":
            if not self._match_text_seq("BY"):
                self.expected("BY and the slide of HOP")
            node.set("slide", self.parse_duration())
        if self._match_text_seq("OFFSET"):
            node.set("offset", self.parse_duration())
        return node

    def window_arguments(self, word: str) -> exp.Expr:
        """What stands between the parentheses of a window function."""
        node = self._window_arguments(word)
        if word in _SESSIONS:
            node.set("session", True)
        return node

    def _window_arguments(self, word: str) -> exp.Expr:
        if word == "WINDOW":
            return (
                self._named_window() if self._match(TokenType.STRING, advance=False) else self._spark_window()
            )
        if word in ("TUMBLINGWINDOW", "HOPPINGWINDOW"):
            return self._azure_window(word)
        if word == "SESSION_WINDOW" or (self._curr and self._curr.token_type not in _AMOUNTS):
            return self._timed_window(word)
        return self._filled(_GIVEN[word], self._parse_csv(self.parse_duration), 2 if word == "HOP" else 1)

    def _spark_window(self) -> exp.Expr:
        """`window(at, '10 minutes', '5 minutes', '1 minute')`."""
        time = self._parse_column()
        durations = self._parse_csv(self.parse_duration) if self._match(TokenType.COMMA) else []
        node = self._filled(("range", "slide", "offset"), durations, 1)
        node.set("time", time)
        return node

    def _timed_window(self, word: str) -> exp.Expr:
        """`session_window(at, '10 minutes')`, `TUMBLE(at, INTERVAL '10' SECOND)`, `HOP(at, ...)` with the slide before the size, as in Flink."""
        first = self._curr
        time = self._parse_column()
        if time is None or not self._match(TokenType.COMMA):
            shown = "the end" if not first else first.text
            raise Misparse(
                f"expected a duration, not {shown}",
                (self._prev.start, self._prev.end + 1) if not first else (first.start, first.end + 1),
                f"write {_EXAMPLES[word]}",
            )
        keys = ("slide", "range", "offset") if word == "HOP" else _GIVEN[word]
        node = self._filled(keys, self._parse_csv(self.parse_duration), 2 if word == "HOP" else 1)
        node.set("time", time)
        return node

    def window_end_call(self, word: str, end: str) -> exp.Expr:
        """`SESSION_START(at, INTERVAL '10' SECOND)` as the start of that window, and its like."""
        return exp.Dot(this=self.window_arguments(word), expression=exp.to_identifier(end))

    def _named_window(self) -> exp.Expr:
        """Azure's `Window('id', TumblingWindow(minute, 20))`."""
        id_ = self._window_id()
        if not self._match(TokenType.COMMA):
            self.expected(", and a window")
        node = self._parse_window_item()
        if node is None:
            self.expected("a window")
        node.set("id", id_)
        return node

    def _azure_window(self, word: str) -> exp.Expr:
        """`minute, 10, 5` or `Duration(minute, 10), Hop(minute, 5), Offset(minute, 1)`."""
        hops = word == "HOPPINGWINDOW"
        if self._next.token_type == TokenType.L_PAREN:
            parts: dict[str, exp.Expr] = {}
            self._parse_csv(
                lambda: self._azure_part(parts, _AZURE_PARTS if hops else {**_AZURE_PARTS, "HOP": ""})
            )
            for name, key in (("Duration", "range"), *([("Hop", "slide")] if hops else [])):
                if key not in parts:
                    self.expected(f"{name} of the window")
            return WindowCall(**parts)
        unit = self._azure_unit()
        counts = [self._azure_count(unit) for _ in range(1 + hops)]
        return self._filled(("range", "slide"), counts, 1 + hops)

    def _azure_part(self, parts: dict[str, exp.Expr], keys: dict[str, str]) -> exp.Expr:
        """One of `Duration(minute, 10)`, `Hop(minute, 5)` and `Offset(minute, 1)`, which stand in any order."""
        words = tuple(word for word, key in keys.items() if key and key not in parts)
        if not self._match_texts(words):
            self.expected(" or ".join(word.capitalize() for word in words))
        key = keys[self._prev.text.upper()]
        if not self._match(TokenType.L_PAREN):
            self.expected("(")
        parts[key] = self._azure_count(self._azure_unit())
        self._match_r_paren()
        return parts[key]

    def _azure_unit(self) -> str:
        if not self._curr or not is_unit(self._curr.text):
            self.expected("a unit of time")
        self._advance()
        return self._prev.text

    def _azure_count(self, unit: str) -> exp.Expr:
        if not self._match(TokenType.COMMA):
            self.expected("a comma and a number")
        sign = "-" if self._match(TokenType.DASH) else ""
        if not self._match(TokenType.NUMBER):
            self.expected("a number")
        token = self._prev
        try:
            length = parse_duration(f"{sign}{token.text} {unit}")
        except DurationError as error:
            raise Misparse(str(error), (token.start, token.end + 1), error.hint) from None
        node = Duration(micros=length.micros, months=length.months)
        node.meta["span"] = (token.start, token.end + 1)
        return node

    def _filled(self, keys: tuple[str, ...], durations: list[exp.Expr], least: int) -> exp.Expr:
        if not least <= len(durations) <= len(keys):
            self.expected(f"{' and '.join(keys[:least])} of the window")
        return WindowCall(**dict(zip(keys, durations, strict=False)))

    def _parse_system_column(self) -> exp.Expr | None:
        """Azure's `System.Window().Id` and `System.Timestamp()`."""
        if self._match_text_seq("SYSTEM", ".", "WINDOW", "(", ")", ".", "ID"):
            return exp.column("window_id")
        if self._match_text_seq("SYSTEM", ".", "TIMESTAMP"):
            self._match_text_seq("(", ")")
            return exp.column("window_end")
        return None
