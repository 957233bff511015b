"""Outer, semi and anti joins: where each condition belongs, what is the same in other words, and what is refused by name."""
# ruff: noqa: E501

from __future__ import annotations

from dataclasses import replace

import pytest
from sql_support import join_failure, joined, marked

from thalweg.model.attaching import held_back, kept_longer
from thalweg.model.query import ANTI, FULL, LEFT, SEMI, Query

B, A = "bid AS b [RANGE 1 HOUR]", "auction AS a [RANGE 2 HOURS]"
HOUR = 3_600_000_000


def asked(text: str) -> Query:
    return replace(joined(text), text="")


def test_conditions_belong_where_they_stand() -> None:
    query = joined(
        f"SELECT b.price, a.id FROM {B} LEFT JOIN {A} ON b.auction = a.id AND b.price > 5 AND a.seller = 1 AND a.id < b.price"
        " WHERE b.auction > 2 AND a.seller IS NULL"
    )
    (one,) = query.attached
    assert (one.input, one.kind) == (1, LEFT)
    assert [t.sql for t in one.on] == ['"a.id" < "b.price"', '"b.price" > 5']
    assert [[c.sql for c in i.where] for i in query.inputs] == [['"auction" > 2'], ['"Seller" = 1']]
    assert len(query.equalities) == 1 and not query.residue
    assert [t.sql for t in query.kept] == ['"a.Seller" IS NULL']


def test_of_a_full_join_no_condition_chooses_rows_before() -> None:
    query = joined(
        f"SELECT b.price FROM {B} FULL JOIN {A} ON b.auction = a.id AND a.seller = 1 WHERE b.price > 5"
    )
    assert query.attached[0].kind == FULL and all(not i.where for i in query.inputs)
    assert [t.sql for t in query.attached[0].on] == ['"a.Seller" = 1']
    assert [t.sql for t in query.kept] == ['"b.price" > 5']


def test_right_joins_attach_what_stands_before_them() -> None:
    query = joined(f"SELECT b.price, a.id FROM {B} RIGHT JOIN {A} ON b.auction = a.id")
    assert [(a.input, a.kind) for a in query.attached] == [(0, LEFT)]


SEMI_JOINS = [
    f"SELECT price FROM {B} LEFT SEMI JOIN {A} ON b.auction = a.id AND a.seller = 1",
    f"SELECT b.price FROM {B} SEMI JOIN {A} ON a.id = b.auction AND a.seller = 1",
    f"SELECT price FROM {B} WHERE EXISTS (SELECT 1 FROM {A} WHERE b.auction = a.id AND a.seller = 1)",
    f"SELECT b.price FROM {B} WHERE EXISTS (SELECT * FROM {A} WHERE auction = id AND seller = 1)",
    f"SELECT price FROM {B} WHERE auction IN (SELECT id FROM {A} WHERE seller = 1)",
    f"SELECT price FROM {B} WHERE (b.auction) IN (SELECT DISTINCT a.id FROM {A} WHERE a.seller = 1)",
]


@pytest.mark.parametrize("text", SEMI_JOINS)
def test_semi_joins_are_the_same_however_they_are_written(text: str) -> None:
    assert asked(text) == asked(SEMI_JOINS[0])
    assert asked(text).attached[0].kind == SEMI


def test_anti_joins_are_the_same_however_they_are_written() -> None:
    first = asked(f"SELECT price FROM {B} LEFT ANTI JOIN {A} ON b.auction = a.id")
    assert first.attached[0].kind == ANTI
    assert asked(f"SELECT price FROM {B} WHERE NOT EXISTS (SELECT 1 FROM {A} WHERE auction = id)") == first


def test_a_stream_may_ask_for_others_of_itself() -> None:
    query = joined(
        "SELECT price FROM bid [RANGE 1 HOUR] WHERE EXISTS (SELECT 1 FROM bid [RANGE 1 HOUR] WHERE price < 0)"
    )
    assert [i.alias for i in query.inputs] == ["bid", "bid_2"]
    assert [[c.sql for c in i.where] for i in query.inputs] == [[], ['"price" < 0']]


def test_columns_without_a_name_are_the_nearest() -> None:
    query = joined(f"SELECT price FROM {B} WHERE at IN (SELECT at FROM {A})")
    assert [(e.left.sql, e.right.sql) for e in query.equalities] == [('"b.at"', '"a.at"')]


def test_what_may_be_null_is_computed_after_the_join() -> None:
    query = joined(
        f"SELECT a.seller, COUNT(a.id) AS n, MAX(b.price) AS top FROM {B} LEFT JOIN {A} ON b.auction = a.id GROUP BY a.seller EVERY 1 HOUR"
    )
    assert query.keys[0].own is None and [a.input for a in query.aggregates] == [None, 0]


def test_partners_are_kept_for_rows_that_wait() -> None:
    query = joined(f"SELECT b.price FROM {B} LEFT JOIN {A} ON b.auction = a.id")
    assert [kept_longer(query, n) for n in (0, 1)] == [0, HOUR]
    assert held_back(query, 10 * HOUR) == 9 * HOUR + 1
    both = joined(f"SELECT b.price FROM {B} FULL JOIN {A} ON b.auction = a.id")
    assert [kept_longer(both, n) for n in (0, 1)] == [2 * HOUR, HOUR]
    assert held_back(both, 10 * HOUR) == 8 * HOUR + 1


