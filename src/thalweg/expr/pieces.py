"""Pieces of SQL text, and how a long one that is needed twice is written once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

LONG = 120


class Piece(NamedTuple):
    """SQL, and whether it can be an operand without parentheses."""

    sql: str
    single: bool = True

    @property
    def operand(self) -> str:
        """The piece as an operand."""
        return self.sql if self.single else f"({self.sql})"


def tried(sql: str) -> Piece:
    """What gives NULL where it fails. It must be one operation: the engine may take a part that comes twice out of it, and fail there."""
    return Piece(f"TRY({sql})")


def shared(write: Callable[..., str], *args: str) -> str:
    """What `write` makes of texts that it needs more than once: long ones get a name first, so that nested ones don't multiply.

    >>> shared("CASE WHEN {0} > 0 THEN {0} END".format, '"a"')
    'CASE WHEN "a" > 0 THEN "a" END'
    """
    names = {a: f"__it.x{i}" for i, a in enumerate(dict.fromkeys(a for a in args if len(a) > LONG))}
    if not names:
        return write(*args)
    fields = ", ".join(f"'{name.rpartition('.')[2]}': {text}" for text, name in names.items())
    return f"list_transform([{{{fields}}}], lambda __it: {write(*(names.get(a, a) for a in args))})[1]"
