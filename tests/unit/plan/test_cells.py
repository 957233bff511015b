"""Cells: the value that stands for a range says of every row in it what the conditions one by one say, whoever comes and goes."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hs

from thalweg.compile.cells import MOST_VALUES, Cells, cells_of, subject_of
from thalweg.model.query import Chosen
from thalweg.testing.bound import bind_statements

STREAM = "CREATE STREAM s (y TINYINT, i INT, b BIGINT, x DOUBLE, t STRING, at TIMESTAMP) WITH (format = 'parquet', path = 'none', time = 'at');"
VALUES: dict[str, list[Any]] = {
    "y": [None, -128, -1, 0, 1, 2, 3, 127],
    "i": [None, -(2**31), -7, 0, 1, 2, 3, 70_000, 2**31 - 1],
    "b": [None, -(2**63), -1, 0, 2, 3, 9_007_199_254_740_993, 2**63 - 1],
    "t": [None, "", "a", "ab", "b", "é", "A"],
}
CONSTANTS = {
    "y": ["-128", "0", "1", "2.5", "127", "300"],
    "i": ["-7", "0", "1", "2", "2.5", "3", "-2147483648", "2147483647", "3000000000"],
    "b": ["0", "2", "9007199254740992", "9007199254740993", "-1"],
    "t": ["''", "'a'", "'ab'", "'B'", "'é'"],
}


@hs.composite
def conditions(draw: Any, column: str) -> str:
    values = hs.sampled_from(CONSTANTS[column])
    ways = (
        ["in", "="]
        if column == "t"
        else ["<", "<=", "=", "<>", ">=", ">", "between", "in", "not in", "not null"]
    )
    match draw(hs.sampled_from(ways)):
        case "between":
            return f"{column} BETWEEN {draw(values)} AND {draw(values)}"
        case "not null":
            return f"{column} IS NOT NULL"
        case ("in" | "not in") as among:
            return f"{column} {among.upper()} ({draw(values)}, {draw(values)})"
        case symbol:
            return f"{column} {symbol} {draw(values)}"


def chosen(texts: list[str]) -> tuple[Chosen, ...]:
    """Who takes what, with bits in several words."""
    queries = "".join(
        f"CREATE QUERY q{n} AS SELECT COUNT(*) AS c FROM s WHERE {w} GROUP BY TUMBLE '1 minute';"
        for n, w in enumerate(texts)
    )
    return tuple(
        Chosen(37 * n, q.where) for n, q in enumerate(bind_statements(STREAM + queries).queries.values())
    )


def found(cells: Cells, column: str) -> dict[Any, Any]:
    """The cell of each value that is in one, by the engine."""
    lookup = cells.lookup("cells")
    with duckdb.connect(config={"threads": 1}) as db:
        kinds = {"y": pa.int8(), "i": pa.int32(), "b": pa.int64(), "t": pa.string()}
        db.register("scan", pa.table({column: pa.array(VALUES[column], kinds[column])}))
        db.register("given", lookup.table)
        db.execute('CREATE TABLE "cells" AS SELECT * FROM given')
        rows = db.execute(
            f'SELECT "{column}", "__cell" FROM scan {lookup.join} WHERE "__cell" IS NOT NULL'
        ).fetchall()
    assert len({value for value, _ in rows}) == len(rows), "a value is in one cell"
    return dict(rows)


def taken(sets: tuple[Chosen, ...], column: str) -> dict[Any, set[int]]:
    """Who takes each value, by the conditions one by one."""
    with duckdb.connect(config={"threads": 1}) as db:
        db.register("scan", pa.table({column: VALUES[column]}))
        by_bit = {
            c.bit: db.execute(
                f'SELECT "{column}" FROM scan WHERE {" AND ".join(e.sql for e in c.where)}'
            ).fetchall()
            for c in sets
        }
    return {value: {bit for bit, rows in by_bit.items() if (value,) in rows} for value in VALUES[column]}


def takers(cells: Cells, cell: Any) -> set[int]:
    words = cells.takers(pa.chunked_array([[cell]]))
    return {64 * w + n for w, word in enumerate(words) for n in range(64) if int(word[0]) >> n & 1}


@hs.composite
def members(draw: Any) -> tuple[str, list[str]]:
    column = draw(hs.sampled_from(sorted(CONSTANTS)))
    return column, draw(
        hs.lists(
            hs.lists(conditions(column), min_size=1, max_size=2).map(" AND ".join), min_size=1, max_size=8
        )
    )


@given(drawn=members())
def test_a_cell_has_who_takes_its_rows(drawn: tuple[str, list[str]]) -> None:
    column, texts = drawn
    sets = chosen(texts)
    cells, each = cells_of(sets), taken(sets, column)
    by_value = found(cells, column)
    assert {v for v, bits in each.items() if bits} == set(by_value), "rows that nobody takes are in no cell"
    assert all(takers(cells, by_value[v]) == bits for v, bits in each.items() if bits)


@given(drawn=members(), data=hs.data())
def test_cells_stay_right_for_who_stays(drawn: tuple[str, list[str]], data: hs.DataObject) -> None:
    column, texts = drawn
    sets = chosen(texts)
    some = [s for s in sets if data.draw(hs.booleans())] or [sets[0]]
    before, stayed = tuple(some), [s for s in some if data.draw(hs.booleans())] or [some[0]]
    new = [s for s in sets if s not in before]
    after, each = cells_of((*stayed, *new)), taken(tuple(stayed), column)
    for value, cell in found(cells_of(before), column).items():
        assert takers(after, cell) & {s.bit for s in stayed} == each[value]


@pytest.mark.parametrize(
    ("texts", "way"),
    [(["i < 9", "i >= 5"], "CASE"), (["i = 900000", "i = 5"], '"i"'), (["b > 5", "b < 90000"], "ASOF")],
)
def test_rows_find_their_cells_by_value_or_by_range(texts: list[str], way: str) -> None:
    lookup = cells_of(chosen(texts)).lookup("cells")
    assert way in lookup.join and lookup.table.num_rows <= MOST_VALUES + 2
    assert ("ASOF" in lookup.join) == (way == "ASOF") and ("CASE" in lookup.join) == (way == "CASE")


@pytest.mark.parametrize(
    ("where", "is_cut"),
    [
        ("i > 3 AND i < 9", True), ("i % 7 = 3", True), ("t = 'a'", True), ("t IN ('a', 'b')", True), ("i NOT IN (1, 2)", True),
        ("i IS NULL", False), ("t > 'a'", False), ("t <> 'a'", False), ("x > 3", False), ("i > 3 AND b > 3", False), ("i > b", False),
        ("t LIKE 'a%'", False), ("b < 9223372036854775807", False), (f"i IN ({', '.join(map(str, range(70)))})", False),
    ],
)  # fmt: skip
def test_what_can_be_cut(where: str, is_cut: bool) -> None:
    assert (subject_of(chosen([where])[0].where) is not None) == is_cut
