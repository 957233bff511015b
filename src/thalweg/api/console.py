"""Result rows as text: what queries INTO 'console' print from Python, and values that Python's own types can't hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from thalweg.api.outcomes import Listing

PRINTED = 20


def print_results(name: str, batch: int, rows: pa.Table) -> None:
    """New results as text."""
    shown = rows.slice(0, PRINTED)
    table = Listing(name, tuple(rows.column_names), tuple(zip(*map(values_of, shown.columns), strict=True)))
    left = rows.num_rows - shown.num_rows
    print(
        f"{name}: batch {batch}, {rows.num_rows} rows",
        table,
        *([f"... {left} more"] if left else []),
        sep="\n",
    )


def values_of(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column; times before the year 1 or after 9999, which Python has no value for, as text.

    >>> values_of(pa.chunked_array([pa.array([253_402_300_800_000_000], pa.timestamp("us"))]))
    ['10000-01-01 00:00:00']
    """
    try:
        values: list[Any] = column.to_pylist()
        return values
    except (ValueError, OverflowError):
        return [_value(v) for v in column]


def _value(scalar: pa.Scalar) -> Any:
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):
        if isinstance(scalar, pa.StructScalar):
            return {name: _value(scalar[name]) for name in scalar}
        if pa.types.is_date(scalar.type):
            return str(np.datetime64(scalar.value, "D"))
        text = str(np.datetime64(scalar.value, scalar.type.unit)).replace("T", " ")
        return text.rstrip("0").rstrip(".") if "." in text else text
