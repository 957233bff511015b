"""What Thalweg's SQL adds to the syntax tree of Spark's."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.errors import ParseError

from thalweg.sql.source import Span


class Misparse(ParseError):
    """A syntax error, or syntax that is refused, with the place it was found at."""

    def __init__(self, message: str, span: Span, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.span, self.hint = message, span, hint


class Duration(exp.Expression):
    """A length of time: `'10 seconds'`, `10 SECONDS`, `INTERVAL 10 SECONDS`. Months have no fixed length."""

    arg_types: ClassVar[dict[str, bool]] = {"micros": True, "months": False}


class WindowCall(exp.Expression):
    """One window of event time, whatever the notation; `time` is the column that Spark's notation names. The range of a `session` is its
    gap."""

    arg_types: ClassVar[dict[str, bool]] = {
        "range": True,
        "slide": False,
        "offset": False,
        "id": False,
        "time": False,
        "session": False,
    }


class WindowSet(exp.Expression):
    """`WINDOWS(...)`: several windows of one query."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": True}


class TableWindow(exp.Expression):
    """The window of Flink's `TABLE(TUMBLE(TABLE bid, DESCRIPTOR(at), INTERVAL '10' SECOND))`: TUMBLE, HOP, CUMULATE or SESSION of a
    time. `keys` are what sessions are told apart by."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "time": True, "durations": True, "keys": False}


class StreamWindow(exp.Expression):
    """The window of a stream in a join: `[RANGE 1 HOUR]`, `[UNBOUNDED]`, `[TUMBLE 10 SECONDS]`."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "duration": False}


class Convert(exp.Expression):
    """`CAST(x AS BIGINT)`, its target by DuckDB's name."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "to": True}
