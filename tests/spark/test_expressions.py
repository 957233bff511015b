"""Every documented function and operator gives what Spark itself gives, but for the differences that docs/sql.md lists."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator
from decimal import Decimal
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from thalweg.engine.kernel.connection import connection
from thalweg.errors import SqlError
from thalweg.expr.nodes import Expr
from thalweg.model.stream import Column, Stream
from thalweg.sql.binder import bind
from thalweg.sql.functions import FUNCTIONS
from thalweg.sql.statements import parse_select

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit" / "sql"))
from sql_support import infer

VALUES = {
    "ok": ("BOOLEAN", "true", "false", "true", "NULL"),
    "tiny": ("TINYINT", "-128", "127", "0", "NULL"),
    "i": ("INT", "-2147483648", "2147483647", "7", "-3"),
    "b": ("BIGINT", "-9223372036854775808", "1700000000", "-7", "0"),
    "x": ("DOUBLE", "'Infinity'", "-2.5", "'NaN'", "0"),
    "d": ("DECIMAL(10,2)", "99999999.99", "-2.50", "0.05", "NULL"),
    "t": ("STRING", "'Hello wörld'", "' 12.7 '", "'1e3'", "''"),
    "u": ("STRING", "'l'", "'2024-02-29'", "'(['", "NULL"),
    "day": ("DATE", "'2024-01-31'", "'1969-12-31'", "'2000-02-29'", "NULL"),
    "at": (
        "TIMESTAMP",
        "'2024-02-29 23:59:59.999999'",
        "'1969-12-31 23:59:59.9995'",
        "'2024-01-31 10:20:30.25'",
        "NULL",
    ),
}
DUCK = {"INT": "INTEGER", "STRING": "VARCHAR"}
STREAM = Stream("s", tuple(Column(n, DUCK.get(v[0], v[0])) for n, v in VALUES.items()), time="at")
UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
OPERATORS = (
    "{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} % {}", "{} DIV {}", "{} & {}", "{} | {}", "{} ^ {}", "{} || {}", "{} < {}", "{} = {}",
    "{} <=> {}", "{} LIKE {}", "{} BETWEEN {} AND {}", "{} IN ({}, {})", "IF({} > {}, {}, 0)", "CASE {} WHEN {} THEN 1 ELSE 2 END",
    "{} + INTERVAL 1 MONTH", "{} - INTERVAL 90 MINUTES", "-{}", "~{}", "EXTRACT(SECOND FROM {})", "EXTRACT(WEEK FROM {})",
    "SUBSTRING({}, {}, {})", "SUBSTRING({}, {})", "TRIM(BOTH {} FROM {})", "POSITION({} IN {})", "NOT {}", "{} AND {}", "{} IS NULL",
    *(f"CAST({{}} AS {t})" for t in ("INT", "TINYINT", "BIGINT", "DOUBLE", "DECIMAL(5,2)", "STRING", "DATE", "TIMESTAMP", "BOOLEAN")),
)  # fmt: skip
CONSTANTS = ("2", "-1", "1.5", "'l'", "'yyyy-MM-dd'")


def expressions() -> Iterator[list[str]]:
    """For each operator and function, its uses over the columns."""
    for operator in OPERATORS:
        yield [
            operator.format(*given, given[0])
            for given in product(VALUES, repeat=min(3, operator.count("{}")))
        ]
    for function, arities in FUNCTIONS.items():
        for arity in (n or 2 for n in arities):
            yield [
                f"{function}({', '.join(given)})" for given in product((*VALUES, *CONSTANTS), repeat=arity)
            ]
    for function in ("DATE_TRUNC", "DATE_PART"):
        yield [f"{function}('{unit}', {c})" for unit, c in product(UNITS, ("at", "day"))]
    for function in ("TIMESTAMPDIFF", "TIMESTAMPADD"):
        yield [
            f"{function}({unit}, {a}, {b})"
            for unit, a, b in product(UNITS, ("at", "day", "i"), ("at", "day"))
        ]


def bound(expression: str) -> Expr | None:
    try:
        select = parse_select(f"SELECT MIN({expression}) AS m FROM s GROUP BY TUMBLE '1 minute'")
        return bind(select, name="q", into=None, streams={"s": STREAM}, infer=infer).calls[0].args[0]
    except SqlError:
        return None


def drawn(most: int = 3, tries: int = 12) -> list[tuple[str, Expr]]:
    """Some uses of each, those that can be bound."""
    found = []
    for every in expressions():
        sample = Random(11).sample(every, min(tries, len(every)))
        found += [(e, tree) for e in sample if (tree := bound(e)) is not None][:most]
    return found


def ours(trees: list[Expr]) -> list[tuple[Any, ...]]:
    def row(n: int) -> str:
        return "SELECT " + ", ".join(
            f'CAST({v[1 + n]} AS {DUCK.get(v[0], v[0])}) AS "{c}"' for c, v in VALUES.items()
        )

    rows = " UNION ALL ".join(f"SELECT {n} AS __n, * FROM ({row(n)})" for n in range(4))
    texts = ", ".join(
        f"{_plain(t.sql, t.type, 'epoch_us({})', '{} - DATE {}')} AS e{i}" for i, t in enumerate(trees)
    )
    return list(
        zip(*connection().execute(f"SELECT {texts} FROM ({rows}) ORDER BY __n").fetchall(), strict=True)
    )


def spark_s(spark: Any, pairs: list[tuple[str, Expr]]) -> list[tuple[Any, ...] | None]:
    """What Spark gives for each; halves are tried where it refuses the whole."""
    texts = ", ".join(
        f"{_plain(e, t.type, 'unix_micros(CAST({} AS TIMESTAMP))', 'datediff({}, DATE {})')} AS e{i}"
        for i, (e, t) in enumerate(pairs)
    )
    try:
        return list(zip(*spark.sql(f"SELECT {texts} FROM t ORDER BY __n").collect(), strict=True))
    except Exception:
        if len(pairs) == 1:
            return [None]
        half = len(pairs) // 2
        return spark_s(spark, pairs[:half]) + spark_s(spark, pairs[half:])


def _plain(text: str, type_: str, time: str, date: str) -> str:
    """Times as microseconds and dates as days, so that both sides give the same Python values."""
    if type_ == "TIMESTAMP":
        return time.format(f"({text})")
    return date.format(f"({text})", "'1970-01-01'") if type_ == "DATE" else text


def alike(one: Any, other: Any) -> bool:
    if hasattr(other, "asDict"):
        its = other.asDict()
        return one.keys() == its.keys() and all(alike(v, its[k]) for k, v in one.items())
    if (
        not isinstance(one, int | float | Decimal)
        or not isinstance(other, int | float | Decimal)
        or bool in (type(one), type(other))
    ):
        return bool(one == other)
    exact = isinstance(one, Decimal) or isinstance(other, Decimal)
    a, b = float(one), float(other)
    return (
        a == b
        or (math.isnan(a) and math.isnan(b))
        or math.isclose(a, b, rel_tol=1e-5 if exact else 1e-9, abs_tol=1e-9)
    )


def differences(spark: Any) -> list[str]:
    rows = [", ".join(f"CAST({v[1 + n]} AS {v[0]}) AS {c}" for c, v in VALUES.items()) for n in range(4)]
    spark.sql(
        " UNION ALL ".join(f"SELECT {n} AS __n, {r}" for n, r in enumerate(rows))
    ).createOrReplaceTempView("t")
    pairs = drawn()
    assert len(pairs) > 300
    found = []
    for at in range(0, len(pairs), 100):
        part = pairs[at : at + 100]
        for (text, tree), mine, its in zip(
            part, ours([t for _, t in part]), spark_s(spark, part), strict=True
        ):
            wrong = [n for n in range(4) if its is not None and not alike(mine[n], its[n])]
            wrong = [n for n in wrong if mine[n] is not None or not refused(spark, text, n)]
            found += [
                f"{text} [{tree.type}] row {n}: {mine[n]!r}, Spark {its[n]!r}"
                for n in wrong[:1]
                if its is not None
            ]
    return found


def refused(spark: Any, text: str, row: int) -> bool:
    """Whether Spark, asked to be strict, has no value for a row: a sum that is too large, a cast that loses digits."""
    spark.conf.set("spark.sql.ansi.enabled", "true")
    try:
        spark.sql(f"SELECT {text} AS e FROM t WHERE __n = {row}").collect()
    except Exception:
        return True
    finally:
        spark.conf.set("spark.sql.ansi.enabled", "false")
    return False


# What docs/sql.md says is otherwise than in Spark.
KNOWN = re.compile(
    r".*inf'.*Infinity'|day - day |FROM_UNIXTIME\(b\) .* None|PMOD\(d, .*Spark None|.*\[(TIMESTAMP|DATE)\].* None, Spark -"
)


def test_expressions_are_spark_s(spark: Any) -> None:
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        found = [d for d in differences(spark) if not KNOWN.match(d)]
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)
    assert found == [], "\n".join(found)
