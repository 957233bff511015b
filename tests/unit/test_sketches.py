"""Approximate aggregates: how far off they are, that they are bounded, and that no split of the rows changes them."""

from __future__ import annotations

import duckdb
import pytest

from thalweg.expr.nodes import Column
from thalweg.model.aggregates import lowered, part_columns
from thalweg.model.query import Aggregate
from thalweg.model.sketches import buckets_for, hashes_for

VALUE = (Column("v", "DOUBLE"),)
VALUES = {
    "even": "range % 60000 + 1",
    "skewed": "exp((hash(range) % 1000000) / 70000.0)",
    "of both signs": "((hash(range) % 2000001)::BIGINT - 1000000) / 7.0",
    "few": "range % 900",
}


def results(call: Aggregate, values: str, pieces: int) -> tuple[object, int]:
    """The result of a call over 100,000 rows in so many pieces, and how long its state is."""
    (part,) = part_columns(call)
    with duckdb.connect() as db:
        db.execute(
            f"CREATE TABLE rows AS SELECT ({values})::DOUBLE AS v, range % {pieces} AS piece FROM range(100000)"
        )
        db.execute(
            f'CREATE TABLE parts AS SELECT piece, {part.lift} AS "{part.name}" FROM rows GROUP BY piece'
        )
        db.execute(f'CREATE TABLE whole AS SELECT {part.combine} AS "{part.name}" FROM parts')
        found = db.execute(f'SELECT {lowered(call)}, len("{part.name}") FROM whole').fetchall()[0]
        return found[0], found[1]


def exact(sql: str, values: str) -> float:
    found = duckdb.sql(f"SELECT {sql} FROM (SELECT ({values})::DOUBLE AS v FROM range(100000))").fetchall()
    return float(found[0][0])


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("deviation", [0.05, 0.01])
def test_distinct_values_are_within_four_deviations(values: str, deviation: float) -> None:
    call = Aggregate("APPROX_COUNT_DISTINCT", VALUE, params=(str(hashes_for(deviation)),))
    found, length = results(call, values, 7)
    assert found == pytest.approx(exact("count(DISTINCT v)", values), rel=4 * deviation)
    assert length <= hashes_for(deviation)
    assert results(call, values, 1)[0] == results(call, values, 50)[0] == found


def test_few_distinct_values_are_counted_exactly() -> None:
    call = Aggregate("APPROX_COUNT_DISTINCT", VALUE, params=("402",))
    assert [results(call, f"range % {n}", 3)[0] for n in (1, 7, 401)] == [1, 7, 401]


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("accuracy", [10_000, 100])
def test_percentiles_are_as_near_as_promised(values: str, accuracy: int) -> None:
    for fraction in ("0", "0.5", "0.99"):
        call = Aggregate("APPROX_PERCENTILE", VALUE, params=(str(accuracy), fraction))
        found, length = results(call, values, 7)
        rank = f"list(v ORDER BY v)[greatest(1, ceil({fraction} * count(*)))::BIGINT]"
        assert found == pytest.approx(exact(rank, values), rel=6 / accuracy)
        assert length <= max(accuracy, 45 * buckets_for(accuracy))
        assert results(call, values, 1)[0] == results(call, values, 50)[0] == found


def test_values_that_are_no_numbers_have_a_place() -> None:
    call = Aggregate("APPROX_PERCENTILE", VALUE, params=("16", "0"))
    assert results(call, "CASE WHEN range % 100 = 0 THEN '-inf'::DOUBLE ELSE range END", 3)[0] == float(
        "-inf"
    )
    assert results(call, "0", 3)[0] == 0
