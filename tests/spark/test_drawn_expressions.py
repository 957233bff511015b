"""Functions of JSON, arrays, maps, texts and times give what Spark gives on drawn values, but for what docs/sql.md lists."""

from __future__ import annotations

import datetime as dt
import json
import sys
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from test_expressions import alike

from thalweg.engine.kernel.connection import Tables, connection
from thalweg.expr.nodes import Expr
from thalweg.model.stream import Column, Stream
from thalweg.sql.binder import bind
from thalweg.sql.statements import parse_select

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit" / "sql"))
from sql_support import infer

COLUMNS = {
    "n": ("INTEGER", "n INT"),
    "b": ("BIGINT", "b BIGINT"),
    "x": ("DOUBLE", "x DOUBLE"),
    "j": ("VARCHAR", "j STRING"),
    "w": ("VARCHAR", "w STRING"),
    "u": ("VARCHAR", "u STRING"),
    "day": ("DATE", "day DATE"),
    "at": ("TIMESTAMP", "at TIMESTAMP"),
    "words": ("VARCHAR[]", "words ARRAY<STRING>"),
    "nums": ("BIGINT[]", "nums ARRAY<BIGINT>"),
    "deep": ("INTEGER[][]", "deep ARRAY<ARRAY<INT>>"),
    "m": ("MAP(VARCHAR, INTEGER)", "m MAP<STRING, INT>"),
    "p": ('STRUCT("a" INTEGER, "b" VARCHAR, "c" DOUBLE[])', "p STRUCT<a: INT, b: STRING, c: ARRAY<DOUBLE>>"),
}
STREAM = Stream("s", tuple(Column(n, t) for n, (t, _) in COLUMNS.items()), time="at")
SCHEMA = "a INT, b STRING, c DOUBLE, d ARRAY<BIGINT>, e STRUCT<f: BOOLEAN, g: DECIMAL(8,2)>, h MAP<STRING, INT>, k DATE, l TIMESTAMP"
EXPRESSIONS = (
    "get_json_object(j, '$.a')", "get_json_object(j, '$.b')", "get_json_object(j, '$.d[1]')", "get_json_object(j, '$.e.f')",
    "get_json_object(j, \"$['e'].g\")", "get_json_object(j, '$.h')", "get_json_object(j, '$')", "get_json_object(j, '$[0]')",
    "get_json_object(w, '$.a')", "json_array_length(j)", "json_array_length(get_json_object(j, '$.d'))", "json_object_keys(j)",
    "json_object_keys(get_json_object(j, '$.h'))", *(f"from_json(j, '{SCHEMA}').{f}" for f in "abcdhkl"), f"from_json(j, '{SCHEMA}').e.f",
    f"from_json(j, '{SCHEMA}').e.g", f"from_json(j, '{SCHEMA}') IS NULL",
    "from_json(j, 'a STRING, e STRING, h MAP<STRING, STRING>, d STRING')", "from_json(get_json_object(j, '$.d'), 'ARRAY<STRING>')",
    "from_json(get_json_object(j, '$.h'), 'MAP<STRING, BIGINT>')", "to_json(p)", "to_json(m)", "to_json(words)", "to_json(nums)",
    "to_json(deep)", "to_json(struct(n, w, day, at, n + 1 AS z))", "to_json(struct(p, m, words))", "to_json(array(p))",
    "array_distinct(words)", "array_distinct(nums)", "array_union(nums, array(b, 2L))", "array_intersect(words, array('a', w))",
    "array_except(nums, array(1L, b))", "arrays_overlap(words, array('a', 'b'))", "arrays_overlap(nums, array(1L, CAST(NULL AS BIGINT)))",
    "array_append(words, w)", "array_prepend(nums, n)", "array_remove(nums, 1)", "array_remove(words, w)", "array_compact(words)",
    "array_repeat(w, 3)", "array_repeat(n, n)", "array_sort(nums)", "sort_array(words)", "sort_array(nums, FALSE)",
    "sort_array(nums, TRUE)", "slice(nums, 2, 2)", "slice(words, -2, 2)", "slice(nums, -5, 3)", "slice(nums, 9, 1)", "slice(nums, 1, 0)",
    "flatten(deep)", "reverse(nums)", "reverse(w)", "map_entries(m)", "map_from_arrays(array('k', 'l'), array(n, 2))",
    "transform(nums, y -> y + n)", "transform(nums, (y, i) -> y * 10 + i)", "transform(deep, y -> transform(y, z -> z + size(y)))",
    "filter(nums, y -> y > 1)", "filter(words, y -> y LIKE 'a%')", "filter(nums, (y, i) -> i > 0)", "exists(nums, y -> y > 2)",
    "exists(words, y -> y = w)", "forall(nums, y -> y < 3)", "forall(words, y -> length(y) > 0)", "aggregate(nums, 0L, (s, y) -> s + y)",
    "aggregate(filter(nums, y -> y IS NOT NULL), n, (s, y) -> CAST(s * 2 + y AS INT))", "transform(words, y -> upper(y))[0]",
    "initcap(w)", "octet_length(w)", "bit_length(w)", "hex(w)", "hex(n)", "hex(b)", "bin(n)", "base64(w)", "sha1(w)", "sha(w)",
    "sha2(w, 256)", "find_in_set(w, 'a,b,,abc')", "find_in_set('a', w)", "substring_index(w, ' ', 1)", "substring_index(w, ' ', -1)",
    "substring_index(u, '/', 3)", "substring_index(u, '/', -2)", "substring_index(w, 'a', n)", "url_encode(w)", "url_decode(u)",
    "url_decode(url_encode(w))", "space(3)",
    *(f"parse_url(u, '{p}')" for p in ("HOST", "PATH", "QUERY", "REF", "PROTOCOL", "FILE", "AUTHORITY", "USERINFO")),
    "parse_url(u, 'QUERY', 'k')", "regexp_count(w, 'a')", "regexp_count(w, '[a-c]+')", "regexp_substr(w, '[b-z]+')",
    "regexp_instr(w, 'b')", "regexp_instr(w, '\\\\bb')", "regexp_extract_all(w, '([a-b])(.)')", "regexp_extract_all(w, '([a-b])(.)', 2)",
    "split(w, ' ')", "split(u, '[/?]')", "split(w, 'a')", "make_date(2024, n, 29)", "make_date(n + 2020, 2, 29)",
    "make_timestamp(2024, 2, 29, n, 5, 60)", "make_timestamp(2024, 12, 31, 23, n, 7.25)", "next_day(day, 'MON')",
    "next_day(at, 'sunday')", "months_between(at, day)", "months_between(day, DATE '2024-02-29')", "unix_date(day)",
    "date_from_unix_date(n)", "from_utc_timestamp(at, 'Europe/Berlin')", "to_utc_timestamp(at, 'America/New_York')",
    "from_unixtime(n * 100000, 'yyyy-MM-dd HH:mm')", "unix_timestamp('2024-02-29 10', 'yyyy-MM-dd HH')", "dayname(day)", "monthname(at)",
    "dateadd(day, n)", "dateadd(HOUR, n, at)", "nanvl(x, 1.5D)", "factorial(n)", "rint(x)", "acosh(x)", "asinh(x)", "atanh(x)",
    "try_add(n, 2147483647)", "try_subtract(b, 1)", "try_multiply(n, n)", "negative(n)", "date_format(at, 'yyyy/MM/dd HH:mm:ss.SSS')",
    "date_format(at, 'EEEE, d MMM yy')", "date_format(day, 'D')", "date_format(at, 'hh:mm a')",
)  # fmt: skip


