"""Every documented function and operator over the most extreme rows: a value, or NULL, but never an error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path
from random import Random

import duckdb
import pyarrow as pa
import pytest
from sql_support import infer

from thalweg.engine.kernel.connection import connection, renew
from thalweg.errors import SqlError
from thalweg.model.stream import Column, Stream
from thalweg.sql.array_values import ARRAYS
from thalweg.sql.binder import bind
from thalweg.sql.functions import FUNCTIONS as TABLED
from thalweg.sql.statements import parse_select

VALUES = {
    "ok": ("BOOLEAN", "TRUE", "FALSE"),
    "tiny": ("TINYINT", "-128", "127", "0"),
    "small": ("SMALLINT", "-32768", "32767"),
    "i": ("INTEGER", "-2147483648", "2147483647", "0", "-1"),
    "b": ("BIGINT", "-9223372036854775808", "9223372036854775807", "0", "-1", "5000000000"),
    "f": ("FLOAT", "'inf'", "'nan'", "3.4e38", "-1e-45"),
    "x": ("DOUBLE", "'inf'", "'-inf'", "'nan'", "1.7e308", "-1.7e308", "5e-324", "0", "-1"),
    "cost": ("DECIMAL(10,2)", "99999999.99", "-99999999.99", "0"),
    "huge": ("DECIMAL(38,0)", "9" * 38, "-" + "9" * 38, "0"),
    "fine": ("DECIMAL(38,20)", "9" * 18 + "." + "9" * 20, "-0." + "0" * 19 + "1"),
    "t": (
        "VARCHAR",
        "''",
        "'('",
        "'ab\\'",
        "'a\\\\'",
        "'1e3'",
        "'9999999999999999999999'",
        "'290000-01-01'",
        "'\u00e4\U0001f600%_'",
    ),
    "day": ("DATE", "'5877642-06-25 (BC)'", "'5881580-07-10'", "'1970-01-01'", "'2024-02-29'"),
    "at": (
        "TIMESTAMP",
        "'290309-12-22 (BC) 00:00:00'",
        "'294247-01-10 04:00:54.775806'",
        "'1969-12-31 23:59:59.999999'",
        "'2024-02-29'",
    ),
    "json": (
        "VARCHAR",
        '\'{"a": 1e999, "b": [null, {}], "": {}}\'',
        "'[1e400]'",
        '\'{"a": "x\'',
        "'null'",
        '\'{"a": 1, "a": [2]}\'',
    ),
}
HOLDING = {
    "numbers": ("BIGINT[]", "[]", "[NULL]", "[9223372036854775807, NULL, -1]"),
    "reals": ("DOUBLE[]", "['nan', 'inf', NULL]", "[-1.7e308]", "[]"),
    "texts": ("VARCHAR[]", "['', NULL, '(']", "[]"),
    "lists": ("BIGINT[][]", "[[], NULL, [NULL]]", "[]"),
    "entries": ("MAP(VARCHAR, BIGINT)", "MAP {}", "MAP {'': NULL, 'a': -1}"),
    "pair": ('STRUCT("n" BIGINT, "t" VARCHAR)', "{'n': NULL, 't': ''}", "{'n': -1, 't': NULL}"),
}
"""Columns that hold others, for the functions that take them."""
TYPED = VALUES | HOLDING
STREAM = Stream("s", tuple(Column(n, v[0]) for n, v in TYPED.items()), time="at")


def row(number: int) -> str:
    """The n-th values of all columns; all NULL in row 0."""
    picked = {n: v[1 + number % (len(v) - 1)] if number else "NULL" for n, v in TYPED.items()}
    return "SELECT " + ", ".join(f'CAST({value} AS {TYPED[n][0]}) AS "{n}"' for n, value in picked.items())


RAW = pa.table(
    {
        "day": pa.array([-(2**31), 1 - 2**31, 2 - 2**31, 2**31 - 1, 2**31 - 2], pa.date32()),
        "at": pa.array([-(2**63), 1 - 2**63, 2 - 2**63, 2**63 - 1, 2**63 - 2], pa.timestamp("us")),
    }
)
"""Days and times as files may have them, beyond those that a text can say, and those that the engine takes for infinite."""
ROWS = " UNION ALL ".join(
    [*map(row, range(9)), f'SELECT r.* REPLACE (raw.day AS day, raw."at" AS "at") FROM ({row(1)}) AS r, raw']
)
PAGE = (Path(__file__).resolve().parents[3] / "docs" / "sql.md").read_text()
TABLE = PAGE[PAGE.index("| numbers |") : PAGE.index("What depends on when")]
FUNCTIONS = sorted(set(re.findall(r"`([A-Z0-9_]+)`", TABLE)))
NESTED = set(re.findall(r"`([A-Z0-9_]+)`", TABLE[TABLE.index("| nested |") : TABLE.index("| any |")]))
FIRST = {
    "DATE_TRUNC": "'{}'", "DATE_PART": "'{}'", "DATEPART": "'{}'", "TIMESTAMPADD": "{}", "TIMESTAMPDIFF": "{}",
}  # fmt: skip
OWN = {
    "GREATEST": ("{}(lists, 'a')",), "COALESCE": ("{}(entries, 'a')", "{}(numbers, lists)"), "CONTAINS": ("{}(texts, 'a')", "{}(t, 'a')"),
    "LENGTH": ("{}(texts)", "{}(t)"),
    "ELEMENT_AT": ("{}(texts, i)", "{}(entries, t)"), "TRY_ELEMENT_AT": ("{}(numbers, i)",), "GET": ("{}(texts, i)", "{}(lists, b)"),
    "MAP_CONTAINS_KEY": ("{}(entries, t)",), "NAMED_STRUCT": ("{}('a', numbers, 'b', x)",), "MAP": ("{}(t, x, 'b', 1)",),
    "ARRAY_POSITION": ("{}(numbers, b)", "{}(texts, t)"), "SLICE": ("{}(numbers, i, b)", "{}(texts, b, i)", "{}(lists, tiny, tiny)"),
    "MAP_FROM_ARRAYS": ("{}(texts, numbers)", "{}(numbers, lists)"), "SORT_ARRAY": ("{}(numbers, FALSE)", "{}(lists, TRUE)"),
    "TRANSFORM": ("{}(numbers, x -> x * b)", "{}(lists, (x, i) -> x[i])", "{}(texts, x -> CAST(x AS DATE))"),
    "FILTER": ("{}(numbers, x -> x / b > 1)", "{}(texts, x -> x RLIKE t)"),
    "EXISTS": ("{}(numbers, x -> x + 1 > b)", "{}(texts, x -> t LIKE x)"),
    "FORALL": ("{}(numbers, x -> x - 1 < b)",), "AGGREGATE": ("{}(numbers, b, (s, x) -> s * x)",),
    "REDUCE": ("{}(numbers, 1, (s, x) -> s + x)",),
    "GET_JSON_OBJECT": ("{}(json, '$.a')", "{}(json, '$[0]')", "{}(t, '$.b[1]')"),
    "FROM_JSON": ("{}(json, 'a INT, b ARRAY<STRING>')", "{}(json, 'ARRAY<DOUBLE>')", "{}(t, 'MAP<STRING, DECIMAL(5,2)>')",
      "{}(json, 'a FLOAT')"),
    "TO_JSON": ("{}(numbers)", "{}(entries)", "{}(STRUCT(x, f, at, day, t, huge, lists))"),
    "PARSE_URL": ("{}(t, 'HOST')", "{}(json, 'QUERY', '(a')"), "SHA2": ("{}(t, 256)",), 
    "NEXT_DAY": ("{}(day, 'MON')", "{}(at, 'SU')"),
    "SUBSTRING_INDEX": ("{}(t, 'a', i)", "{}(t, t, b)", "{}(t, '', tiny)"),
    "FROM_UTC_TIMESTAMP": ("{}(at, 'Europe/Berlin')",), "TO_UTC_TIMESTAMP": ("{}(at, 'America/New_York')",),
    "MAKE_TIMESTAMP": ("{}(i, tiny, tiny, tiny, tiny, x)", "{}(b, 1, 1, 1, 1, huge)", "{}(i, 1, 1, 23, 59, 60)"),
}  # fmt: skip
"""Calls of what takes other than columns, or only some of them."""
UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
OPERATORS = (
    "{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} % {}", "{} DIV {}", "{} & {}", "{} | {}", "{} ^ {}", "{} || {}",
    "{} < {}", "{} = {}", "{} <=> {}", "{} LIKE {}", "{} RLIKE {}", "{} BETWEEN {} AND {}", "{} IN ({}, {})", "IF({} > {}, {}, {})",
    "CASE {} WHEN {} THEN {} ELSE {} END", "{} + INTERVAL 100 YEARS", "{} - INTERVAL 30000 DAYS", "{} + INTERVAL 10 HOURS",
    f"1{'0' * 20} DIV {{}}", f"{{}} DIV 1{'0' * 20}", "-{}", "~{}", "EXTRACT(SECOND FROM {})", "EXTRACT(WEEK FROM {})", "TRIM(BOTH {} FROM {})",
    *(f"CAST({{}} AS {t})" for t in ("INT", "TINYINT", "BIGINT", "DOUBLE", "FLOAT", "DECIMAL(5,2)")),
    *(f"CAST({{}} AS {t})" for t in ("STRING", "DATE", "TIMESTAMP", "BOOLEAN")),
)  # fmt: skip


def calls(function: str) -> Iterator[list[str]]:
    """Calls with one, two and three columns, or a few constants in their place."""
    columns = [*HOLDING, "b", "t"] if function in {*NESTED, *ARRAYS} else list(VALUES)
    yield [form.format(function) for form in OWN.get(function, ())]
    yield [f"{function}()"] if 0 in TABLED.get(function, {}) else []
    if function in FIRST:
        given = [FIRST[function].format(u) for u in UNITS]
        yield [f"{function}({u}, {c})" for u, c in product(given, columns)]
        yield [f"{function}({u}, {a}, {b})" for u, a, b in product(given, columns, columns)]
    arities = [n or 2 for n in TABLED.get(function, {2: "", 3: ""})]
    yield [f"{function}({c})" for c in ("'a'", "'1.5'", "1" + "0" * 20) if 1 in arities]
    yield [f"{function}({c})" for c in columns if 1 in arities]
    yield [
        f"{function}({a}, {b})"
        for a, b in product([*columns, "'a'"], [*columns, "'yyyy-MM-dd'", "5", "'MONTH'"])
        if 2 in arities
    ]
    yield [f"{function}(t, {b}, 'a')" for b in ("t", "'('", "'a*'") if 3 in arities]
    yield [
        f"{function}({a}, {b}, {c})"
        for a, b, c in product(["t", "b", "day", "ok", "i"], columns, [*columns, "'a'"])
        if 3 in arities
    ]


def written(expression: str) -> str | None:
    """The engine's SQL, if the expression is one at all."""
    try:
        query = bind(parse_select(f"SELECT {expression} AS m FROM s"),
                     name="q", into=None, streams={"s": STREAM}, infer=infer)  # fmt: skip
    except SqlError:
        return None
    return query.outputs[0].expr.renamed(lambda name: name.removeprefix("s.")).sql


