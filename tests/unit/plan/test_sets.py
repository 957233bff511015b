"""Query-sets: the index over many conditions says of every row what the conditions one by one say."""

from __future__ import annotations

from random import Random
from typing import Any

import duckdb
from hypothesis import given
from hypothesis import strategies as hs

from thalweg.compile.sets import CellIndex, indexes, set_sql
from thalweg.model.query import Chosen
from thalweg.testing.bound import bind_statements

STREAM = (
    "CREATE STREAM s (i INT, b BIGINT, x DOUBLE, f FLOAT, d DECIMAL(9, 2), t STRING, o BOOLEAN, day DATE, at TIMESTAMP) "
    "WITH (format = 'parquet', path = 'none', time = 'at');"
)
VALUES = {
    "i": ["NULL", "-7", "0", "1", "2", "3", "2147483647"],
    "b": ["NULL", "-1", "0", "2", "3", "9007199254740993"],
    "x": ["NULL", "-0.5", "0", "1.5", "1.500000001", "'nan'", "'inf'"],
    "f": ["NULL", "0.1", "1.5", "2", "'nan'"],
    "d": ["NULL", "-1.25", "0", "1.5", "99.99"],
    "t": ["NULL", "''", "'a'", "'ab'", "'b'", "'é'", "'A'"],
    "o": ["NULL", "TRUE", "FALSE"],
    "day": ["NULL", "DATE '2024-01-01'", "DATE '2024-01-02'"],
}
CONSTANTS = {
    "i": ["-7", "0", "1", "2", "2.5", "3"],
    "b": ["0", "2", "9007199254740992", "9007199254740993"],
    "x": ["0", "1.5", "1.5000001", "-0.5", "1e300"],
    "f": ["0.1", "1.5", "2"],
    "d": ["0", "1.5", "1.50", "99.995", "-1.25"],
    "t": ["''", "'a'", "'ab'", "'B'", "'é'"],
    "day": ["DATE '2024-01-01'", "'2024-01-02'"],
}
ALONE = ("t LIKE 'a%'", "i + b > 2", "i < b", "o", "length(t) = 1", "i % 2 = 0")


@hs.composite
def conditions(draw: Any) -> str:
    if draw(hs.integers(0, 5)) == 0:
        return str(draw(hs.sampled_from(ALONE)))
    column = draw(hs.sampled_from(sorted(CONSTANTS)))
    values = hs.sampled_from(CONSTANTS[column])
    match draw(hs.sampled_from(["compare", "between", "in", "not in", "null"])):
        case "compare":
            return f"{column} {draw(hs.sampled_from(['<', '<=', '=', '<>', '>=', '>']))} {draw(values)}"
        case "between":
            return f"{column} BETWEEN {draw(values)} AND {draw(values)}"
        case "null":
            return f"{column} IS {draw(hs.sampled_from(['', 'NOT ']))}NULL"
        case negated:
            return f"{column} {negated.upper()} ({draw(values)}, {draw(values)})"


def chosen(texts: list[str]) -> list[Chosen]:
    queries = "".join(
        f"CREATE QUERY q{n} AS SELECT COUNT(*) AS c FROM s WHERE {t} GROUP BY TUMBLE '1 minute';"
        for n, t in enumerate(texts)
    )
    bound = bind_statements(STREAM + queries).queries
    return [Chosen(n, q.where) for n, q in enumerate(bound.values())]


def database(random: Random) -> duckdb.DuckDBPyConnection:
    db = duckdb.connect(config={"threads": 1})
    db.execute(
        'CREATE TABLE scan (i INT, b BIGINT, x DOUBLE, f FLOAT, d DECIMAL(9, 2), t VARCHAR, o BOOLEAN, "day" DATE, "__time" BIGINT)'
    )
    rows = [
        ", ".join([*(random.choice(v) for v in VALUES.values()), str(random.randrange(9))]) for _ in range(60)
    ]
    db.execute(f"INSERT INTO scan VALUES {', '.join(f'({r})' for r in rows)}")
    return db


@given(
    texts=hs.lists(hs.lists(conditions(), min_size=1, max_size=3).map(" AND ".join), min_size=1, max_size=12),
    seed=hs.integers(0, 999),
)
def test_a_set_has_who_takes_the_row(texts: list[str], seed: int) -> None:
    sets = chosen(texts)
    each = [" AND ".join(f"({e.sql})" for e in c.where) or "TRUE" for c in sets]
    one_by_one = " | ".join(
        f"(coalesce({sql}, FALSE)::UBIGINT << {c.bit})" for c, sql in zip(sets, each, strict=True)
    )
    with database(Random(seed)) as db:
        assert (
            db.execute(
                f"SELECT * FROM (SELECT {set_sql(sets)} AS a, {one_by_one} AS b, * FROM scan) WHERE a <> b"
            ).fetchall()
            == []
        )


def test_rows_before_the_beginning_are_not_taken() -> None:
    sets = [Chosen(0), Chosen(1, begin=4), Chosen(63, begin=6)]
    with database(Random(1)) as db:
        found = db.execute(f'SELECT DISTINCT "__time", {set_sql(sets)} FROM scan ORDER BY 1').fetchall()
    assert found == [(t, 1 | (t >= 4) << 1 | (t >= 6) << 63) for t, _ in found] and len(found) > 5


def test_conditions_on_one_column_are_one_search() -> None:
    sets = chosen([f"i > {n}" for n in range(40)] + ["t LIKE 'a%'", "t LIKE 'a%' AND i = 3"])
    indexed, alone = indexes(sets)
    assert len(indexed) == 1 and len(indexed[0].cuts) == 40
    assert [bits for _, bits in alone] == [3 << 40], "each distinct condition once"
    assert set_sql(sets).count("LIKE") + set_sql(sets).count("~~") + set_sql(sets).count("starts_with") <= 1


def test_words_without_a_query_are_empty() -> None:
    index = CellIndex.of([Chosen(0, chosen(["i > 1"])[0].where), Chosen(70, chosen(["i > 2"])[0].where)])
    words = index.words(4)
    assert words[2:] == ["0::UBIGINT", "0::UBIGINT"] and all("[" in w for w in words[:2])


def test_a_long_list_is_asked_by_itself() -> None:
    sets = chosen(
        [f"i IN ({', '.join(map(str, range(n, n + 40_000)))})" for n in (0, 5)] + ["i > 3", "i < 2"]
    )
    indexed, alone = indexes(sets)
    assert [len(i.cuts) for i in indexed] == [2] and len(alone) == 2