def json_text(random: Random, depth: int = 0) -> str:
    """A text that may be JSON of the schema, of another one, or none."""
    if not depth and random.random() < 0.15:
        return random.choice(("", "null", "{", "[1, 2", "1", '"a"', "[]", '[{"a": 1}]', "nothing"))
    number: list[Any] = [
        1,
        -7,
        2147483648,
        1.5,
        12345678901234567,
        "12",
        "x y",
        True,
        None,
        [1],
        {"a": 1},
        "2024-02-29",
    ]
    given: dict[str, Any] = {
        "a": random.choice(number), "b": random.choice([*number, 'a"b', "ö/"]), "c": random.choice([*number, "NaN"]),
        "d": random.choice([[], [1, 2, 3], [1, None], 3, None]), "e": random.choice([{"f": True}, {"f": "x", "g": 1.255}, {"g": 12},
        None, 4]),
        "h": random.choice([{}, {"k": 1, "l": None}, None]), "k": random.choice(["2024-02-29", "1969-12-31", "none", None]),
        "l": random.choice(["2024-02-29T10:11:12.5Z", "2024-02-29 10:11:12", "x", 1700000000, None]),
    }  # fmt: skip
    kept = {k: v for k, v in given.items() if random.random() < 0.8}
    return json.dumps(kept, ensure_ascii=random.random() < 0.5, indent=random.choice((None, 1)))


