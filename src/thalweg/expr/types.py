"""Column types: Spark's names to DuckDB's."""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce

NAMES = {
    "BOOLEAN": "BOOLEAN", "BOOL": "BOOLEAN",
    "TINYINT": "TINYINT", "BYTE": "TINYINT",
    "SMALLINT": "SMALLINT", "SHORT": "SMALLINT",
    "INT": "INTEGER", "INTEGER": "INTEGER",
    "BIGINT": "BIGINT", "LONG": "BIGINT",
    "FLOAT": "FLOAT", "REAL": "FLOAT",
    "DOUBLE": "DOUBLE",
    "STRING": "VARCHAR", "VARCHAR": "VARCHAR", "TEXT": "VARCHAR",
    "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP", "TIMESTAMP_NTZ": "TIMESTAMP",
}  # fmt: skip
SUPPORTED = frozenset(NAMES.values())
DECIMALS = ("DECIMAL", "DEC", "NUMERIC")
TYPES_HINT = (
    "use BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p,s), STRING, DATE, TIMESTAMP, "
    "STRUCT<...>, ARRAY<...> or MAP<...>"
)
INTEGERS = frozenset(
    {
        "TINYINT",
        "SMALLINT",
        "INTEGER",
        "BIGINT",
        "HUGEINT",
        "UTINYINT",
        "USMALLINT",
        "UINTEGER",
        "UBIGINT",
        "UHUGEINT",
    }
)

WHOLE_DIGITS = {
    "TINYINT": 3,
    "SMALLINT": 5,
    "INTEGER": 10,
    "BIGINT": 19,
    "UTINYINT": 3,
    "USMALLINT": 5,
    "UINTEGER": 10,
    "UBIGINT": 20,
}
MOST_DIGITS = 38
SPOKEN = {"VARCHAR": "STRING", "INTEGER": "INT"}


def spoken(type_: str) -> str:
    """A type by Spark's name."""
    return SPOKEN.get(type_, type_)


def type_name(name: str, parameters: tuple[str, ...] = ()) -> str | None:
    """DuckDB's name of a type, or None where Thalweg doesn't support it.

    >>> type_name("long"), type_name("decimal", ("10", "2")), type_name("binary")
    ('BIGINT', 'DECIMAL(10,2)', None)
    """
    upper = name.upper()
    if upper in DECIMALS:
        return _decimal(parameters)
    if parameters and not (upper == "VARCHAR" and len(parameters) == 1):
        return None
    return NAMES.get(upper)


def _decimal(parameters: tuple[str, ...]) -> str | None:
    if len(parameters) > 2 or any(not p.isdecimal() or len(p) > 2 for p in parameters):
        return None
    precision, scale = (*map(int, parameters), *(10, 0)[len(parameters) :])
    return f"DECIMAL({precision},{scale})" if 1 <= precision <= 38 and scale <= precision else None


def is_fractional(type_: str) -> bool:
    """Whether values of a type may have a fraction."""
    return type_ in ("FLOAT", "DOUBLE") or type_.startswith("DECIMAL")


def is_exact(type_: str) -> bool:
    """Whether values of a type are numbers without rounding, so that a result may be too large for it."""
    return type_ in INTEGERS or type_.startswith("DECIMAL")


def comparable_type(one: str, other: str) -> str | None:
    """The type in which numbers of two types are compared, where the engine's own choice would not do: exact numbers without rounding any,
    FLOAT and exact numbers as DOUBLE.

    A value that this type can't hold equals none of the other.

    >>> comparable_type("DECIMAL(38,0)", "DECIMAL(38,10)"), comparable_type("INTEGER", "DECIMAL(5,2)"), comparable_type("FLOAT", "BIGINT")
    ('DECIMAL(38,10)', 'DECIMAL(12,2)', 'DOUBLE')
    """
    if one == other:
        return None
    if {one, other} == {"DATE", "TIMESTAMP"}:
        return "TIMESTAMP"
    if "FLOAT" in (one, other) and (is_exact(one) or is_exact(other)):
        return "DOUBLE"
    if is_exact(one) and is_exact(other) and not (one in INTEGERS and other in INTEGERS):
        whole, scale = _digits_together(one, other)
        return f"DECIMAL({min(whole + scale, MOST_DIGITS)},{scale})"
    return None


def may_not_fit(one: str, other: str) -> bool:
    """Whether a number of one type may be too large for the type in which it is compared with one of another."""
    return (
        is_exact(one)
        and is_exact(other)
        and one != other
        and not {one, other} <= INTEGERS
        and sum(_digits_together(one, other)) > MOST_DIGITS
    )


def _digits_together(one: str, other: str) -> tuple[int, int]:
    """Digits before and after the point that hold the numbers of both types."""
    found = [digits(one), digits(other)]
    return max(w for w, _ in found), max(s for _, s in found)


def digits(type_: str) -> tuple[int, int]:
    """Digits before and after the point of the numbers of an exact type."""
    if type_ in INTEGERS:
        return WHOLE_DIGITS.get(type_, 39), 0
    precision, scale = map(int, type_.removeprefix("DECIMAL(").removesuffix(")").split(","))
    return precision - scale, scale


def is_numeric(type_: str) -> bool:
    """Whether values of a type are numbers."""
    return type_ in INTEGERS or is_fractional(type_)


def is_integer(type_: str) -> bool:
    """Whether a type is of whole numbers."""
    return type_ in INTEGERS


def family(type_: str) -> str:
    """The family of types within which values compare and mix: number, text, time, or the type itself."""
    if is_numeric(type_):
        return "number"
    if type_ in ("DATE", "TIMESTAMP"):
        return "time"
    return "text" if type_ == "VARCHAR" else type_


def together_type(one: str, other: str) -> str | None:
    """The type in which Spark brings the columns of a UNION together; None where there is none, such as that of a text and a number.

    >>> together_type("INTEGER", "DECIMAL(5,2)"), together_type("FLOAT", "BIGINT"), together_type("VARCHAR", "BIGINT")
    ('DECIMAL(12,2)', 'DOUBLE', None)
    """
    if one == other or family(one) != family(other) or family(one) not in ("number", "time"):
        return one if one == other else None
    return "DOUBLE" if {one, other} & {"FLOAT", "DOUBLE"} else common_type((one, other))


def common_type(types: Collection[str]) -> str:
    """The type of a column in which values of several types come together: numbers, or times.

    >>> common_type(["DATE", "TIMESTAMP"]), common_type(["BIGINT", "DECIMAL(38,20)"])
    ('TIMESTAMP', 'DECIMAL(38,20)')
    """
    floating = next((t for t in ("DOUBLE", "FLOAT") if t in types), None)
    return floating or reduce(
        lambda a, b: comparable_type(a, b) or max(a, b, key=lambda t: WHOLE_DIGITS.get(t, 39)), sorted(types)
    )
