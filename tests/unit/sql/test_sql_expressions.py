"""Expressions: their normal form, and that DuckDB computes from it what Spark computes."""

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pytest
from sql_support import ENGINE, TYPES, argument, condition

from thalweg.errors import SqlError

WHOLE = r"""TRY_CAST(regexp_extract(regexp_replace("channel", '^\s*([+-]?)\.', '\10.'), '^\s*([+-]?\d+)(\.\d*)?\s*$', 1) AS INTEGER)"""
OPEN_PATTERN = r""""channel" LIKE CASE WHEN NOT regexp_matches("url", '(^|[^\\])(\\{2})*\\$') THEN "url" END ESCAPE '\'"""
FORMS = [
    ("price", '"price"', "BIGINT"),
    ("PRICE", '"price"', "BIGINT"),
    ("bid.bidder", '"Bidder"', "BIGINT"),
    ("`price`", '"price"', "BIGINT"),
    ("((price))", '"price"', "BIGINT"),
    ("price + 1", 'TRY("price" + 1)', "BIGINT"),
    ("(price + 1) * 2", 'TRY(TRY("price" + 1) * 2)', "BIGINT"),
    ("price + (1 * 2)", 'TRY("price" + 2)', "BIGINT"),
    ("-price", 'TRY(-"price")', "BIGINT"),
    ("- -5", "5", "INTEGER"),
    ("price / n", '"price" / nullif("n", 0)', "DOUBLE"),
    ("price / 2", '"price" / 2', "DOUBLE"),
    ("price / 0", '"price" / nullif(0, 0)', "DOUBLE"),
    ("price % 7", '"price" % 7', "BIGINT"),
    ("price div n", 'CAST(TRY("price" // nullif("n", 0)) AS BIGINT)', "BIGINT"),
    ("tiny + 100", 'TRY("tiny" + CAST(100 AS INTEGER))', "INTEGER"),
    ("small * 100", 'TRY("small" * CAST(100 AS INTEGER))', "INTEGER"),
    ("price ^ n", 'xor("price", "n")', "BIGINT"),
    ("channel || '-' || n", '"channel" || \'-\' || "n"', "VARCHAR"),
    ("concat(channel, '-', n)", '"channel" || \'-\' || "n"', "VARCHAR"),
    ("'it''s'", "'it''s'", "VARCHAR"),
    ("'a' 'b'", "'ab'", "VARCHAR"),
    ("'it\\'s'", "'it''s'", "VARCHAR"),
    ("'a\\nb'", "'a\nb'", "VARCHAR"),
    ("'a\\\\b'", "'a\\b'", "VARCHAR"),
    ('"double quoted"', "'double quoted'", "VARCHAR"),
    ("cast(x AS bigint)", 'TRY_CAST(trunc("x") AS BIGINT)', "BIGINT"),
    ("cast(price AS bigint)", '"price"', "BIGINT"),
    ("cast(channel AS int)", WHOLE, "INTEGER"),
    ("channel::int", WHOLE, "INTEGER"),
    ("int(channel)", WHOLE, "INTEGER"),
    ("cast(at AS date)", 'TRY_CAST("at" AS DATE)', "DATE"),
    ("cast(price AS decimal(12, 2))", 'TRY_CAST("price" AS DECIMAL(12,2))', "DECIMAL(12,2)"),
    ("TIMESTAMP '2024-01-01 10:00:00'", "CAST('2024-01-01 10:00:00' AS TIMESTAMP)", "TIMESTAMP"),
    ("DATE '2024-01-01'", "CAST('2024-01-01' AS DATE)", "DATE"),
    ("10L", "CAST(10 AS BIGINT)", "BIGINT"),
    ("at + INTERVAL 90 MINUTES", "TRY(\"at\" + INTERVAL '90 minutes')", "TIMESTAMP"),
    ("at - INTERVAL '2' MONTHS", "TRY(\"at\" - INTERVAL '2 months')", "TIMESTAMP"),
    ("date_trunc('HOUR', at)", "TRY(date_trunc('hour', \"at\"))", "TIMESTAMP"),
    ("if(ok, 1, 2)", 'CASE WHEN "ok" THEN 1 ELSE 2 END', "INTEGER"),
    ("case channel when 'a' then 1 end", "CASE \"channel\" WHEN 'a' THEN 1 END", "INTEGER"),
    ("coalesce(price, n, 0)", 'coalesce("price", "n", 0)', "BIGINT"),
    ("nvl(price, 0)", 'coalesce("price", 0)', "BIGINT"),
    ("price > 3", '"price" > 3', "BOOLEAN"),
    ("1.5BD", "1.5", "DECIMAL(2,1)"),
    ("9223372036854775807L", "9223372036854775807", "BIGINT"),
]
CONDITIONS = [
    ("price > 3", ('"price" > 3',)),
    ("3 < price", ('"price" > 3',)),
    ("NOT (price <= 3)", ('"price" > 3',)),
    ("(price > 3) AND ((PRICE > 3))", ('"price" > 3',)),
    ("price > 3 AND ok", ('"ok"', '"price" > 3')),
    ("ok AND price > 3 AND TRUE", ('"ok"', '"price" > 3')),
    ("price BETWEEN 1 AND 5", ('"price" <= 5', '"price" >= 1')),
    ("NOT price BETWEEN 1 AND 5", ('NOT (("price" <= 5) AND ("price" >= 1))',)),
    ("price NOT BETWEEN 1 AND 5", ('NOT (("price" <= 5) AND ("price" >= 1))',)),
    ("price != 3", ('"price" <> 3',)),
    ("price == 3", ('"price" = 3',)),
    ("price IN (3)", ('"price" = 3',)),
    ("price IN (3, 1, 3)", ('"price" IN (1, 3)',)),
    ("price NOT IN (3, 1)", ('NOT ("price" IN (1, 3))',)),
    ("price <=> n", ('"n" IS NOT DISTINCT FROM "price"',)),
    ("price IS NOT DISTINCT FROM n", ('"n" IS NOT DISTINCT FROM "price"',)),
    ("price IS DISTINCT FROM n", ('"n" IS DISTINCT FROM "price"',)),
    ("NOT price IS NULL", ('"price" IS NOT NULL',)),
    ("price IS NOT NULL", ('"price" IS NOT NULL',)),
    ("isnotnull(price)", ('"price" IS NOT NULL',)),
    ("ok IS TRUE", ('"ok" IS NOT DISTINCT FROM TRUE',)),
    ("ok IS NOT TRUE", ('"ok" IS DISTINCT FROM TRUE',)),
    ("ok OR price > 3", ('"ok" OR ("price" > 3)',)),
    ("price > 3 OR ok OR (price > 3)", ('"ok" OR ("price" > 3)',)),
    ("(ok AND price > 3) OR n = 1", ('("n" = 1) OR ("ok" AND ("price" > 3))',)),
    ("channel LIKE 'a%'", ("\"channel\" LIKE 'a%'",)),
    ("channel NOT LIKE 'a%'", ("NOT (\"channel\" LIKE 'a%')",)),
    ("channel LIKE 'a\\\\_%'", ("\"channel\" LIKE 'a\\_%' ESCAPE '\\'",)),
    ("channel LIKE url", (OPEN_PATTERN,)),
    ("channel LIKE 'a!_%' ESCAPE '!'", ("\"channel\" LIKE 'a!_%' ESCAPE '!'",)),
    ("channel ILIKE 'a%'", ("\"channel\" ILIKE 'a%'",)),
    ("channel RLIKE '^a'", ("regexp_matches(\"channel\", '^a')",)),
    ("at >= '2024-01-01'", ("\"at\" >= CAST('2024-01-01' AS TIMESTAMP)",)),
    ("TIMESTAMP '2024-01-01' <= at", ("\"at\" >= CAST('2024-01-01' AS TIMESTAMP)",)),
    ("NOT NOT ok", ('"ok"',)),
    ("TRUE", ()),
]
ROW = {
    "auction": "7::BIGINT",
    "Bidder": "-7::BIGINT",
    "price": "100::BIGINT",
    "channel": "'  Web '",
    "url": "'a_b%c'",
    "ok": "TRUE",
    "tiny": "100::TINYINT",
    "small": "30000::SMALLINT",
    "n": "0::INTEGER",
    "x": "-2.7::DOUBLE",
    "cost": "2.75::DECIMAL(10,2)",
    "day": "DATE '2024-01-31'",
    "at": "TIMESTAMP '2024-01-07 10:20:30.25'",
}
VALUES: list[tuple[str, Any]] = [
    ("7 / 2", 3.5),
    ("auction / n", None),
    ("auction % n", None),
    ("bidder % 3", -1),
    ("bidder div 2", -3),
    ("pmod(bidder, 3)", 2),
    ("mod(auction, 4)", 3),
    ("tiny + 100", 200),
    ("small * 100", 3_000_000),
    ("cast(x AS int)", -2),
    ("cast(cost AS int)", 2),
    ("cast(2.5 AS int)", 2),
    ("cast('abc' AS int)", None),
    ("cast(at AS bigint)", 1704622830),
    ("cast(auction AS timestamp)", dt.datetime(1970, 1, 1, 0, 0, 7)),
    ("cast(at AS date)", dt.date(2024, 1, 7)),
    ("cast(ok AS int)", 1),
    ("channel || null", None),
    ("concat(url, null)", None),
    ("concat(url, n, ok)", "a_b%c0true"),
    ("concat_ws('-', url, null, 'z')", "a_b%c-z"),
    ("trim(channel)", "Web"),
    ("trim(BOTH 'a' FROM 'aba')", "b"),
    ("trim(LEADING 'a' FROM 'aba')", "ba"),
    ("ltrim(channel)", "Web "),
    ("upper(trim(channel))", "WEB"),
    ("length(channel)", 6),
    ("substring('hello', 0, 3)", "hel"),
    ("substring('hello', 2)", "ello"),
    ("substring('hello', -3, 2)", "ll"),
    ("substr('hello' FROM 2 FOR 2)", "el"),
    ("substring('hello', n, 2)", "he"),
    ("substring('hello', 3, bidder)", ""),
    ("left('hello', 2)", "he"),
    ("left('hello', -2)", ""),
    ("right('hello', 2)", "lo"),
    ("lpad('a', 3, 'xy')", "xya"),
    ("rpad('a', 3)", "a  "),
    ("replace('abcabc', 'bc')", "aa"),
    ("repeat('ab', 2)", "abab"),
    ("locate('l', 'hello')", 3),
    ("position('l' IN 'hello')", 3),
    ("position('l', 'hello')", 3),
    ("instr('hello', 'z')", 0),
    ("split_part('a,b,c', ',', -1)", "c"),
    ("split_index('a,b,c', ',', 0)", "a"),
    ("split_index('a,,c', ',', 1)", ""),
    ("split_index('a,b,c', ',', 3)", None),
    ("split_index('a,b,c', ',', -1)", None),
    ("split_index('', ',', 0)", None),
    ("regexp_extract('a12b', '([0-9])([0-9])')", "1"),
    ("regexp_extract('a12b', '([0-9])([0-9])', 2)", "2"),
    ("regexp_replace('a1b2', '[0-9]', '-')", "a-b-"),
    ("startswith(url, 'a')", True),
    ("contains(url, '_b')", True),
    ("url LIKE 'a\\\\_b\\\\%c'", True),
    ("'axb%c' LIKE 'a\\\\_b\\\\%c'", False),
    ("ceil(x)", -2),
    ("floor(x)", -3),
    ("floor(cost)", Decimal("2")),
    ("ceil(auction)", 7),
    ("round(2.5)", Decimal("3")),
    ("round(-2.5)", Decimal("-3")),
    ("bround(2.5, 0)", Decimal("2")),
    ("ln(0)", None),
    ("log(2, 8)", 3.0),
    ("log10(x)", None),
    ("sqrt(16)", 4.0),
    ("greatest(1, null, 3)", 3),
    ("nvl2(null, 1, 2)", 2),
    ("nullif(n, 0)", None),
    ("isnan(null)", False),
    ("if(null, 1, 2)", 2),
    ("year(at)", 2024),
    ("dayofweek(at)", 1),
    ("weekday(at)", 6),
    ("weekofyear(at)", 1),
    ("dayofyear(day)", 31),
    ("quarter(at)", 1),
    ("hour(at)", 10),
    ("second(at)", 30),
    ("extract(SECOND FROM at)", Decimal("30.250000")),
    ("extract(DOW FROM at)", 1),
    ("extract(minutes FROM at)", 20),
    ("date_part('hour', at)", 10),
    ("date_trunc('minute', at)", dt.datetime(2024, 1, 7, 10, 20)),
    ("date_trunc('MM', at)", dt.datetime(2024, 1, 1)),
    ("trunc(day, 'MM')", dt.date(2024, 1, 1)),
    ("date_add(day, 1)", dt.date(2024, 2, 1)),
    ("date_sub(at, 7)", dt.date(2023, 12, 31)),
    ("datediff(day, at)", 24),
    ("timestampdiff(MINUTE, at, at + INTERVAL 119 SECONDS)", 1),
    ("timestampadd(HOUR, 2, at)", dt.datetime(2024, 1, 7, 12, 20, 30, 250000)),
    ("add_months(day, 1)", dt.date(2024, 2, 29)),
    ("last_day(at)", dt.date(2024, 1, 31)),
    ("date_format(at, 'yyyy-MM-dd HH:mm')", "2024-01-07 10:20"),
    ("date_format(at, \"yyyy'T'D\")", "2024T7"),
    ("to_date('07/01/2024', 'dd/MM/yyyy')", dt.date(2024, 1, 7)),
    ("to_timestamp('2024-01-07 10:00:00')", dt.datetime(2024, 1, 7, 10)),
    ("to_timestamp('nonsense', 'yyyy')", None),
    ("unix_timestamp(at)", 1704622830),
    ("unix_millis(at)", 1704622830250),
    ("timestamp_millis(1500)", dt.datetime(1970, 1, 1, 0, 0, 1, 500000)),
    ("from_unixtime(0)", "1970-01-01 00:00:00"),
    ("at + INTERVAL 1 HOUR 30 MINUTES", dt.datetime(2024, 1, 7, 11, 50, 30, 250000)),
    ("at - INTERVAL 1 MONTH", dt.datetime(2023, 12, 7, 10, 20, 30, 250000)),
    ("5 & 3", 1),
    ("5 | 3", 7),
    ("5 ^ 3", 6),
    ("~5", -6),
    ("null <=> null", True),
    ("cast('NaN' AS double) > 5", True),
    ("exp(0)", 1.0),
    ("pi()", math.pi),
]


