"""The reference of joins against results computed by hand."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from thalweg.model.query import (
    RANGE,
    STATIC,
    TUMBLE,
    UNBOUNDED,
    Aggregate,
    ColumnRef,
    Equality,
    Output,
    Query,
    QueryAggregate,
    QueryInput,
    flat,
)
from thalweg.model.stream import Column, Stream
from thalweg.model.windows import SECOND
from thalweg.testing import reference_joins
from thalweg.testing.reference_joins import late_rows_of_join, reference_join
from thalweg.testing.texts import Text, output, term

EPOCH = datetime(1970, 1, 1)
COLUMNS = (Column("k", "VARCHAR"), Column("v", "BIGINT"), Column("at", "TIMESTAMP"))
STREAMS = {"s": Stream("s", COLUMNS, "at"), "u": Stream("u", COLUMNS, "at", 5 * SECOND)}
EQUAL = Equality(
    term('"a.k"', "VARCHAR", (ColumnRef(0, "k"),), '"k"'),
    term('"b.k"', "VARCHAR", (ColumnRef(1, "k"),), '"k"'),
)
KEY = EQUAL.left
PAIR = (output("a", '"a.v"', "BIGINT"), output("b", '"b.v"', "BIGINT"))
COUNT = QueryAggregate(Aggregate("COUNT_ROWS"))
Row = tuple[Any, ...]


def at(seconds: float) -> datetime:
    return EPOCH + timedelta(seconds=seconds)


def rows(*values: Row) -> pa.Table:
    """A table of (key, value, seconds)."""
    times = [None if r[2] is None else at(r[2]) for r in values]
    keys, numbers = ([r[i] for r in values] for i in (0, 1))
    return pa.table(
        {
            "k": pa.array(keys, pa.string()),
            "v": pa.array(numbers, pa.int64()),
            "at": pa.array(times, pa.timestamp("us")),
        }
    )


def over(
    alias: str, source: str, kind: str, seconds: float | None = None, where: str | None = None
) -> QueryInput:
    length = None if seconds is None else int(seconds * SECOND)
    return QueryInput(alias, source, kind, length, (Text(where, "BOOLEAN"),) if where else ())


def row_join(*inputs: QueryInput, residue: tuple[str, ...] = (), outputs: tuple[Output, ...] = PAIR) -> Query:
    """The values of rows with equal keys."""
    equalities = (EQUAL,) if len(inputs) > 1 else ()
    return Query("q", "", inputs, outputs, equalities, tuple(term(r, "BOOLEAN", ()) for r in residue))


def aggregate_join(
    *inputs: QueryInput, every: float, calls: tuple[QueryAggregate, ...] = (COUNT,), **other: Any
) -> Query:
    """Aggregates of the rows with equal keys, by key: (second, key, aggregates...)."""
    keys = other.pop("keys", (KEY,))
    names = [*(f"k{i}" for i in range(len(keys))), *(f"a{i}" for i in range(len(calls)))]
    outputs = (
        output("t", f'epoch_us("window_end") // {SECOND}', "BIGINT"),
        *(output(n, f'"{n}"', "") for n in names),
    )
    marks = (output("deleted", '"deleted"', "BOOLEAN"),) if other.get("changes") else ()
    equalities = (EQUAL,) if len(inputs) > 1 else ()
    given = {
        "keys": keys,
        "aggregates": calls,
        "every": int(every * SECOND),
        "outputs": outputs + marks,
    } | other
    return Query("q", "", inputs, equalities=equalities, **given)


def result(query: Query, *batches: Mapping[str, pa.Table], **more: Any) -> list[Row]:
    """The rows of a result in order."""
    found = reference_join(query, STREAMS, batches, **more)
    assert found.column_names == [o.name for o in query.outputs]
    return sorted(zip(*(c.to_pylist() for c in found.columns), strict=True), key=nulls_last)


def nulls_last(row: Row) -> list[tuple[bool, Any]]:
    return [(v is None, 0 if v is None else v) for v in row]


def test_rows_join_within_the_range_of_the_other() -> None:
    #  a (range 10): 1 at 0, 2 at 10     b (range 3): 5 at 9, 6 at 10, 7 at 13
    #  a may be less than 10 before b, b less than 3 before a
    query = row_join(over("a", "s", RANGE, 10), over("b", "u", RANGE, 3))
    batch = {"s": rows(("x", 1, 0), ("x", 2, 10)), "u": rows(("x", 5, 9), ("x", 6, 10), ("x", 7, 13))}
    assert result(query, batch) == [(1, 5), (2, 5), (2, 6), (2, 7)]
    assert result(query, {"s": rows(("x", 1, 12))}, {"u": rows(("x", 2, 9.000001), ("x", 3, 9))}) == [(1, 2)]


def test_rows_join_in_the_same_tumbling_instance() -> None:
    #  [-10,0) has a1, [0,10) has a2 and b5, [10,20) has b6
    query = row_join(over("a", "s", TUMBLE, 10), over("b", "u", TUMBLE, 10))
    batch = {"s": rows(("x", 1, -1), ("x", 2, 0)), "u": rows(("x", 5, 9), ("x", 6, 10))}
    assert result(query, batch) == [(2, 5)]


def test_an_unbounded_window_never_expires() -> None:
    #  b expires 5 s before a, a never
    query = row_join(over("a", "s", UNBOUNDED), over("b", "u", RANGE, 5))
    batch = {"s": rows(("x", 1, 0), ("x", 2, 1000)), "u": rows(("x", 5, 996), ("x", 6, 995))}
    assert result(query, batch) == [(1, 5), (1, 6), (2, 5)]


def test_null_keys_and_null_times_do_not_join() -> None:
    query = row_join(over("a", "s", UNBOUNDED), over("b", "u", UNBOUNDED))
    batch = {
        "s": rows((None, 1, 0), ("x", 2, None), ("x", 3, 0)),
        "u": rows((None, 5, 0), ("x", 6, 0), ("x", 7, None)),
    }
    assert result(query, batch) == [(3, 6)]


def test_residue_and_conditions_of_inputs() -> None:
    query = row_join(
        over("a", "s", UNBOUNDED, where='"v" > 1'), over("b", "u", UNBOUNDED), residue=('"a.v" < "b.v"',)
    )
    batch = {
        "s": rows(("x", 1, 0), ("x", 2, 0), ("x", 9, 0)),
        "u": rows(("x", 3, 0), ("x", 2, 0), ("x", None, 0)),
    }
    assert result(query, batch) == [(2, 3)]


def test_rows_of_a_self_join_meet_themselves_and_twins_count_twice() -> None:
    query = row_join(over("a", "s", RANGE, 5), over("b", "s", RANGE, 5))
    assert result(query, {"s": rows(("x", 1, 0), ("x", 1, 0))}) == [(1, 1)] * 4


def test_static_tables_have_no_time() -> None:
    query = row_join(over("a", "s", RANGE, 1), over("b", "r", STATIC, where='"v" > 0'))
    relations = {"r": pa.table({"k": ["x", "x", "y"], "v": [7, 0, 8]})}
    assert result(query, {"s": rows(("x", 1, 0), ("y", 2, 100))}, relations=relations) == [(1, 7), (2, 8)]


def test_one_input_alone() -> None:
    query = row_join(over("a", "s", RANGE, 1), outputs=(output("n", f"{flat('a', 'v')} + 1", "BIGINT"),))
    assert result(query, {"s": rows(("x", 1, 0), ("y", None, 100))}) == [(2,), (None,)]


def test_late_rows_are_late_for_their_own_stream() -> None:
    #  u has a delay of 5: after 20 it is final below 15. s is at 0 still, so that 1 is not late there
    query = row_join(over("a", "s", UNBOUNDED), over("b", "u", UNBOUNDED, where='"v" < 9'))
    batches = [
        {"s": rows(("x", 1, 0)), "u": rows(("x", 5, 20), ("x", 6, 2))},
        {},
        {"u": rows(("x", 7, 15), ("x", 8, 14.999999), ("x", 9, 3))},
        {"s": rows(("x", 2, 1), ("x", 3, -1)), "u": rows()},
    ]
    assert result(query, *batches) == [(1, 5), (1, 6), (1, 7), (2, 5), (2, 6), (2, 7)]
    assert late_rows_of_join(query, STREAMS, batches) == 2
    self_join = row_join(over("a", "u", UNBOUNDED), over("b", "u", UNBOUNDED, where='"v" = 8'))
    assert late_rows_of_join(self_join, STREAMS, batches) == 3


def test_groups_at_every_instant() -> None:
    #  a (range 4): x at 0, 3     b (range 2): x at 1, 3; y at 1     s ends at 6, u at 11 - 5 = 6
    #  t = 2: a {0}, b {1}: 1     t = 4: a {0, 3}, b {3}: 2     t = 6: a {3}, b {}: none
    query = aggregate_join(over("a", "s", RANGE, 4), over("b", "u", RANGE, 2), every=2)
    batch = {
        "s": rows(("x", 1, 0), ("x", 2, 3), ("z", 0, 6)),
        "u": rows(("x", 5, 1), ("x", 6, 3), ("y", 7, 1), ("z", 0, 11)),
    }
    assert result(query, batch) == [(2, "x", 1), (4, "x", 2)]


def test_instants_end_at_the_frontier_of_the_slowest_stream() -> None:
    #  s is at 20, u at 7 - 5 = 2: only t = 1 and 2 are final
    query = aggregate_join(over("a", "s", UNBOUNDED), over("b", "u", UNBOUNDED), every=1)
    batch = {"s": rows(("x", 1, 0), ("x", 1, 20)), "u": rows(("x", 1, 0), ("z", 1, 7))}
    assert result(query, batch) == [(1, "x", 1), (2, "x", 1)]
    assert result(query, {"s": batch["s"]}) == []
    assert result(query, {"s": batch["s"], "u": rows(("x", 1, None))}) == []


def test_windows_are_half_open() -> None:
    #  [t - 4, t) for t = 0, 4, 8: -4 and -1 in the first, 0 and 3 in the second, 4 in the third
    query = aggregate_join(over("a", "s", TUMBLE, 4), every=4)
    assert result(query, {"s": rows(*(("x", 1, t) for t in (-4, -1, 0, 3, 4, 8)))}) == [
        (0, "x", 2),
        (4, "x", 2),
        (8, "x", 1),
    ]


def test_without_keys_there_is_a_result_where_there_is_a_row() -> None:
    #  t = 1 has 0, t = 2 has nothing, t = 3 has 2
    query = aggregate_join(over("a", "s", RANGE, 1), every=1, keys=())
    assert result(query, {"s": rows(("x", 1, 0), ("y", 1, 2), ("y", 1, 3))}) == [(1, 1), (3, 1)]


def test_null_is_a_group() -> None:
    query = aggregate_join(over("a", "s", RANGE, 1), every=1)
    assert result(query, {"s": rows((None, 1, 0), (None, 2, 0), ("x", 1, 1))}) == [(1, None, 2)]


VALUE = Text('"v"', "BIGINT")
PRODUCT = QueryAggregate(
    Aggregate("SUM", (Text('"a.v" * "b.v"', "BIGINT"),)), None, (ColumnRef(0, "v"), ColumnRef(1, "v"))
)
CALLS = (
    QueryAggregate(Aggregate("SUM", (VALUE,)), 0, (ColumnRef(0, "v"),)),
    QueryAggregate(Aggregate("SUM", (VALUE,)), 1, (ColumnRef(1, "v"),)),
    PRODUCT,
    QueryAggregate(Aggregate("COUNT_ROWS", where=Text('"v" > 1', "BOOLEAN")), 0, (ColumnRef(0, "v"),)),
    QueryAggregate(Aggregate("COUNT", (VALUE,)), 1, (ColumnRef(1, "v"),)),
    QueryAggregate(Aggregate("COUNT_DISTINCT", (VALUE,)), 0, (ColumnRef(0, "v"),)),
)


def test_aggregates_of_one_input_and_of_several() -> None:
    #  a: 1 at 0, 2 at 1     b: 10 at 1, 20 at 0, NULL at 2     six combinations
    query = aggregate_join(over("a", "s", RANGE, 9), over("b", "u", RANGE, 9), every=9, calls=CALLS)
    batch = {
        "s": rows(("x", 1, 0), ("x", 2, 1), ("z", 0, 9)),
        "u": rows(("x", 10, 1), ("x", 20, 0), ("x", None, 2), ("z", 0, 14)),
    }
    assert result(query, batch) == [(9, "x", 3 * 3, 2 * 30, 3 * 30, 3, 4, 2)]


def test_having_sees_keys_aggregates_and_the_instant() -> None:
    having = '"a0" > 1 AND "k0" <> \'y\' AND "window_end" > TIMESTAMP \'1970-01-01 00:00:01\''
    query = aggregate_join(over("a", "s", UNBOUNDED), every=1, having=having)
    batch = {"s": rows(("x", 1, 0), ("x", 1, 0), ("y", 1, 0), ("y", 1, 0), ("z", 1, 0), ("z", 1, 2))}
    assert result(query, batch) == [(2, "x", 2)]


def test_changes_alone_are_emitted() -> None:
    #  x in [t - 3, t): t = 1: 1; 2: 1 (no change); 3: 2; 4: 1; 5: 1; 6: 0 (deleted); 8: 1 again; 9: no change; y: 7 to 9
    query = aggregate_join(over("a", "s", RANGE, 3), every=1, changes=True)
    batch = {"s": rows(("x", 1, 0), ("x", 1, 2), ("x", 1, 7), ("y", 1, 6), ("z", 1, 9))}
    assert result(query, batch) == [
        (1, "x", 1, False),
        (3, "x", 2, False),
        (4, "x", 1, False),
        (6, "x", None, True),
        (7, "y", 1, False),
        (8, "x", 1, False),
    ]


def test_a_group_that_having_drops_is_deleted() -> None:
    #  sum of v in [t - 2, t): 1, 6, 5; HAVING keeps the 6
    query = aggregate_join(
        over("a", "s", RANGE, 2), every=1, changes=True, having=Text('"a0" > 5', "BOOLEAN"), calls=CALLS[:1]
    )
    batch = {"s": rows((None, 1, 0), (None, 5, 1), ("z", 1, 3))}
    assert result(query, batch) == [(2, None, 6, False), (3, None, None, True)]
    assert result(query, batch, until=2 * SECOND) == [(2, None, 6, False)]


def test_outputs_of_changes_are_over_null_aggregates_and_what_shows_the_instant_is_no_change() -> None:
    #  the count is shown halved: 1, 2, 3 give 0, 1, 1
    outputs = (
        output("t", f'epoch_us("window_end") // {SECOND}', "BIGINT"),
        output("half", 'coalesce("a0" // 2, -1)', "BIGINT"),
    )
    query = aggregate_join(over("a", "s", RANGE, 3), every=1, changes=True, keys=(), outputs=outputs)
    assert result(query, {"s": rows(*(("x", 1, t) for t in (0, 1, 2, 9)))}) == [
        (1, 0),
        (2, 1),
        (5, 0),
        (6, -1),
    ]


def test_begin_of_a_row_join() -> None:
    query = row_join(over("a", "s", RANGE, 10), over("b", "u", UNBOUNDED))
    batch = {"s": rows(("x", 1, 3), ("x", 2, 4)), "u": rows(("x", 5, 3), ("x", 6, 4))}
    assert result(query, batch, begin={"s": 4 * SECOND}) == [(2, 5), (2, 6)]
    assert result(query, batch, begin={"s": 4 * SECOND, "u": 4 * SECOND}) == [(2, 6)]


def test_begin_of_an_aggregate() -> None:
    #  range 4 every 2, begin 3: the first instant is 8, which has [4, 8)
    query = aggregate_join(over("a", "s", RANGE, 4), every=2, keys=())
    batch = {"s": rows(*(("x", 1, t) for t in range(11)))}
    assert result(query, batch, begin={"s": 3 * SECOND}) == [(8, 4), (10, 4)]
    assert result(query, batch, begin={"s": 3 * SECOND}, until=9 * SECOND) == [(8, 4)]
    assert result(query, batch, begin={"s": 4 * SECOND})[0] == (8, 4)


def test_an_unbounded_window_begins_with_its_query() -> None:
    #  slots of 2, begin 3: rows from 3 on, instants from 4 on
    query = aggregate_join(over("a", "s", UNBOUNDED), every=2, keys=())
    batch = {"s": rows(*(("x", 1, t) for t in range(9)))}
    assert result(query, batch, begin={"s": 3 * SECOND}) == [(4, 1), (6, 3), (8, 5)]
    assert result(query, batch, begin={"s": 4 * SECOND}) == [(6, 2), (8, 4)]


@pytest.mark.parametrize("changes", [False, True])
@pytest.mark.parametrize("batches", [[], [{}], [{"s": rows(), "u": rows()}], [{"s": rows(("x", 1, 0))}]])
def test_nothing_gives_nothing(batches: list[dict[str, pa.Table]], changes: bool) -> None:
    inputs = over("a", "s", RANGE, 1), over("b", "u", UNBOUNDED)
    assert result(aggregate_join(*inputs, every=1, changes=changes), *batches) == []
    assert result(row_join(*inputs), *batches) == []


def test_no_engine_code_is_shared() -> None:
    forbidden = (
        "thalweg.model.aggregates",
        "thalweg.plan",
        "thalweg.engine",
        "thalweg.optimizer",
        "thalweg.sql",
    )
    tree = ast.parse(Path(reference_joins.__file__).read_text())
    names = [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    assert not [n for n in names if n.startswith(forbidden)]
