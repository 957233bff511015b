"""Values as text for people: aligned by column, with thousands separators, times in UTC."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

NULL = "NULL"
SIZES = ("bytes", "kB", "MB", "GB", "TB")


def column_texts(values: Sequence[Any], plain: bool = False) -> list[str]:
    """The values of one column in one form; `plain` leaves out thousands separators, as for numbers that are names.

    >>> column_texts([1234.5, 7.25, None])
    ['1,234.50', '7.25', 'NULL']
    """
    known = [v for v in values if v is not None]
    if known and all(isinstance(v, float) for v in known):
        form = _form(known).lstrip("," if plain else "")
        return [NULL if v is None else f"{v:{form}}" for v in values]
    if known and all(isinstance(v, datetime) for v in known):
        precision = _precision(known)
        return [NULL if v is None else instant_text(v, precision) for v in values]
    return [_one(v, plain) for v in values]


def is_number(value: Any) -> bool:
    """Whether a value is a number, which stands at the right of its column."""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def instant_text(value: datetime, precision: str = "seconds") -> str:
    """A time in UTC.

    >>> instant_text(datetime(2023, 11, 14, 22, 13, 20))
    '2023-11-14 22:13:20'
    """
    shown = value.astimezone(UTC) if value.tzinfo else value
    return shown.replace(tzinfo=None).isoformat(" ", precision)


def size_text(count: float) -> str:
    """A number of bytes.

    >>> size_text(999), size_text(1_234_567)
    ('999 bytes', '1.2 MB')
    """
    unit = 0
    while count >= 999.5 and unit < len(SIZES) - 1:
        count, unit = count / 1000, unit + 1
    return f"{count:.0f} {SIZES[unit]}" if unit == 0 or count >= 99.5 else f"{count:.1f} {SIZES[unit]}"


def count_text(count: int, noun: str, plural: str | None = None) -> str:
    """A number of things.

    >>> count_text(1, "batch", "batches"), count_text(1200, "row")
    ('1 batch', '1,200 rows')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def set_aside_text(rows: int, files: int) -> str:
    """Bad rows and files of streams.

    >>> set_aside_text(3, 1), set_aside_text(0, 2)
    ('3 rows and 1 file', '2 files')
    """
    return " and ".join(count_text(n, noun) for n, noun in ((rows, "row"), (files, "file")) if n)


def seconds_text(seconds: float) -> str:
    """A length of time.

    >>> seconds_text(1.234), seconds_text(75), seconds_text(7300)
    ('1.2 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def shorter(path: str) -> str:
    """A path relative to the current directory where it lies in it."""
    here = Path.cwd()
    return (
        str(Path(path).relative_to(here)) if "://" not in path and Path(path).is_relative_to(here) else path
    )


def one_line(text: str) -> str:
    """A text without anything that a terminal would act on.

    >>> one_line("a\\tb")
    'a\\\\tb'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _one(value: Any, plain: bool) -> str:
    if value is None:
        return NULL
    if isinstance(value, bool):
        return str(value).lower()
    if is_number(value):
        return str(value) if plain else f"{value:,}"
    if isinstance(value, datetime):
        return instant_text(value, _precision([value]))
    return value.isoformat() if isinstance(value, date) else one_line(str(value))


def _form(values: Sequence[float]) -> str:
    """The format of a column of floats: enough digits for the largest, cents as cents, powers of ten where zeros would hide the value."""
    sizes = [abs(v) for v in values if v and abs(v) < float("inf")]
    if not sizes or (all(v == round(v, 1) for v in sizes) and max(sizes) < 1e15):
        return ",.1f"
    if max(sizes) >= 1e15 or max(sizes) < 1e-4:
        return ".6g"
    if max(sizes) >= 10 or all(v == round(v, 2) for v in sizes):
        return ",.2f"
    return ",.4f" if max(sizes) >= 1 else ",.6f"


def _precision(values: Sequence[datetime]) -> str:
    if not any(v.microsecond for v in values):
        return "seconds"
    return "microseconds" if any(v.microsecond % 1000 for v in values) else "milliseconds"