def drawn_row(random: Random) -> tuple[Any, ...]:
    def maybe(value: Any) -> Any:
        return None if random.random() < 0.1 else value

    def some(values: list[Any]) -> list[Any]:
        return [random.choice(values) for _ in range(random.randrange(5))]

    words = ["a", "b", "ab", "ä", "", None]
    urls = [
        "https://u@h.org:80/p/q?k=1&l=2#r",
        "http://h/?l=2&k=a%20b",
        "ftp://h.net",
        "http://a.b/c/d/",
        "http://a/b?k=#",
    ]
    sentence = " ".join(
        random.choice(["ab", "b", "hello", "WÖRLD", "a+b~*", "", "bab"]) for _ in range(random.randrange(4))
    )
    return (
        maybe(random.choice([0, 1, 2, -3, 12, 20, 21])), maybe(random.choice([0, 2, -1, 2**40, -(2**63)])),
        maybe(random.choice([0.0, 1.5, 2.5, -0.25, 0.5, float("nan"), 1e10])), maybe(json_text(random)), maybe(sentence),
        maybe(random.choice(urls)),
        maybe(dt.date(2024, 1, 31) + dt.timedelta(random.randrange(-400, 400))),
        maybe(dt.datetime(2024, 2, 29, 10, 11, 12, 345678) + dt.timedelta(hours=random.randrange(-9000, 9000),
        minutes=random.randrange(60))),
        maybe(some(words)), maybe(some([1, 2, 3, -5, None])), maybe(some([[1, 2], [], [3, None]] + [None] * (random.random() < 0.3))),
        maybe({k: random.choice([1, None]) for k in some(["k", 'q"'])[:1]}),
        maybe({"a": maybe(1), "b": maybe('x"\u00f6/'), "c": maybe([0.5, 2.0])}),
    )  # fmt: skip


def bound(expression: str) -> Expr:
    """The tree of an expression, as a result."""
    query = bind(
        parse_select(f"SELECT {expression} AS e FROM s"),
        name="q",
        into=None,
        streams={"s": STREAM},
        infer=infer,
    )
    return query.outputs[0].expr.renamed(lambda name: name.removeprefix("s."))


def plain(value: Any) -> Any:
    """A value that both sides write alike: structs as pairs, maps as they are, times as texts."""
    if hasattr(value, "asDict"):
        value = value.asDict()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value.isoformat() if isinstance(value, dt.date) else value


def same(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(v, other[k]) for k, v in one.items())
    if isinstance(one, Decimal | int | float) and isinstance(other, Decimal | int | float):
        return alike(one, other)
    return bool(one == other)


def differences(spark: Any, rows: list[tuple[Any, ...]]) -> list[str]:
    frame = spark.createDataFrame(list(rows), ", ".join(s for _, s in COLUMNS.values()))
    frame.createOrReplaceTempView("drawn")
    trees = [bound(e) for e in EXPRESSIONS]
    columns = list(zip(*rows, strict=True))
    types = infer_arrow()
    given = pa.table(
        {n: pa.array(_entries(v, t), t) for (n, t), v in zip(types.items(), columns, strict=True)}
    )
    found = []
    with Tables() as tables:
        tables.offer("drawn", given)
        for text, tree in zip(EXPRESSIONS, trees, strict=True):
            mine = [plain(r[0]) for r in connection().execute(f"SELECT {tree.sql} FROM drawn").fetchall()]
            try:
                its = [plain(r[0]) for r in spark.sql(f"SELECT {text} FROM drawn").collect()]
            except Exception as error:
                its = []
                found.append(f"{text}: Spark says {str(error)[:200]}")
            found += [
                f"{text}: {a!r}, Spark {b!r}, of {row}"
                for a, b, row in zip(mine, its, rows, strict=bool(its))
                if not same(a, b)
            ][:2]
    return found


def _entries(values: tuple[Any, ...], type_: pa.DataType) -> list[Any]:
    return [list(v.items()) if isinstance(v, dict) and pa.types.is_map(type_) else v for v in values]


def infer_arrow() -> dict[str, pa.DataType]:
    """The columns by Arrow's types."""
    described = ", ".join(f'NULL::{t} AS "{n}"' for n, (t, _) in COLUMNS.items())
    schema = connection().execute(f"SELECT {described}").to_arrow_table().schema
    return {f.name: f.type for f in schema}


def test_drawn_expressions_are_spark_s(spark: Any) -> None:
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    random = Random(17)
    try:
        found = differences(spark, [drawn_row(random) for _ in range(60)])
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)
    assert found == [], "\n".join(found)
