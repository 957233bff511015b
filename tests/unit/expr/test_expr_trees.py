"""Trees: types as DuckDB gives them, normal form, size of what is written, and plans that hold them."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path
from random import Random
from time import process_time

import pytest

from thalweg.engine.kernel.connection import connection
from thalweg.engine.kernel.inference import infer_type
from thalweg.errors import SqlError
from thalweg.expr.nodes import Column, Expr
from thalweg.plan.codec import dumps, loads

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "sql"))
from sql_support import TYPES, argument, bound, joined, meaning

TEXTS = (
    "{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} % {}", "{} div {}", "{} & {}", "-{}", "{} || {}", "coalesce({}, {})",
    "greatest({}, {})",
    "if(ok, {}, {})", "case {} when {} then 1 else 2.5 end", "{} < {}", "{} IN ({}, 3)", "nullif({}, {})", "pmod({}, {})", "round({}, 2)",
    "abs({})", "ceil({})", "floor({})", "lower({})", "substring({}, 2)", "date_add({}, 3)", "date_trunc('hour', {})", "year({})",
    "sqrt({})",
    "nvl2({}, {}, 0)", "cast({} as string)", "{} + interval 1 hour", "timestampdiff(HOUR, {}, {})", "ln({})",
)  # fmt: skip
OPERANDS = (
    "price", "n", "tiny", "small", "x", "cost", "channel", "day", "at", "ok",
    "1", "100", "200", "30000", "70000", "-5", "3000000000", "1.5", "0.25", "1e3", "10L", "'a'", "'2024-01-01'", "null",
)  # fmt: skip


def tree(text: str) -> Expr | None:
    try:
        return bound(f"SELECT MIN({text}) FROM bid GROUP BY TUMBLE '1 minute'").calls[0].args[0]
    except SqlError:
        return None


@pytest.mark.parametrize("text", TEXTS)
def test_types_are_the_engine_s(text: str) -> None:
    every = [text.format(*given) for given in product(OPERANDS, repeat=text.count("{}"))]
    drawn = Random(5).sample(every, min(70, len(every)))
    found = [(t, e) for t in drawn if (e := tree(t)) is not None]
    assert found, "nothing could be bound"
    wrong = [(t, e.type, asked) for t, e in found if (asked := infer_type(e.sql, TYPES)) != e.type]
    assert wrong == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("price + n", "n + price"),
        ("x * 2", "2 * x"),
        ("price > 3 AND ok", "ok AND 3 < price AND TRUE"),
        ("NOT (price <= 3 OR FALSE)", "price > 3"),
        ("price BETWEEN 1 AND 5", "price <= 5 AND price >= 1"),
        ("price IN (3, 1, 3)", "price IN (1, 3)"),
        ("nvl(price, 0)", "coalesce(price, 0)"),
        ("price + (2 + 3)", "price + 5"),
        ("concat(channel, url, 'x')", "channel || url || 'x'"),
        ("price = n", "n = price"),
        ("price > n", "n < price"),
        ("isnull(price)", "price IS NULL"),
        ("at > '2024-01-01'", "at > TIMESTAMP '2024-01-01'"),
        ("lcase(channel)", "lower(channel)"),
        ("channel RLIKE 'a'", "regexp_like(channel, 'a')"),
        ("10L", "CAST(10 AS BIGINT)"),
    ],
)
def test_equal_meaning_is_an_equal_tree(one: str, other: str) -> None:
    assert tree(one) is not None and (tree(one) == tree(other) or str(tree(one)) == str(tree(other)))


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ("nullif({}, 3)", 20),
        ("nullif({}, 2.5)", 20),
        ("pmod({}, 7)", 20),
        ("substring('abcdef', length(cast({} as string)), 3)::int", 12),
        ("10 / {}", 20),
        ("case {} when 1 then 2 when 2 then 3 end", 12),
        ("left(cast({} as string), n)::int", 12),
        ("cast(cast({} as timestamp) as bigint)", 12),
        ("log(2, {})", 12),
        ("if({} between 1 and 5, 1, 2)", 12),
        ("if({} not between 1 and 2.5, 1, 2)", 12),
    ],
)
def test_nested_calls_stay_short(text: str, depth: int) -> None:
    nested = "price"
    for _ in range(depth):
        nested = text.format(nested)
    started = process_time()
    sql, type_ = argument(nested)
    assert len(sql) < 2_000 * depth
    connection().execute(f"SELECT {sql} FROM (SELECT 4::BIGINT AS price, 2::INTEGER AS n)").fetchall()
    assert process_time() - started < 5
    assert type_


def test_plans_hold_trees() -> None:
    windowed = bound(
        "SELECT channel, SUM(CASE WHEN price > 3 THEN n ELSE 0.5 END) AS s, date_trunc('hour', window_end) AS h FROM bid "
        "WHERE channel LIKE 'a!%' ESCAPE '!' AND x IS NOT NULL GROUP BY channel, TUMBLE '1 minute' HAVING COUNT(*) > 3"
    )
    rows = joined(
        "SELECT b.price + a.start AS s FROM bid b [RANGE 1 HOUR] JOIN auction a [RANGE 1 HOUR] ON b.auction = a.id AND b.n < a.seller"
    )
    for query in (windowed, rows):
        assert loads(dumps(query)) == query
        assert dumps(loads(dumps(query))) == dumps(query)


def test_columns_and_names() -> None:
    found = tree("CASE WHEN price > n THEN lower(channel) ELSE 'price' END")
    assert found is not None and found.columns == {"price", "n", "channel"}
    renamed = found.renamed(lambda name: f"b.{name}")
    assert renamed.columns == {"b.price", "b.n", "b.channel"} and renamed.type == found.type
    assert found.substituted({"n": Column("k0", "BIGINT")}).columns == {"price", "k0", "channel"}


def test_meaning_is_independent_of_how_it_is_written() -> None:
    tail = "FROM bid WHERE {} GROUP BY auction, TUMBLE '1 minute'"
    one = meaning("SELECT auction, SUM(price * 2) AS s " + tail.format("price > 3 AND n <> 5"))
    other = meaning("SELECT auction, SUM(2 * price) AS s " + tail.format("NOT n = 5 AND 3 < price"))
    assert one == other