@pytest.mark.parametrize(("spark", "sql", "type_"), FORMS)
def test_form(spark: str, sql: str, type_: str) -> None:
    assert argument(spark) == (sql, type_)


@pytest.mark.parametrize(("spark", "conjuncts"), CONDITIONS)
def test_condition(spark: str, conjuncts: tuple[str, ...]) -> None:
    assert condition(spark) == conjuncts


@pytest.mark.parametrize(("spark", "value"), VALUES)
def test_value(spark: str, value: Any) -> None:
    columns = ", ".join(f'CAST({ROW[name]} AS {type_}) AS "{name}"' for name, type_ in TYPES.items())
    assert ENGINE.execute(f"SELECT {argument(spark)[0]} FROM (SELECT {columns})").fetchall() == [(value,)]


def test_long_chains() -> None:
    assert len(condition(" AND ".join(f"price <> {i}" for i in range(500)))) == 500
    assert argument("+".join(["price"] * 60))[1] == "BIGINT"


@pytest.mark.parametrize("length", [100, 150, 200, 300, 900])
def test_a_chain_is_refused_or_can_be_written(length: int) -> None:
    try:
        sql, _ = argument(" - ".join(["x"] * length))
    except SqlError as error:
        assert "nested too deeply" in str(error)
    else:
        assert sql.count("-") == length - 1


@pytest.mark.parametrize("inner", ["({0} BETWEEN 1 AND 2)::INT", "NULLIF({0}, 3)", "PMOD({0}, 7)"])
def test_what_is_written_out_several_times_has_a_limit(inner: str) -> None:
    nested = "x"
    for _ in range(20):
        nested = inner.format(nested)
    try:
        sql, _ = argument(nested)
    except SqlError as error:
        assert "too large" in str(error) and "take it apart" in str(error)
    else:
        assert len(sql) < 20_000
