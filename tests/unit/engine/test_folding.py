"""Folding a block of cells by groups gives what a join of cells with their takers and a grouping give."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hs

from thalweg.engine.kernel.folding import coded, folded, pieces_of

KINDS: dict[str, tuple[pa.DataType, Any]] = {
    "int": (pa.int32(), hs.integers(-9, 9)),
    "long": (pa.int64(), hs.integers(-(2**40), 2**40)),
    "huge": (pa.decimal128(38, 0), hs.integers(-(2**40), 2**40).map(Decimal)),
    "cents": (pa.decimal128(38, 2), hs.integers(-999, 999).map(lambda n: Decimal(n).scaleb(-2))),
    "double": (pa.float64(), hs.sampled_from([-1.5, 0.0, 2.25, float("nan"), float("inf")])),
    "float": (pa.float32(), hs.sampled_from([-1.5, 0.0, 2.25])),
    "date": (pa.date32(), hs.dates(date(1960, 1, 1), date(2030, 1, 1))),
    "time": (pa.timestamp("us"), hs.datetimes()),
}


@hs.composite
def tables(draw: Any) -> tuple[pa.Table, dict[str, str]]:
    """Rows of some groups and cells, with a sum, a least and a greatest of one kind."""
    count, (type_, values) = draw(hs.integers(1, 40)), KINDS[draw(hs.sampled_from(sorted(KINDS)))]
    maybe = draw(hs.sampled_from([values, values | hs.none()]))
    folds = ["min", "max"] if pa.types.is_temporal(type_) else ["sum", "min", "max"]
    columns = {
        "k": pa.array(
            draw(hs.lists(hs.sampled_from(["a", "b", None]), min_size=count, max_size=count)), pa.string()
        ),
        "slot": pa.array(draw(hs.lists(hs.integers(5, 7), min_size=count, max_size=count)), pa.int64()),
        "cell": pa.array(draw(hs.lists(hs.integers(-3, 6), min_size=count, max_size=count)), pa.int32()),
        **{name: pa.array(draw(hs.lists(maybe, min_size=count, max_size=count)), type_) for name in folds},
    }
    whole = pa.table(columns)
    cut = draw(hs.integers(0, count))
    return pa.concat_tables([whole.slice(0, cut), whole.slice(cut)]), {name: name for name in folds}


def rows_of(table: pa.Table) -> list[str]:
    return sorted(str(tuple(row.values())) for row in table.to_pylist())


@given(drawn=tables(), data=hs.data())
def test_folding_equals_a_join_and_a_grouping(
    drawn: tuple[pa.Table, dict[str, str]], data: hs.DataObject
) -> None:
    rows, folds = drawn
    wanted = [
        set(data.draw(hs.lists(hs.integers(-3, 6), max_size=10))) for _ in range(data.draw(hs.integers(1, 5)))
    ]

    def takes(sets: pa.Table) -> Any:
        return np.array([[cell in some for cell in sets.column("cell").to_pylist()] for some in wanted], bool)

    spread = pa.concat_tables(
        [rows] * 30
    )  # so that there are rows enough for a block; none of the folds minds but sum
    found = folded(spread, ("k", "slot"), ("cell",), folds, takes)
    assert found is not None
    pairs = pa.table(
        {
            "given": [n for n, some in enumerate(wanted) for _ in some],
            "cell": [c for some in wanted for c in some],
        }
    )
    with duckdb.connect(config={"threads": 1}) as db:
        db.register("rows", spread)
        db.register("pairs", pairs.cast(pa.schema({"given": pa.int32(), "cell": pa.int32()})))
        parts = ", ".join(f'{f}("{f}") AS "{f}"' for f in folds)
        expected = db.sql(
            f'SELECT k, slot, "given", {parts} FROM rows JOIN pairs USING (cell) GROUP BY ALL'
        ).to_arrow_table()
    types = [found.schema.field(name).type for name in expected.column_names]
    assert types[-len(folds) :] == [rows.schema.field(name).type for name in folds], "parts keep their types"
    target = pa.schema(list(zip(expected.column_names, types, strict=True)))
    assert rows_of(found.select(expected.column_names)) == rows_of(expected.cast(target))


@given(taken=hs.lists(hs.lists(hs.booleans(), min_size=9, max_size=9), min_size=1, max_size=4))
def test_pieces_are_what_is_taken_and_no_more(taken: list[list[bool]]) -> None:
    pieces = pieces_of(np.array(taken))
    covered = [[0] * 9 for _ in taken]
    for member, level, first in zip(
        pieces.member.tolist(), pieces.level.tolist(), pieces.first.tolist(), strict=True
    ):
        for cell in range(first, first + 2**level):
            covered[member][cell] += 1
    assert covered == [[int(t) for t in some] for some in taken]


def test_groups_with_few_of_the_cells_are_left_to_a_join() -> None:
    sparse = pa.table({"k": list(range(100)), "cell": list(range(100)), "n": [1] * 100})
    assert folded(sparse, ("k",), ("cell",), {"n": "sum"}, lambda s: np.ones((1, s.num_rows), bool)) is None


@pytest.mark.parametrize(
    ("values", "fold"),
    [
        (pa.array([2**61, 2**61]), "sum"),
        (pa.array([Decimal(2**70), Decimal(1)], pa.decimal128(38, 0)), "sum"),
        (pa.array(["a", "b"]), "max"),
        (pa.array([1, 2]), None),
    ],
    ids=["too large a sum", "too large a number", "text", "no fold"],
)
def test_what_numbers_can_not_do_is_left_to_a_join(values: pa.Array, fold: str | None) -> None:
    rows = pa.table({"k": [1, 1], "cell": [1, 2], "p": values})
    assert folded(rows, ("k",), ("cell",), {"p": fold}, lambda s: np.ones((1, s.num_rows), bool)) is None


def test_codes_of_many_columns_do_not_overflow() -> None:
    count = 3_000
    rows = pa.table({f"c{n}": np.random.default_rng(n).permutation(count) for n in range(8)})
    codes = coded(rows, rows.column_names)
    assert codes.count == count and codes.values.take(pa.array(codes.numbers)).equals(rows)
