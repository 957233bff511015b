"""COUNT(DISTINCT a, b): rows that have all of them, each combination once, whatever their types."""

import pytest
from sql_support import ENGINE, bound, failure

ROWS = """SELECT * FROM (VALUES
  ('a', 'bc', 1, 0.0::DOUBLE, true), ('ab', 'c', 1, -0.0::DOUBLE, true), ('a', 'bc', 1, 0.5::DOUBLE, false),
  ('a', NULL, 1, 0.5::DOUBLE, NULL),
  (NULL, 'bc', 2, 'nan'::DOUBLE, true), ('', '1:', 2, 'nan'::DOUBLE, true), ('1:', '', 2, NULL, true), ('1', ':', -1, 1e300::DOUBLE, false),
  ('11:', ':', 11, 1e-7::DOUBLE, false), ('é', 'a', 11, 1e-7::DOUBLE, false), ('a', 'é', 11, 2.0::DOUBLE, true)
) AS t(channel, url, price, x, ok)"""


@pytest.mark.parametrize(
    "columns", ["channel, url", "url, channel, price", "price, x", "x, ok, channel", "price, ok"]
)
def test_combinations_are_counted_once(columns: str) -> None:
    query = bound(f"SELECT COUNT(DISTINCT {columns}) AS n FROM bid GROUP BY TUMBLE '1 minute'")
    (value,) = query.calls[0].args
    present = " AND ".join(f"{c} IS NOT NULL" for c in columns.split(", "))
    expected = ENGINE.execute(
        f"SELECT count(*) FROM (SELECT DISTINCT {columns} FROM ({ROWS}) WHERE {present})"
    ).fetchall()
    assert ENGINE.execute(f"SELECT count(DISTINCT {value.sql}) FROM ({ROWS})").fetchall() == expected
    assert query.outputs[0].type == "BIGINT" and expected[0][0] > 3


def test_what_is_refused() -> None:
    assert (
        failure("SELECT COUNT(channel, url) AS n FROM bid GROUP BY TUMBLE '1 minute'").message
        == "COUNT takes 1 argument, not 2"
    )
    assert (
        failure("SELECT SUM(DISTINCT price, n) AS n FROM bid GROUP BY TUMBLE '1 minute'").hint
        == "COUNT and ARRAY_AGG take DISTINCT"
    )
