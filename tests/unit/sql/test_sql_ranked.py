"""ROW_NUMBER, RANK and DENSE_RANK: what is bound of each way to write them, and what is refused."""

from __future__ import annotations

import pytest
from sql_support import bound, failure

T = "TABLE(TUMBLE(TABLE bid, DESCRIPTOR(at), INTERVAL '10' SECOND))"
OVER = "ROW_NUMBER() OVER (PARTITION BY window_start, window_end, auction ORDER BY price DESC)"


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT price, at FROM (SELECT *, {OVER} AS rn FROM {T}) WHERE rn <= 3",
        f"SELECT price, at FROM (SELECT *, {OVER} AS rn FROM {T}) WHERE 4 > rn",
        f"WITH a AS (SELECT at, price, {OVER} AS rn FROM {T}) SELECT price, at FROM a WHERE rn BETWEEN 1 AND 3",
        f"SELECT price, at FROM {T} QUALIFY {OVER} <= 3",
        "SELECT price, at FROM bid QUALIFY ROW_NUMBER() OVER (PARTITION BY auction, window(at, '10 seconds') ORDER BY price DESC) <= 3",
    ],
)
def test_all_ways_to_write_it_keep_the_same(text: str) -> None:
    query = bound(text)
    assert query.unnested and query.calls == bound(f"SELECT price, at FROM {T} QUALIFY {OVER} <= 3").calls
    assert query.calls[0].params == ("ROW_NUMBER", "3", "DESC NULLS LAST")
    assert [a.sql for a in query.calls[0].args] == ['"price"', '"price"', '"at"']
    assert [k.sql for k in query.keys] == ['"auction"'] and len(query.windows) == 1


def test_conditions_on_ranked_rows_come_after_ranking() -> None:
    query = bound(
        f"SELECT price FROM (SELECT *, {OVER} AS rn FROM {T} WHERE ok) WHERE rn <= 3 AND channel = 'a'"
    )
    assert [c.sql for c in query.where] == ['"ok"']
    assert query.having is not None and query.having.columns == {"r1"}
    assert [a.sql for a in query.calls[0].args[1:]] == ['"price"', '"channel"']


def test_null_come_where_spark_has_them() -> None:
    over = "ORDER BY price, n DESC, x ASC NULLS LAST, small DESC NULLS FIRST"
    query = bound(f"SELECT price FROM {T} QUALIFY RANK() OVER (PARTITION BY window_end {over}) = 2")
    orders = ("ASC NULLS FIRST", "DESC NULLS LAST", "ASC NULLS LAST", "DESC NULLS FIRST")
    assert query.calls[0].params == ("RANK", "2", *orders)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (f"SELECT price, {OVER} AS rn FROM {T}", "ROW_NUMBER has no bound", "ROW_NUMBER <= 10"),
        (f"SELECT price FROM {T} QUALIFY {OVER} <= 0", "no row has ROW_NUMBER 0", "add a condition"),
        (f"SELECT price FROM {T} QUALIFY {OVER} <= 20000", "the greatest rank is 10,000", "smaller number"),
        (f"SELECT price FROM {T} QUALIFY RANK() OVER (PARTITION BY window_end) <= 2", "RANK needs an order", "ORDER BY"),
        (f"SELECT price FROM {T} QUALIFY NTILE(2) OVER (ORDER BY price) <= 2", "NTILE(2) OVER is not supported", "DENSE_RANK"),
        (f"SELECT {OVER} AS a, RANK() OVER (ORDER BY at) AS b FROM {T} QUALIFY a < 3", "a second call with OVER is not supported", "each"),
        (f"SELECT price, {OVER} AS Price FROM {T} QUALIFY {OVER} < 3", "two results are named Price", "AS"),
    ],
)  # fmt: skip
def test_refused(text: str, message: str, hint: str) -> None:
    error = failure(text)
    assert message in str(error) and hint in str(error.hint)


def test_without_a_window_changes_are_told_each_minute() -> None:
    query = bound(
        "SELECT price FROM bid QUALIFY ROW_NUMBER() OVER (PARTITION BY auction ORDER BY at DESC) = 1"
    )
    assert query.changes and query.retracts and query.every == 60_000_000 and query.having is None
    assert [i.kind for i in query.inputs] == ["unbounded"]
    assert [o.name for o in query.outputs] == ["price", "window_end", "deleted"]


@pytest.mark.parametrize("order", ["at", "at ASC NULLS LAST, price"])
def test_rows_first_by_time_are_told_once(order: str) -> None:
    query = bound(f"SELECT price FROM bid QUALIFY RANK() OVER (PARTITION BY auction ORDER BY {order}) <= 3")
    assert query.changes and not query.retracts and [o.name for o in query.outputs] == ["price", "window_end"]
