"""Small pieces of SQL that many statements need: whole division, and the hash range of a row."""

from __future__ import annotations

from collections.abc import Sequence

HALF = 2**61


def floor_div(expression: str, divisor: int) -> str:
    """Integer division that rounds down for negative numbers too, which `//` does not.

    >>> floor_div("t", 10)
    '(t + 2305843009213693960) // 10 - 230584300921369396'
    """
    if divisor == 1:
        return expression
    quotient = -(-HALF // divisor)
    return f"({expression} + {quotient * divisor}) // {divisor} - {quotient}"


def route_sql(columns: Sequence[str], partitions: int) -> str:
    """The hash range of some columns of a row: monotone in the hash, so that ranges of another parallelism nest."""
    if not columns:
        return "0"
    return f"CAST(((hash({', '.join(columns)}) >> 32) * {partitions}) >> 32 AS INTEGER)"