def failures(expressions: list[tuple[str, str]]) -> list[str]:
    """Which of some expressions stop a statement; halves are tried where the whole fails."""
    texts = ", ".join(f"{sql} AS e{i}" for i, (_, sql) in enumerate(expressions))
    try:
        connection().register("raw", RAW).execute(f"SELECT {texts} FROM ({ROWS})").to_arrow_table()
    except duckdb.Error as error:
        renew()
        if len(expressions) == 1:
            return [f"{expressions[0][0]}: {str(error).splitlines()[0]}"]
        half = len(expressions) // 2
        return failures(expressions[:half]) + failures(expressions[half:])
    return []


def sampled(every: list[str], most: int = 40, tries: int = 250) -> list[tuple[str, str]]:
    """Some of many expressions, those that can be bound, with their SQL."""
    drawn = (e for e in Random(7).sample(every, min(tries, len(every))))
    return list(islice(((e, sql) for e in drawn if (sql := written(e)) is not None), most))


def check(pairs: list[tuple[str, str]]) -> None:
    assert pairs, "nothing could be bound"
    assert "\n".join(failures(pairs)) == ""


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_over_extreme_rows(function: str) -> None:
    check([pair for every in calls(function) for pair in sampled(every)])


@pytest.mark.parametrize("operator", OPERATORS)
def test_an_operator_over_extreme_rows(operator: str) -> None:
    count = operator.count("{}")
    check(
        sampled([operator.format(*columns, columns[0]) for columns in product(VALUES, repeat=min(3, count))])
    )
