"""What can't be computed is NULL: one value must not stop the queries of others."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from sql_support import bound

from thalweg.engine.kernel.connection import run
from thalweg.expr.types import NAMES as TYPES
from thalweg.model.aggregates import part_columns
from thalweg.sql.aggregates import NAMES as AGGREGATES
from thalweg.sql.functions import FUNCTIONS


@pytest.mark.parametrize(
    "expression",
    [
        "n * n",
        "tiny + tiny",
        "price * price",
        "timestamp_seconds(price)",
        "CAST('x' AS INT)",
        "n / 0",
        "repeat('x', price)",
    ],
)
def test_a_value_that_can_not_be_computed(expression: str) -> None:
    sql = bound(f"SELECT MAX({expression}) AS m FROM bid GROUP BY TUMBLE '1 minute'").calls[0].args[0].sql
    row = "SELECT 2000000000::INTEGER AS n, 100::TINYINT AS tiny, 9000000000000000000 AS price"
    assert run(f"SELECT {sql} FROM ({row})") == [(None,)]


@pytest.mark.parametrize(("text", "value"), [("'2.5'", 2), ("'-2.5'", -2), ("' 7 '", 7), ("'x'", None)])
def test_a_text_as_a_whole_number(text: str, value: int | None) -> None:
    sql = (
        bound(f"SELECT MAX(CAST(concat({text}, '') AS INT)) AS m FROM bid GROUP BY TUMBLE '1 minute'")
        .calls[0]
        .args[0]
        .sql
    )
    assert run(f"SELECT {sql}") == [(value,)]


VALUES: list[tuple[str, Any]] = [
    ("from_unixtime(n)", "2033-05-18 03:33:20"),
    ("timestamp_seconds(n)", datetime(2033, 5, 18, 3, 33, 20)),
    ("timestamp_millis(n)", datetime(1970, 1, 24, 3, 33, 20)),
    ("CAST(n AS TIMESTAMP)", datetime(2033, 5, 18, 3, 33, 20)),
    ("CAST(1.9999999 AS TIMESTAMP)", datetime(1970, 1, 1, 0, 0, 1, 999999)),
    ("left('abc', CAST(null AS INT))", None),
    ("right('abc', CAST(null AS INT))", None),
    ("substring('abc', CAST(null AS INT))", None),
    ("substring('abc', 1, CAST(null AS INT))", None),
    ("substring('abc', 2, 5000000000 + n)", None),
    ("bit_count(-1)", 64),
    ("bit_count(CAST(-n AS INT))", 42),
    ("unix_millis(TIMESTAMP '1970-01-01 00:00:01.999999')", 1999),
    ("unix_millis(TIMESTAMP '1969-12-31 23:59:59.999999')", -1),
    ("timestampdiff(MONTH, TIMESTAMP '2024-01-31', TIMESTAMP '2024-02-29')", 0),
    ("timestampdiff(MONTH, TIMESTAMP '2024-02-29', TIMESTAMP '2024-01-30 23:00:00')", 0),
    ("timestampdiff(MONTH, TIMESTAMP '2024-01-31', TIMESTAMP '2024-03-31')", 2),
    ("timestampdiff(YEAR, TIMESTAMP '2024-02-29', TIMESTAMP '2025-02-28')", 0),
    ("timestampdiff(QUARTER, TIMESTAMP '2024-05-01', TIMESTAMP '2023-02-01')", -5),
    ("CAST(concat('1e3', '') AS INT)", None),
    ("CAST(concat('.5', '') AS INT)", 0),
    ("CAST(concat('0x10', '') AS INT)", None),
    ("-(price - 1 - price - 9223372036854775807)", None),
    ("'a' RLIKE chr(price + 35)", None),
    ("'a' LIKE concat('a', '\\\\')", None),
    ("'a' LIKE concat('a%', '')", True),
    ("2147483647 + 10", None),
    ("2147483647 * 2 + price", None),
    ("9223372036854775807 + 1", None),
    ("CAST(127 AS TINYINT) + CAST(1 AS TINYINT)", None),
    ("lpad('abc', 2, '')", "ab"),
    ("rpad('a', price, '')", "a"),
    ("split_part('a,b', ',', 0)", None),
    ("split_part('a,b', ',', CAST(price - 3 AS INT))", "b"),
]


@pytest.mark.parametrize(("expression", "value"), VALUES)
def test_a_value_is_spark_s(expression: str, value: Any) -> None:
    sql = (
        bound(f"SELECT MAX({expression}) AS m FROM bid GROUP BY TUMBLE '1 minute'")
        .aggregates[0]
        .call.args[0]
        .sql
    )
    assert run(f"SELECT {sql} FROM (SELECT 2000000000::INTEGER AS n, 5::BIGINT AS price)") == [(value,)]


def test_parts_have_names_of_their_own() -> None:
    query = bound("SELECT SUM(n + 12105) AS a, SUM(n + 121722) AS b FROM bid GROUP BY TUMBLE '1 minute'")
    names = {p.name for a in query.aggregates for p in part_columns(a.call)}
    assert len(names) == 2
    assert all(len(n.rpartition("_")[2]) >= 32 for n in names), "128 bits"


def test_a_long_list_takes_time_in_proportion() -> None:
    def once(text: str) -> float:
        started = process_time()
        bound(text)
        return process_time() - started

    def seconds(values: int) -> float:
        """The least of some tries: a collection of garbage in one of them is not the list's."""
        text = f"SELECT COUNT(*) AS c FROM bid WHERE price IN ({', '.join(f'{i}.5' for i in range(values))}) GROUP BY TUMBLE '1 minute'"
        return min(once(text) for _ in range(5))

    assert seconds(1_600) < 40 * seconds(100), "sixteen times as many values"


def test_the_documentation_lists_every_function() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "sql.md").read_text()
    assert [f for f in FUNCTIONS if f"`{f}`" not in page and f not in TYPES] == []
    assert [a for a in set(AGGREGATES.values()) - {"COUNT_ROWS", "COUNT_DISTINCT"} if a not in page] == []
