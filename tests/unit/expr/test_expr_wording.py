"""Expressions for people: what is written says the tree again, and nothing of how the engine computes it."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path
from random import Random

import pytest

from thalweg.expr.nodes import Expr
from thalweg.expr.wording import worded

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "sql"))
from sql_support import bound

CONDITIONS = (
    "{} > 3",
    "{} IN (1, 2)",
    "{} IS NULL",
    "{} NOT IN (3, 4)",
    "NOT ({} BETWEEN 1 AND 5)",
    "{} <=> n",
)
NUMBERS = (
    "price",
    "n + 1",
    "-n",
    "(price - 1) * (n - 2)",
    "price - (n - 1)",
    "price div 2",
    "10L",
    "abs(n) % 3",
    "n & 3",
    "-5",
)
TEXTS = (
    "channel LIKE 'a%'", "channel NOT LIKE '%!%%' ESCAPE '!'", "url RLIKE 'a+'", "channel || 'it\\'s' = url",
    "trim(LEADING 'x' FROM url) = ''",
)  # fmt: skip


def tree(text: str) -> Expr:
    """The tree of an expression over the rows of `bid`."""
    return bound(f"SELECT MIN({text}) FROM bid GROUP BY TUMBLE '1 minute'").calls[0].args[0]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("PRICE + 1", "price + 1"),
        ("price + 1 - n * 2", "price + 1 - n * 2"),
        ("bidder / 2", "Bidder / 2"),
        ("cast(x AS bigint)", "CAST(x AS BIGINT)"),
        ("string(n)", "CAST(n AS STRING)"),
        ("pmod(n, 7)", "pmod(n, 7)"),
        ("nvl(price, 0)", "coalesce(price, 0)"),
        ("date_trunc('HOUR', at)", "date_trunc('hour', at)"),
        ("timestampdiff(SECONDS, day, at)", "timestampdiff(SECOND, CAST(day AS TIMESTAMP), at)"),
        ("at > '2024-01-01'", "at > TIMESTAMP '2024-01-01'"),
        ("if(ok, 1, 2)", "CASE WHEN ok THEN 1 ELSE 2 END"),
        ("channel = 'TRY(\"a\")'", "channel = 'TRY(\"a\")'"),
        ("channel = 'a\\nb'", "channel = 'a\\nb'"),
        ("price NOT IN (3, 1)", "price NOT IN (1, 3)"),
        ("ok OR price > 1 AND n < 2", "ok OR (n < 2 AND price > 1)"),
        ("NOT (price BETWEEN 1 AND 5)", "NOT (price <= 5 AND price >= 1)"),
    ],
)
def test_what_is_shown(text: str, shown: str) -> None:
    assert worded(tree(text)) == shown


@pytest.mark.parametrize("text", TEXTS)
def test_texts_say_the_tree_again(text: str) -> None:
    assert tree(worded(tree(text))) == tree(text)


def test_conditions_say_the_tree_again() -> None:
    atoms = [c.format(n) for c, n in product(CONDITIONS, NUMBERS)] + ["ok", "NOT ok", *TEXTS]
    drawn = Random(3)
    for _ in range(300):
        one, two, three = (drawn.choice(atoms) for _ in range(3))
        text = drawn.choice(
            ["{} AND {} OR {}", "{} AND ({} OR {})", "NOT ({} OR {}) AND {}", "if({}, {}, {})"]
        ).format(one, two, three)
        assert tree(worded(tree(text))) == tree(text), text
