"""One condition contains another: never said where DuckDB finds a row that tells them apart."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg.expr.implication import implies
from thalweg.expr.nodes import Call, Column, Expr, Literal
from thalweg.expr.normal import all_of, compared, negated, one_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "sql"))
from sql_support import bound

ENGINE = duckdb.connect(config={"threads": 1})
COLUMNS = {
    "v": ("BIGINT", ["0", "1", "2", "3", "-1"], [("INTEGER", "1"), ("INTEGER", "2"), ("DECIMAL(2,1)", "1.5"), ("DECIMAL(2,1)", "2.0")]),
    "w": ("DOUBLE", ["0", "1", "1.5", "2", "'nan'", "'inf'", "'-inf'", "0.1"], [
        ("INTEGER", "1"), ("INTEGER", "2"), ("DECIMAL(2,1)", "0.1"), ("DECIMAL(20,19)", "0.1000000000000000001"), ("DOUBLE", "1e0")]),
    "d": ("DECIMAL(5,2)", ["0", "1", "1.5", "1.49", "-1"], [("INTEGER", "1"), ("DECIMAL(2,1)", "1.5"), ("DECIMAL(4,3)", "1.495")]),
    "c": ("VARCHAR", ["''", "'a'", "'b'", "'ä'", "'B'", "'aa'"], [("VARCHAR", "a"), ("VARCHAR", "b"), ("VARCHAR", "B"), ("VARCHAR", "ä")]),
    "at": ("TIMESTAMP", ["'2024-01-01'", "'2024-01-01 10:00:00'", "'2023-05-05'"], [
        ("TIMESTAMP", "2024-01-01"), ("TIMESTAMP", "2024-01-01 10:00"), ("TIMESTAMP", "2024-01-01T00:00:00")]),
}  # fmt: skip
OPERATORS = ("=", "<>", "<", "<=", ">", ">=")
ENGINE.execute(
    "CREATE TABLE rows AS SELECT * FROM "
    + ", ".join(
        f"(SELECT unnest([{', '.join(f'CAST({v} AS {type_})' for v in (*values, 'NULL'))}]) AS {name})"
        for name, (type_, values, _) in COLUMNS.items()
    )
    + " WHERE true"
)


@st.composite
def atoms(draw: st.DrawFn) -> Expr:
    name = draw(st.sampled_from(sorted(COLUMNS)))
    type_, _, constants = COLUMNS[name]
    column = Column(name, type_)
    literals = [Literal(text, kind) for kind, text in constants]
    kind = draw(st.sampled_from(("compare", "compare", "compare", "in", "not in", "null", "not null")))
    if kind == "compare":
        return compared(draw(st.sampled_from(OPERATORS)), column, draw(st.sampled_from(literals)))
    if kind.endswith("in"):
        found = one_of(column, draw(st.lists(st.sampled_from(literals), min_size=1, max_size=3)))
        return negated(found) if kind == "not in" else found
    return Call("IS NULL" if kind == "null" else "IS NOT NULL", (column,), "BOOLEAN")


conditions = st.lists(atoms(), min_size=1, max_size=3).map(all_of)


@settings(max_examples=400)
@given(conditions, conditions)
def test_what_is_implied_holds(one: Expr, other: Expr) -> None:
    if implies(one, other):
        found = ENGINE.execute(
            f"SELECT * FROM rows WHERE ({one.sql}) AND ({other.sql}) IS NOT TRUE LIMIT 1"
        ).fetchall()
        assert found == [], f"{one.sql} does not imply {other.sql}"


def condition(text: str) -> Expr:
    return all_of(bound(f"SELECT COUNT(*) AS n FROM bid WHERE {text} GROUP BY TUMBLE '1 minute'").where)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("price > 5", "price > 3", True),
        ("price > 3", "price > 5", False),
        ("price BETWEEN 4 AND 6", "price >= 4", True),
        ("price BETWEEN 4 AND 6 AND channel = 'a'", "price > 3 AND price < 7", True),
        ("price IN (1, 2)", "price IN (1, 2, 3)", True),
        ("price IN (1, 2, 3)", "price IN (1, 2)", False),
        ("price = 5", "price BETWEEN 1 AND 9", True),
        ("price = 5", "price <> 6", True),
        ("price >= 5 AND price <> 5", "price > 5", True),
        ("price > 5", "price IS NOT NULL", True),
        ("price <> 5", "price IS NOT NULL", True),
        ("price IS NULL", "price > 5", False),
        ("price > 5", "price <> 5", True),
        ("x > 5", "x > 3", True),
        ("x > 5.5", "x >= 5.500000000000000001", False),
        ("x <= 5", "x < 6", True),
        ("channel = 'web'", "channel IN ('web', 'app')", True),
        ("channel > 'b'", "channel > 'a'", True),
        ("at >= '2024-01-02'", "at > TIMESTAMP '2024-01-01 10:00:00'", True),
        ("day > DATE '2024-01-02'", "day > DATE '2024-01-01'", True),
        ("lower(channel) = 'a' AND price > 3", "lower(channel) IS NOT NULL AND 3 < price", True),
        ("ok AND price > 3", "ok", True),
        ("price = 1 OR price = 2", "price < 5", True),
        ("price > 5", "n > 5", False),
        ("price > 5", "price > 7 OR price > 4", True),
        ("cost > 1.50", "cost > 1.5", True),
    ],
)
def test_containment(one: str, other: str, expected: bool) -> None:
    assert implies(condition(one), condition(other)) is expected
