"""Column types: Spark's names to DuckDB's."""

from __future__ import annotations

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
TYPES_HINT = "use BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p,s), STRING, DATE or TIMESTAMP"
INTEGERS = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"})


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


def is_numeric(type_: str) -> bool:
    """Whether values of a type are numbers."""
    return type_ in INTEGERS or is_fractional(type_)
