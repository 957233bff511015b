"""`history = 'all' | '2 hours'`: how far back a query begins that is created while data flows."""

from __future__ import annotations

from collections.abc import Iterable

from thalweg.model.durations import DurationError, parse_duration
from thalweg.model.query import ALL
from thalweg.sql.declarations import OptionError, OptionSyntax
from thalweg.sql.source import Source, suggestion

HINT = "write history = 'all', or a length of event time, like '2 hours'"


def history_of(text: str) -> int:
    """A history in microseconds of event time.

    >>> history_of("2 seconds"), history_of("ALL") == ALL
    (2000000, True)
    """
    if text.strip().lower() == "all":
        return ALL
    try:
        length = parse_duration(text)
    except DurationError as e:
        raise OptionError(f"history can't be {text!r}: {e}", HINT) from None
    if length.months or length.micros <= 0:
        why = "months differ in length" if length.months else "it must be longer than nothing"
        raise OptionError(f"history can't be {text!r}: {why}", HINT)
    return length.micros


def history_option(source: Source, options: Iterable[OptionSyntax]) -> int | None:
    """The history among the options of a query, which has no others."""
    found: int | None = None
    for option in options:
        if option.key.lower() != "history":
            raise source.error(
                f"unknown option {option.key} of a query",
                option.key_span,
                suggestion(option.key, ("history",), "options are"),
            )
        if found is not None:
            raise source.error("option history is given twice", option.key_span, "keep one of them")
        try:
            found = history_of(option.value)
        except OptionError as e:
            raise source.error(str(e), option.value_span, e.hint) from None
    return found
