"""Spark's patterns of dates and times to strftime's."""

from __future__ import annotations

from itertools import groupby

CODES = {
    "yyyy": "%Y", "yy": "%y", "y": "%Y", "MMMM": "%B", "MMM": "%b", "MM": "%m", "M": "%-m", "dd": "%d", "d": "%-d",
    "DDD": "%j", "D": "%-j", "HH": "%H", "H": "%-H", "hh": "%I", "h": "%-I", "mm": "%M", "m": "%-M", "ss": "%S", "s": "%-S",
    "SSS": "%g", "SSSSSS": "%f", "a": "%p", "E": "%a", "EE": "%a", "EEE": "%a", "EEEE": "%A",
}  # fmt: skip


class TimeFormatError(ValueError):
    """A pattern with letters that have no strftime code."""


def strftime_format(pattern: str) -> str:
    """The strftime format of a pattern.

    >>> strftime_format("yyyy-MM-dd'T'HH:mm")
    '%Y-%m-%dT%H:%M'
    """
    parts = pattern.replace("''", "\0").split("'")
    if len(parts) % 2 == 0:
        raise TimeFormatError(f"the format {pattern!r} has an unclosed quote")
    written = [_codes(p, pattern) if i % 2 == 0 else p.replace("%", "%%") for i, p in enumerate(parts)]
    return "".join(written).replace("\0", "'")


def _codes(text: str, pattern: str) -> str:
    runs = ["".join(run) for _, run in groupby(text)]
    for run in runs:
        if run[0].isalpha() and run not in CODES:
            raise TimeFormatError(f"{run} in the format {pattern!r} is not supported")
    return "".join(CODES.get(run, run.replace("%", "%%")) for run in runs)
