"""Options of a query: `history = 'all' | '2 hours'`, how far back it begins where it is created while data flows; `ttl = '1 day'`, after how
much event time without a row a group is forgotten."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from thalweg.model.durations import DurationError, parse_duration
from thalweg.model.query import ALL
from thalweg.sql.declarations import OptionError, OptionSyntax
from thalweg.sql.source import Source, suggestion

HINT = "write history = 'all', or a length of event time, like '2 hours'"
TTL_HINT = "write a length of event time, like ttl = '1 day'"


@dataclass(frozen=True)
class QueryOptions:
    """What the options of a query say, in microseconds of event time."""

    history: int | None = None
    ttl: int | None = None


def history_of(text: str) -> int:
    """A history in microseconds of event time.

    >>> history_of("2 seconds"), history_of("ALL") == ALL
    (2000000, True)
    """
    return ALL if text.strip().lower() == "all" else _length("history", text, HINT)


def ttl_of(text: str) -> int:
    """How long a group is remembered, in microseconds of event time.

    >>> ttl_of("2 seconds")
    2000000
    """
    return _length("ttl", text, TTL_HINT)


def _length(option: str, text: str, hint: str) -> int:
    try:
        length = parse_duration(text)
    except DurationError as e:
        raise OptionError(f"{option} can't be {text!r}: {e}", hint) from None
    if length.months or length.micros <= 0:
        why = "months differ in length" if length.months else "it must be longer than nothing"
        raise OptionError(f"{option} can't be {text!r}: {why}", hint)
    return length.micros


_READ = {"history": history_of, "ttl": ttl_of}


def query_options(source: Source, options: Iterable[OptionSyntax]) -> QueryOptions:
    """The options of a query."""
    found: dict[str, int] = {}
    for option in options:
        name = option.key.lower()
        if name not in _READ:
            raise source.error(
                f"unknown option {option.key} of a query",
                option.key_span,
                suggestion(option.key, tuple(_READ), "options are"),
            )
        if name in found:
            raise source.error(f"option {name} is given twice", option.key_span, "keep one of them")
        try:
            found[name] = _READ[name](option.value)
        except OptionError as e:
            raise source.error(str(e), option.value_span, e.hint) from None
    return QueryOptions(**found)
