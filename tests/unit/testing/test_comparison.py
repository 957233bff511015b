"""Equality of results: what counts as the same row, and what the message says otherwise."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from thalweg.testing.comparison import compare


def table(**columns: list[object]) -> pa.Table:
    return pa.table(columns)


def failure(actual: pa.Table, expected: pa.Table) -> str:
    with pytest.raises(AssertionError) as raised:
        compare(actual, expected)
    return str(raised.value)


def test_order_does_not_matter() -> None:
    compare(table(k=["a", None, "b"], v=[1, 2, 3]), table(k=["b", "a", None], v=[3, 1, 2]))


def test_zone_marks_and_integer_widths_do_not_matter() -> None:
    instants = pa.array([datetime(2026, 1, 1)], pa.timestamp("us"))
    marked = instants.cast(pa.timestamp("us", tz="UTC"))
    compare(
        pa.table({"t": marked, "n": pa.array([1], pa.int32()), "d": pa.array([Decimal("2.50")])}),
        pa.table({"t": instants, "n": pa.array([1], pa.int64()), "d": pa.array([Decimal("2.5")])}),
    )


def test_floats_are_equal_within_tolerance() -> None:
    compare(table(v=[0.1 + 0.2, float("nan"), None, -0.0]), table(v=[None, 0.3, 0.0, float("nan")]))
    assert "1 missing, 1 extra" in failure(table(v=[1.0]), table(v=[1.0001]))
    compare(table(v=[1.0]), table(v=[1.0001]), relative=1e-3)


def test_rounding_does_not_pair_rows_wrongly() -> None:
    #  in order of v the rows stand as 5, 3 on one side and as 3, 5 on the other
    compare(table(v=[1.0, 1.0 + 1e-13], w=[5.0, 3.0]), table(v=[1.0, 1.0 + 1e-13], w=[3.0, 5.0]))


def test_missing_and_extra_rows_are_shown() -> None:
    message = failure(
        table(k=["a", "b", "c"], n=[1, 2, 9], v=[1.0, 2.0, 3.0]),
        table(k=["a", "b", "d"], n=[1, 2, 4], v=[1.0, 2.5, 3.0]),
    )
    assert message.splitlines() == [
        "results differ: 3 rows, expected 3; 2 missing, 2 extra",
        "  columns  k, n, v",
        "  missing  'b', 2, 2.5",
        "    found with other v = 2.0",
        "  missing  'd', 4, 3.0",
        "  extra    'b', 2, 2.0",
        "  extra    'c', 9, 3.0",
    ]


def test_doubled_rows_are_pointed_out() -> None:
    message = failure(table(k=["a", "a", "b"], v=[1.0, 1.0 + 1e-13, 2.0]), table(k=["a", "b"], v=[1.0, 2.0]))
    assert "3 rows, expected 2; 0 missing, 1 extra, 1 of them doubled" in message
    assert "doubled  'a', 1.0" in message


def test_a_row_that_is_there_twice_must_come_twice() -> None:
    assert "1 missing, 0 extra" in failure(table(k=["a"]), table(k=["a", "a"]))


def test_columns_must_have_the_same_names_in_order() -> None:
    assert (
        failure(table(a=[1], b=[1]), table(b=[1], a=[1])) == "columns differ: ['a', 'b'], expected ['b', 'a']"
    )


def test_empty_results_are_equal() -> None:
    compare(table(k=["a"]).slice(0, 0), table(k=[]))
