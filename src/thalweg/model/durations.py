"""Lengths of time as people write them, to microseconds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches

from thalweg.model.windows import UNITS

MICROS: dict[str, int] = dict(UNITS) | {"week": 7 * dict(UNITS)["day"]}
MONTHS: dict[str, int] = {"month": 1, "quarter": 3, "year": 12}
SHORT = {
    "us": "microsecond", "mcs": "microsecond", "ms": "millisecond", "s": "second", "sec": "second", "min": "minute", "mi": "minute",
    "n": "minute", "h": "hour", "hh": "hour", "hr": "hour", "d": "day", "dd": "day", "w": "week",
}  # fmt: skip
LONGEST = 36_525 * MICROS["day"]
_PIECE = re.compile(r"\s*([+-]?)\s*(\d+(?:\.\d*)?|\.\d+)\s*([^\W\d_]+)\s*")


@dataclass(frozen=True)
class Length:
    """A length of time: whole microseconds, and months, whose length is not fixed."""

    micros: int
    months: int = 0


class DurationError(ValueError):
    """A text that is no length of time; says why, and perhaps what to write."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def parse_duration(text: str) -> Length:
    """A duration, perhaps of several pieces.

    >>> parse_duration("1 hour 30 minutes").micros == 90 * 60 * 1_000_000
    True
    >>> parse_duration("1.5 seconds")
    Length(micros=1500000, months=0)
    """
    micros, months, position = 0, 0, 0
    while position < len(text) or not text:
        piece = _PIECE.match(text, position)
        if piece is None:
            raise DurationError(f"{text!r} is not a duration", "write a number and a unit, like '10 seconds'")
        sign, number, word = piece.groups()
        if len(number) > 18:
            raise DurationError(f"{text!r} is too long a duration")
        count = Decimal(number) * (-1 if sign == "-" else 1)
        unit = unit_name(word)
        if unit in MONTHS:
            months += _whole(count * MONTHS[unit], text, "month")
        else:
            micros += _whole(count * MICROS[unit], text, "microsecond")
        position = piece.end()
    if abs(micros) > LONGEST or abs(months) > 1200:
        raise DurationError(f"{text!r} is too long a duration", "write at most 100 years")
    return Length(micros, months)


def unit_name(word: str) -> str:
    """The unit that a word names, singular."""
    low = word.lower()
    for name in (low, low.removesuffix("s")):
        unit = SHORT.get(name, name)
        if unit in MICROS or unit in MONTHS:
            return unit
    near = get_close_matches(low, [*MICROS, *MONTHS], n=1, cutoff=0.7)
    raise DurationError(
        f"{word!r} is not a unit of time",
        f"did you mean {near[0]}?" if near else f"write one of {', '.join(MICROS)}",
    )


def is_unit(word: str) -> bool:
    """Whether a word names a unit of time."""
    try:
        return bool(unit_name(word))
    except DurationError:
        return False


def _whole(count: Decimal, text: str, unit: str) -> int:
    if count != int(count):
        raise DurationError(f"{text!r} is not a whole number of {unit}s")
    return int(count)