U = "bid AS b [UNBOUNDED]"
BAD = [
    (f"SELECT b.price FROM {U} LEFT JOIN {A} ON b.auction = a.id", "rows of b would wait for a partner for ever, as its window has no end", "LEFT JOIN", "write [RANGE 1 HOUR] or [TUMBLE 1 HOUR] after bid"),
    (f"SELECT b.price FROM {U} WHERE NOT EXISTS (SELECT 1 FROM {A} WHERE id = auction)", "rows of b would wait for a partner for ever", "EXISTS", "write [RANGE 1 HOUR]"),
    (f"SELECT b.price FROM {B} FULL JOIN auction AS a [UNBOUNDED] ON b.auction = a.id", "rows of a would wait for a partner for ever", "FULL JOIN", "write [RANGE 1 HOUR]"),
    (f"SELECT b.price FROM {B} FULL JOIN {A} ON b.price > a.id", "FULL JOIN needs equal columns", "FULL JOIN", "write an equality"),
    ("SELECT p.name FROM person AS p LEFT JOIN bid ON p.id = bid.auction", "the rows of the table person can't come out without a partner", "LEFT JOIN", "rows of a table never stop waiting"),
    ("SELECT p.name FROM bid FULL JOIN person AS p ON p.id = bid.auction", "FULL JOIN is of two streams, without other inputs", "FULL JOIN", "write LEFT JOIN"),
    ("SELECT p.name FROM bid RIGHT JOIN person AS p ON p.id = bid.auction", "the rows of the table person can't come out", "RIGHT JOIN", "rows of a table"),
    (f"SELECT b.price FROM {B} JOIN person AS p ON p.id = b.auction RIGHT JOIN {A} ON b.auction = a.id", "RIGHT JOIN after another join is not supported", "RIGHT JOIN", "join what stands before it in a subquery"),
    (f"SELECT b.price FROM {B} LEFT JOIN {A} ON b.auction = a.id JOIN person AS p ON p.id = a.seller", "an inner join after another kind of join is not supported", "JOIN person", "write the inner joins first"),
    (f"SELECT b.price FROM {B} LEFT JOIN {A} ON b.auction = a.id LEFT JOIN bid AS c [RANGE 1 HOUR] ON c.auction = b.auction", "joined rows can wait for one other stream only", "LEFT JOIN bid", "write the first of them in a subquery"),
    (f"SELECT COUNT(*) FROM {B} LEFT JOIN {A} ON b.auction = a.id LEFT JOIN bid AS c [RANGE 1 HOUR] ON c.auction = a.id", "c is joined with a, which may have no row", "LEFT JOIN bid", "name inner inputs"),
    (f"SELECT a.id FROM {B} LEFT SEMI JOIN {A} ON b.auction = a.id", "unknown input a", "a", "a stands in EXISTS, IN, or a SEMI or ANTI JOIN"),
    (f"SELECT price FROM {B} WHERE auction NOT IN (SELECT id FROM {A})", "NOT IN over a SELECT is not supported", "auction NOT IN", "write NOT EXISTS"),
    (f"SELECT price FROM {B} WHERE price > 3 OR EXISTS (SELECT 1 FROM {A})", "EXISTS within another condition is not supported", "EXISTS", "write it as a condition of its own"),
    (f"SELECT price FROM {B} WHERE EXISTS (SELECT 1 FROM {A}, person)", "a join in EXISTS or IN is not supported", ", person", "read one stream or table there"),
    (f"SELECT price FROM {B} WHERE EXISTS (SELECT 1 FROM {A} GROUP BY id)", "GROUP is not supported", "GROUP BY id", "leave it out"),
    (f"SELECT price FROM {B} WHERE auction IN (SELECT * FROM {A})", "IN takes a SELECT of one expression", "SELECT * FROM", "name the column"),
    (f"SELECT price FROM {B} RIGHT JOIN {A} USING (at)", "USING with RIGHT JOIN is not supported", "RIGHT JOIN", "write ON"),
    (f"SELECT COUNT(*) FROM (SELECT b.price FROM {U} LEFT SEMI JOIN {A} ON b.auction = a.id) GROUP BY TUMBLE '1 hour'", "rows of what is read may wait for a partner for ever", "(SELECT", "give the stream before EXISTS"),
    ("SELECT b.price FROM bid AS b LEFT JOIN (SELECT id + 1 AS id FROM person) AS p ON p.id = b.auction", "a subquery over tables alone can't be the outer side of a join", "(SELECT", "name the table itself"),
    ("SELECT b.price FROM bid AS b LEFT JOIN auction AS a ON a.id = b.auction WHERE a.at BETWEEN b.at AND b.at + INTERVAL 1 HOUR", "stream bid has no window in this join", "bid AS b", "write [RANGE 1 HOUR]"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "mark", "hint"), BAD, ids=[b[0] for b in BAD])
def test_what_is_refused(text: str, message: str, mark: str, hint: str) -> None:
    error = join_failure(text)
    assert error.message.startswith(message) and marked(error).startswith(mark)
    assert error.hint and error.hint.startswith(hint)
