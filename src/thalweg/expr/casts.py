"""How casts are written, as Spark means them: fractions are cut off, numbers and timestamps meet in seconds, a text may say its distance
from UTC, failures are NULL."""

from __future__ import annotations

from thalweg.expr.nodes import Cast, Expr
from thalweg.expr.pieces import Piece, shared
from thalweg.expr.types import family, is_fractional, is_integer

# A text as a whole number, as Spark reads it: a fraction is cut off, an exponent is no number.
_BARE_POINT, _WHOLE = r"'^\s*([+-]?)\.', '\10.'", r"'^\s*([+-]?\d+)(\.\d*)?\s*$'"

_FIRST, _LAST = "TIMESTAMP '290309-12-22 (BC) 00:00:00'", "TIMESTAMP '294247-01-10 04:00:54.775806'"


def write_cast(cast: Cast) -> Piece:
    """A cast."""
    sql, given, to = cast.arg.sql, cast.arg.type, cast.type
    if to == "TIMESTAMP" and given == "VARCHAR":
        return Piece(f"CAST(TRY_CAST({sql} AS TIMESTAMPTZ) AS TIMESTAMP)")
    if to == "TIMESTAMP" and family(given) == "number":
        return Piece(timestamp_of(cast.arg.operand, given))
    if is_integer(to) and is_fractional(given):
        sql = f"trunc({sql})"
    elif is_integer(to) and given == "VARCHAR":
        sql = f"regexp_extract(regexp_replace({sql}, {_BARE_POINT}), {_WHOLE}, 1)"
    elif is_integer(to) and given == "TIMESTAMP":
        sql = f"floor(epoch({sql}))"
    elif to == "VARCHAR":
        sql = sayable(cast.arg)
    return Piece(f"TRY_CAST({sql} AS {to})")


def sayable(value: Expr) -> str:
    """A value as it can become a text: a time before or after those that the engine can say is NULL, as the statement would end with it."""
    return shared(sayable_time, value.sql) if value.type == "TIMESTAMP" else value.sql


def sayable_time(sql: str) -> str:
    """The same of a time that is named."""
    return f"CASE WHEN {sql} BETWEEN {_FIRST} AND {_LAST} THEN {sql} END"


def timestamp_of(seconds: str, type_: str) -> str:
    """The timestamp so many seconds after 1970; what is less than a microsecond is cut off."""
    whole = (
        f"TRY(CAST({seconds} AS BIGINT) * 1000000)"
        if is_integer(type_)
        else f"TRY_CAST(trunc(TRY({seconds} * 1000000)) AS BIGINT)"
    )
    return instant(whole)


def instant(micros: str) -> str:
    """The timestamp so many microseconds after 1970; NULL where the engine has none, or takes it for infinite."""
    inside = f"CASE WHEN {{0}} BETWEEN {2 - 2**63} AND {2**63 - 2} THEN {{0}} END".format
    return f"TRY(make_timestamp({shared(inside, micros)}))"
