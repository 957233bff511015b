"""Numbers in texts: a value that a column's type would round is refused, not rounded."""

from __future__ import annotations

import re

from thalweg.expr.quoting import identifier

_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
EXPONENT_DIGITS = 10
"""Digits of a fraction beyond the type's own that are looked at in a number with an exponent."""


def is_exact(type_: str) -> bool:
    """Whether values of a type are exact, so that DuckDB would round what doesn't fit.

    >>> is_exact("BIGINT"), is_exact("DECIMAL(10,2)"), is_exact("DOUBLE")
    (True, True, False)
    """
    return type_ in _WHOLE or _DECIMAL.fullmatch(type_) is not None


def fitted(column: str, type_: str) -> str:
    """The SQL of a text column as numbers of a type; a value that is none is an error that names it."""
    x = identifier(column)
    said = f"error(concat({x}, ' in column {_quoted(column)} is no {type_}'))"
    return f"CASE WHEN {_may_round(x, type_)} AND NOT {_is_whole(x, type_)} THEN {said} ELSE CAST({x} AS {type_}) END"


def misfit(column: str, type_: str) -> str:
    """The SQL of whether a text is no number of a type."""
    x = identifier(column)
    rounds = f"{_may_round(x, type_)} AND NOT {_is_whole(x, type_)}"
    return (
        f"CASE WHEN {x} IS NULL THEN false WHEN {rounds} THEN true ELSE TRY_CAST({x} AS {type_}) IS NULL END"
    )


def _scale(type_: str) -> int:
    found = _DECIMAL.fullmatch(type_)
    return int(found[2]) if found else 0


def _may_round(x: str, type_: str) -> str:
    """A quick look: digits after the point, or a minus, which an exponent may have."""
    return f"(contains({x}, '-') OR contains({x}, '.') AND length({x}) - strpos({x}, '.') > {_scale(type_)})"


def _is_whole(x: str, type_: str) -> str:
    """Whether what lies beyond the digits of a type is zero."""
    scale = _scale(type_)
    plain = f"regexp_full_match({x}, '\\s*[+-]?\\d*\\.?\\d{{0,{scale}}}0*\\s*')"
    longer = f"TRY_CAST({x} AS DECIMAL(38,{min(38, scale + EXPONENT_DIGITS)}))"
    return f"coalesce({plain} OR contains(lower({x}), 'e') AND {longer} = TRY_CAST({longer} AS DECIMAL(38,{scale})), false)"


def _quoted(text: str) -> str:
    return text.replace("'", "''")
