"""Joins of streams of which none has a window: of all their rows, as if each had `[UNBOUNDED]`."""
# ruff: noqa: E501

import pytest
from sql_support import join_failure, joined

from thalweg.explain.endless import endless_text
from thalweg.model.query import RANGE

SAME = [
    ("SELECT b.price, a.seller FROM bid b JOIN auction a ON b.auction = a.id WHERE a.at < b.at",
     "SELECT b.price, a.seller FROM bid b [UNBOUNDED] JOIN auction a [UNBOUNDED] ON b.auction = a.id WHERE a.at < b.at"),
    ("SELECT a.seller, MAX(b.price) AS high FROM bid b, auction a, person p WHERE b.auction = a.id AND p.id = a.seller GROUP BY a.seller EVERY 5 SECONDS",
     "SELECT a.seller, MAX(b.price) AS high FROM bid b [UNBOUNDED], auction a [UNBOUNDED], person p WHERE b.auction = a.id AND p.id = a.seller GROUP BY a.seller EVERY 5 SECONDS EMIT CHANGES"),
    ("SELECT COUNT(*) AS n FROM bid b JOIN auction a ON b.auction = a.id EMIT FINAL",
     "SELECT COUNT(*) AS n FROM bid b [UNBOUNDED] JOIN auction a [UNBOUNDED] ON b.auction = a.id"),
    ("SELECT DISTINCT a.seller FROM bid b JOIN auction a ON b.auction = a.id EMIT EVERY 2 SECONDS",
     "SELECT a.seller FROM bid b [UNBOUNDED] JOIN auction a [UNBOUNDED] ON b.auction = a.id GROUP BY a.seller EVERY 2 SECONDS EMIT CHANGES"),
    ("SELECT a.id, b.price FROM bid b JOIN auction a ON b.auction = a.id QUALIFY ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC) <= 2",
     "SELECT a.id, b.price FROM bid b [UNBOUNDED] JOIN auction a [UNBOUNDED] ON b.auction = a.id QUALIFY ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC) <= 2 EMIT CHANGES"),
    ("SELECT b.price, b.at, a.at FROM bid b JOIN auction a ON b.auction = a.id",
     "SELECT b.price, b.at, a.at AS a_at FROM bid b [UNBOUNDED] JOIN auction a [UNBOUNDED] ON b.auction = a.id"),
    ("SELECT b.price, p.name FROM bid b JOIN person FOR SYSTEM_TIME AS OF b.at AS p ON b.auction = p.id",
     "SELECT b.price, p.name FROM bid b JOIN person AS p ON b.auction = p.id"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "meant"), SAME, ids=[s[0] for s in SAME])
def test_what_is_meant(written: str, meant: str) -> None:
    assert joined(written).meaning == joined(meant).meaning


def test_times_that_are_bounded_are_a_window() -> None:
    query = joined(
        "SELECT b.price FROM bid b JOIN auction a ON b.auction = a.id AND b.at BETWEEN a.at AND a.at + INTERVAL 1 HOUR"
    )
    assert [i.kind for i in query.inputs] == [RANGE, RANGE] and not endless_text(query)


def test_the_end_of_an_inner_window_bounds_times() -> None:
    hourly = "(SELECT MAX(price) AS top, window_end AS e FROM bid GROUP BY TUMBLE '1 hour')"
    query = joined(
        f"SELECT b.price FROM bid b JOIN {hourly} x ON b.price = x.top WHERE b.at BETWEEN x.e - INTERVAL 1 HOUR AND x.e"
    )
    bids, tops = (i.length or 0 for i in query.inputs)
    assert [i.kind for i in query.inputs] == [RANGE, RANGE]
    assert 3_600_000_000 <= bids < 4_000_000_000 and 0 < tops < 300_000_000


def test_what_is_kept_for_ever_is_said() -> None:
    query = joined("SELECT b.price FROM bid b JOIN auction a ON b.auction = a.id")
    assert endless_text(query).startswith("rows of bid and auction are kept for ever")
    groups = joined("SELECT auction, COUNT(*) AS n FROM bid GROUP BY auction")
    assert (
        endless_text(groups) == "a row for each group is kept for ever: WITH (ttl = '1 day') would bound that"
    )
    over = joined(
        "SELECT n, COUNT(*) AS c FROM (SELECT auction, COUNT(*) AS n FROM bid GROUP BY auction) GROUP BY n"
    )
    assert endless_text(over) == "a row for each group is kept for ever"
    told = joined("SELECT auction, COUNT(*) AS n FROM bid GROUP BY auction, TUMBLE '1 hour' EMIT CHANGES")
    assert not endless_text(told)


def test_windows_over_rows_with_what_tables_have() -> None:
    rows = "FROM bid b JOIN person p ON b.auction = p.id WHERE price > 3"
    inner = f"SELECT b.at AS row_time, p.name AS p_name, price, b.at AS b_at {rows}"
    asked = f"SELECT p.name, price + 1 AS more, COUNT(*) AS n {rows} GROUP BY p.name, more, window(b.at, '9 seconds')"
    same = f"SELECT p_name AS name, price + 1 AS more, COUNT(*) AS n FROM ({inner}) GROUP BY p_name, more, TUMBLE '9 seconds'"
    assert joined(asked).meaning == joined(same).meaning
    assert joined(asked).windows and joined(asked).nested[0].passes


def test_what_is_wrong_in_them_is_said_at_its_place() -> None:
    rows = "FROM bid b JOIN person p ON b.auction = p.id"
    assert (
        join_failure(f"SELECT p.nam, COUNT(*) AS n {rows} GROUP BY p.nam, TUMBLE '1 hour'").message
        == "unknown column p.nam"
    )
    error = join_failure(f"SELECT COUNT(*) AS n {rows} GROUP BY window(b.price, '1 hour')")
    assert "is not the event time" in error.message
