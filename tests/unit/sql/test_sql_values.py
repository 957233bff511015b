"""What can't be computed is NULL: one value must not stop the queries of others."""

from __future__ import annotations

from pathlib import Path
from time import process_time

import pytest
from sql_support import bound

from thalweg.engine.kernel.connection import run
from thalweg.sql.aggregates import NAMES as AGGREGATES
from thalweg.sql.functions import FUNCTIONS
from thalweg.sql.types import NAMES as TYPES


@pytest.mark.parametrize(
    "expression",
    ["n * n", "tiny + tiny", "price * price", "chr(-n)", "timestamp_seconds(price)", "CAST('x' AS INT)", "n / 0", "repeat('x', price)"],
)
def test_a_value_that_can_not_be_computed(expression: str) -> None:
    sql = bound(f"SELECT MAX({expression}) AS m FROM bid GROUP BY TUMBLE '1 minute'").aggregates[0].args[0].sql
    row = "SELECT 2000000000::INTEGER AS n, 100::TINYINT AS tiny, 9000000000000000000 AS price"
    assert run(f"SELECT {sql} FROM ({row})") == [(None,)]


@pytest.mark.parametrize(("text", "value"), [("'2.5'", 2), ("'-2.5'", -2), ("' 7 '", 7), ("'x'", None)])
def test_a_text_as_a_whole_number(text: str, value: int | None) -> None:
    sql = bound(f"SELECT MAX(CAST(concat({text}, '') AS INT)) AS m FROM bid GROUP BY TUMBLE '1 minute'").aggregates[0].args[0].sql
    assert run(f"SELECT {sql}") == [(value,)]


def test_a_long_list_takes_time_in_proportion() -> None:
    def seconds(values: int) -> float:
        started = process_time()
        bound(f"SELECT COUNT(*) AS c FROM bid WHERE price IN ({', '.join(f'{i}.5' for i in range(values))}) GROUP BY TUMBLE '1 minute'")
        return process_time() - started

    seconds(10)
    assert seconds(1_600) < 40 * seconds(100), "sixteen times as many values"


def test_the_documentation_lists_every_function() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "sql.md").read_text()
    assert [f for f in FUNCTIONS if f"`{f}`" not in page and f not in TYPES] == []
    assert [a for a in set(AGGREGATES.values()) - {"COUNT_ROWS", "COUNT_DISTINCT"} if a not in page] == []
