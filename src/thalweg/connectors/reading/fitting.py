"""Numbers in texts: a value that a column's type would round is refused, not rounded."""

from __future__ import annotations

import re

from thalweg.expr.quoting import identifier, quoted

_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_MANTISSA, _EXPONENT = r"(\d*)\.?(\d*)[eE]", r"[eE]([+-]?\d+)"


def is_exact(type_: str) -> bool:
    """Whether values of a type are exact, so that DuckDB would round what doesn't fit.

    >>> is_exact("BIGINT"), is_exact("DECIMAL(10,2)"), is_exact("DOUBLE")
    (True, True, False)
    """
    return type_ in _WHOLE or _DECIMAL.fullmatch(type_) is not None


def fitted(column: str, type_: str) -> str:
    """The SQL of a text column as numbers of a type; a value that is none is an error that names it."""
    return fitted_value(identifier(column), type_, column)


def fitted_value(x: str, type_: str, column: str) -> str:
    """The same of a text that some SQL gives."""
    said = f"error(concat({x}, {quoted(f' in column {column} is no {type_}')}))"
    return f"CASE WHEN {_may_round(x, type_)} AND NOT {_is_whole(x, type_)} THEN {said} ELSE CAST({x} AS {type_}) END"


def misfit(column: str, type_: str) -> str:
    """The SQL of whether a text is no number of a type."""
    return misfit_value(identifier(column), type_)


def misfit_value(x: str, type_: str) -> str:
    """The same of a text that some SQL gives."""
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
    plain = f"regexp_full_match({x}, '\\s*[+-]?\\d*\\.?\\d{{0,{_scale(type_)}}}0*\\s*')"
    return f"coalesce({plain} OR contains(lower({x}), 'e') AND {_is_whole_raised(x, type_)}, false)"


def _is_whole_raised(x: str, type_: str) -> str:
    """The same of a number with an exponent: as many digits as are left behind the point once it is moved."""
    before, after = (f"regexp_extract({x}, '{_MANTISSA}', {group})" for group in (1, 2))
    digits = f"rtrim({before} || {after}, '0')"
    moved = f"TRY_CAST(regexp_extract({x}, '{_EXPONENT}', 1) AS BIGINT)"
    return f"(ltrim({digits}, '0') = '' OR length({digits}) - length({before}) - {moved} <= {_scale(type_)})"
