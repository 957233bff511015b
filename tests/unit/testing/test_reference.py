"""The reference against results computed by hand."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from thalweg.expr.nodes import Expr
from thalweg.model.query import Aggregate, Query
from thalweg.model.stream import Column, Stream
from thalweg.model.windowed import windowed
from thalweg.model.windows import SECOND, NamedWindow, Window
from thalweg.testing import calls
from thalweg.testing import reference as reference_module
from thalweg.testing.reference import frontier, late_rows, late_rows_of, reference
from thalweg.testing.texts import Text, output

EPOCH = datetime(1970, 1, 1)
STREAM = Stream("s", (Column("k", "VARCHAR"), Column("v", "BIGINT"), Column("at", "TIMESTAMP")), "at")
KEY, VALUE = Text('"k"', "VARCHAR"), Text('"v"', "BIGINT")
Row = tuple[Any, ...]


def at(seconds: float) -> datetime:
    return EPOCH + timedelta(seconds=seconds)


def batch(*rows: Row) -> pa.Table:
    """A micro-batch of (key, value, seconds)."""
    times = [None if r[2] is None else at(r[2]) for r in rows]
    return pa.table(
        {
            "k": pa.array([r[0] for r in rows], pa.string()),
            "v": pa.array([r[1] for r in rows], pa.int64()),
            "at": pa.array(times, pa.timestamp("us")),
        }
    )


def stream(delay: int = 0) -> Stream:
    return Stream("s", STREAM.columns, "at", delay * SECOND)


def query(
    windows: Sequence[Window],
    *aggregates: Aggregate,
    keys: tuple[Expr, ...] = (),
    where: tuple[Expr, ...] = (),
    having: Expr | None = None,
) -> Query:
    """A query that puts out window_id, the bounds in seconds, the keys and the aggregates."""
    names = ["window_id", *(f"k{i}" for i in range(len(keys))), *(f"a{i}" for i in range(len(aggregates)))]
    bounds = [output(n, f'epoch_us("{n}") // {SECOND}', "BIGINT") for n in ("window_start", "window_end")]
    outputs = bounds + [output(n, f'"{n}"', "VARCHAR") for n in names]
    named = tuple(NamedWindow(f"w{i}", w) for i, w in enumerate(windows))
    return windowed("q", "s", where, keys, named, aggregates, tuple(outputs), having)


def seconds(range_: float, slide: float | None = None, offset: float = 0) -> Window:
    return Window(int(range_ * SECOND), int((slide or range_) * SECOND), int(offset * SECOND))


def rows_of(table: pa.Table) -> list[Row]:
    return sorted(zip(*(c.to_pylist() for c in table.columns), strict=True), key=repr)


def counts(q: Query, s: Stream, *batches: pa.Table, **bounds: int) -> list[Row]:
    """(start, end, aggregates...) of a query with one window, by start."""
    found = rows_of(reference(q, s, batches, **bounds).drop_columns(["window_id"]))
    return sorted(found, key=lambda r: r[:2])


COUNT = Aggregate("COUNT_ROWS")


def test_tumbling() -> None:
    #  0    5    10        20        30
    #  a----b----|c--------|---------d     frontier 25 - 0
    #  [0,10): 2   [10,20): 1   [20,30) open
    rows = batch(("x", 1, 0), ("x", 2, 5), ("y", 3, 10), ("x", 4, 25))
    assert counts(query([seconds(10)], COUNT), stream(), rows) == [(0, 10, 2), (10, 20, 1)]


def test_instance_closes_exactly_at_frontier() -> None:
    #  0         10        20
    #  a---------|b--------|c     frontier 20 closes [10,20) though c is not in it
    rows = batch(("x", 1, 0), ("x", 1, 19.999999), ("x", 1, 20))
    assert counts(query([seconds(10)], COUNT), stream(), rows) == [(0, 10, 1), (10, 20, 1)]


def test_delay_holds_instances_open() -> None:
    #  last row 20, delay 1: frontier 19, [10,20) stays open
    rows = batch(("x", 1, 0), ("x", 1, 12), ("x", 1, 20))
    assert counts(query([seconds(10)], COUNT), stream(1), rows) == [(0, 10, 1)]


def test_hopping_range_not_multiple_of_slide() -> None:
    #  W<5,2>: [-4,1) [-2,3) [0,5) [2,7) [4,9) [6,11)
    #  row at 0 is in [-4,1) [-2,3) [0,5); row at 4 in [0,5) [2,7) [4,9); frontier 9
    rows = batch(("x", 1, 0), ("x", 1, 4), ("x", 1, 9))
    assert counts(query([seconds(5, 2)], COUNT), stream(), rows) == [
        (-4, 1, 1),
        (-2, 3, 1),
        (0, 5, 2),
        (2, 7, 1),
        (4, 9, 1),
    ]


def test_slide_greater_than_range_leaves_gaps() -> None:
    #  W<2,5>: [0,2)...[5,7)...[10,12)    rows at 1, 3 (in a gap), 6; frontier 12
    rows = batch(("x", 1, 1), ("x", 1, 3), ("x", 1, 6), ("x", 1, 12))
    assert counts(query([seconds(2, 5)], COUNT), stream(), rows) == [(0, 2, 1), (5, 7, 1)]


def test_offset() -> None:
    #  W<10,10> + 3: [-7,3) [3,13) [13,23)    rows at 2, 3, 12, 13; frontier 23
    rows = batch(*(("x", 1, t) for t in (2, 3, 12, 13, 23)))
    assert counts(query([seconds(10, 10, 3)], COUNT), stream(), rows) == [(-7, 3, 1), (3, 13, 2), (13, 23, 1)]


def test_before_1970() -> None:
    #  [-20,-10) [-10,0) [0,10)    rows at -20, -11, -0.000001, 0
    rows = batch(*(("x", 1, t) for t in (-20, -11, -0.000001, 0, 10)))
    assert counts(query([seconds(10)], COUNT), stream(), rows) == [(-20, -10, 2), (-10, 0, 1), (0, 10, 1)]


def test_hopping_before_1970() -> None:
    #  W<6,4>: [-12,-6) [-8,-2) [-4,2)    row at -7 is in the first two, row at -4 in the last two
    rows = batch(("x", 1, -7), ("x", 1, -4), ("x", 1, 2))
    assert counts(query([seconds(6, 4)], COUNT), stream(), rows) == [(-12, -6, 1), (-8, -2, 2), (-4, 2, 1)]


def test_late_rows_change_nothing() -> None:
    #  batch 0: 1 12          frontier after it 10 (delay 2)
    #  batch 1: 9 10 11       9 is late, 10 is not; its own 30 does not make 11 late
    s, q = stream(2), query([seconds(10)], COUNT)
    batches = [batch(("x", 1, 1), ("x", 1, 12)), batch(("x", 1, 30), ("x", 1, 9), ("y", 1, 10), ("y", 1, 11))]
    assert counts(q, s, *batches) == [(0, 10, 1), (10, 20, 3)]
    assert late_rows(s, batches) == 1
    assert late_rows_of(query([seconds(10)], COUNT, where=(Text("\"k\" = 'x'", "BOOLEAN"),)), s, batches) == 1
    assert late_rows_of(query([seconds(10)], COUNT, where=(Text("\"k\" = 'y'", "BOOLEAN"),)), s, batches) == 0
    assert frontier(s, batches) == 28 * SECOND


def test_frontier_passes_over_empty_batches_and_null_times() -> None:
    #  batch 0: 20   batch 1: empty   batch 2: NULL   batch 3: 5 (late)
    batches = [batch(("x", 1, 20)), batch(), batch(("x", 1, None)), batch(("x", 1, 5))]
    assert counts(query([seconds(10)], COUNT), stream(), *batches) == []
    assert late_rows(stream(), batches) == 1


@pytest.mark.parametrize("batches", [[], [batch()], [batch(("x", 1, None))]])
def test_nothing_is_final_without_an_event_time(batches: list[pa.Table]) -> None:
    result = reference(query([seconds(10)], COUNT), stream(), batches)
    assert result.num_rows == 0 and result.column_names == ["window_start", "window_end", "window_id", "a0"]
    assert frontier(stream(), batches) is None and late_rows(stream(), batches) == 0


def test_keys_null_among_them() -> None:
    rows = batch(("x", 1, 0), (None, 2, 1), (None, 3, 2), ("x", None, 3), ("x", 1, 10))
    q = query([seconds(10)], COUNT, Aggregate("COUNT", (VALUE,)), Aggregate("SUM", (VALUE,)), keys=(KEY,))
    assert rows_of(reference(q, stream(), [rows])) == [
        (0, 10, "w0", "x", 2, 1, 1),
        (0, 10, "w0", None, 2, 2, 5),
    ]


def test_where_having_and_many_windows() -> None:
    #  v > 0 keeps 1, 4 and 15; [0,10) has 2, [10,20) has 1, [0,20) has 3; HAVING drops the 1
    rows = batch(("x", 5, 1), ("x", 0, 2), ("x", None, 3), ("x", 5, 4), ("x", 5, 15), ("x", 0, 20))
    q = query(
        [seconds(10), seconds(20)],
        COUNT,
        where=(Text('"v" > 0', "BOOLEAN"),),
        having=Text('"a0" > 1', "BOOLEAN"),
    )
    assert rows_of(reference(q, stream(), [rows])) == [(0, 10, "w0", 2), (0, 20, "w1", 3)]


def test_begin_and_until() -> None:
    #  W<10,5>: [-5,5) [0,10) [5,15) [10,20) [15,25); begin 5, until 20 leave [5,15) [10,20)
    rows = batch(*(("x", 1, t) for t in (1, 6, 11, 16, 25)))
    q = query([seconds(10, 5)], COUNT)
    assert counts(q, stream(), rows, begin=5 * SECOND, until=20 * SECOND) == [(5, 15, 2), (10, 20, 2)]
    assert [r[0] for r in counts(q, stream(), rows, begin=1)] == [5, 10, 15]


def test_zone_marks_do_not_matter() -> None:
    plain = batch(("x", 1, 1), ("x", 1, 12))
    marked = plain.set_column(2, "at", plain.column("at").cast(pa.timestamp("us", tz="UTC")))
    assert counts(query([seconds(10)], COUNT), stream(), marked) == [(0, 10, 1)]


def only(aggregate: Aggregate, *rows: Row) -> Any:
    """The aggregate over rows that all fall into [0, 10)."""
    result = reference(query([seconds(10)], aggregate), stream(), [batch(*rows, ("end", None, 10))])
    assert result.num_rows == 1
    return result.column("a0")[0].as_py()


@pytest.mark.parametrize(
    ("function", "values", "expected"),
    [
        ("COUNT_ROWS", [1, None], 2),
        ("COUNT", [1, None], 1),
        ("COUNT", [None], 0),
        ("COUNT_DISTINCT", [1, 1, 2, None], 2),
        ("COUNT_DISTINCT", [None], 0),
        ("SUM", [1, 2, None], 3),
        ("SUM", [None], None),
        ("SUM", [2**62, 2**62], None),
        ("SUM", [2**62, 2**62, -1], 2**63 - 1),
        ("AVG", [1, 2, None], 1.5),
        ("AVG", [2**62, 2**62], float(2**62)),
        ("MIN", [3, 1, None], 1),
        ("MAX", [3, 1, None], 3),
        ("VAR_POP", [1, 3, None], 1.0),
        ("VAR_SAMP", [1, 3, None], 2.0),
        ("VAR_SAMP", [1], None),
        ("STDDEV_POP", [1, 3], 1.0),
        ("STDDEV_SAMP", [1, 3], math.sqrt(2)),
        ("MEDIAN", [1, 2, 4, 10, None], 3.0),
        ("MEDIAN", [None], None),
    ],
)
def test_aggregate(function: str, values: list[int | None], expected: Any) -> None:
    args = () if function == "COUNT_ROWS" else (VALUE,)
    assert only(Aggregate(function, args), *(("x", v, 1) for v in values)) == expected


def test_percentile_interpolates() -> None:
    #  1 2 3 11: position 0.9 * 3 = 2.7 is 3 + 0.7 * 8
    found = only(Aggregate("PERCENTILE", (VALUE,), params=("0.9",)), *(("x", v, 1) for v in (11, 1, 3, 2)))
    assert found == pytest.approx(8.6)


def test_booleans() -> None:
    positive = Text('"v" > 0', "BOOLEAN")
    rows = [("x", 1, 1), ("x", -1, 2), ("x", None, 3)]
    assert only(Aggregate("BOOL_AND", (positive,)), *rows) is False
    assert only(Aggregate("BOOL_OR", (positive,)), *rows) is True
    assert only(Aggregate("BOOL_OR", (positive,)), ("x", None, 3)) is None


def test_filter() -> None:
    positive = Text('"v" > 0', "BOOLEAN")
    rows = [("x", 1, 1), ("y", -1, 2), ("z", None, 3)]
    assert only(Aggregate("COUNT_ROWS", where=positive), *rows) == 1
    assert only(Aggregate("MIN_BY", (KEY, VALUE), positive), *rows) == "x"
    assert only(Aggregate("SUM", (VALUE,), positive), ("y", -1, 2)) is None


@pytest.mark.parametrize(
    ("function", "rows", "expected"),
    [
        #  rows with y NULL are ignored
        ("MIN_BY", [("x", None), ("b", 2), ("c", 3)], "b"),
        ("MAX_BY", [("x", None), ("b", 2), ("c", 3)], "c"),
        #  ties: the smallest x for MIN_BY, the largest for MAX_BY, NULL being the largest
        ("MIN_BY", [("c", 1), ("b", 1), (None, 1)], "b"),
        ("MAX_BY", [("c", 1), ("b", 1)], "c"),
        ("MAX_BY", [("c", 1), ("b", 1), (None, 1)], None),
        ("MIN_BY", [("x", None)], None),
    ],
)
def test_extreme_by(function: str, rows: list[Row], expected: str | None) -> None:
    assert only(Aggregate(function, (KEY, VALUE)), *((k, v, 1) for k, v in rows)) == expected


@pytest.mark.parametrize(
    ("function", "rows", "expected"),
    [
        ("FIRST", [(5, 2), (9, 1), (7, 3)], 9),
        ("LAST", [(5, 2), (9, 1), (7, 3)], 7),
        #  NULL is a value like any other
        ("FIRST", [(5, 2), (None, 1)], None),
        ("LAST", [(5, 2), (None, 3)], None),
        #  ties in time: FIRST the smallest, LAST the largest, NULL being the largest
        ("FIRST", [(None, 1), (5, 1), (3, 1)], 3),
        ("LAST", [(5, 1), (3, 1)], 5),
        ("LAST", [(5, 1), (None, 1), (3, 1)], None),
    ],
)
def test_first_and_last(function: str, rows: list[Row], expected: int | None) -> None:
    assert only(Aggregate(function, (VALUE,)), *(("x", v, t) for v, t in rows)) == expected


def test_awkward_column_names_and_types() -> None:
    columns = [
        ("batch", "DECIMAL(10,2)"),
        ("k0", "DATE"),
        ("front", "FLOAT"),
        ("m", "BOOLEAN"),
        ("order", "TIMESTAMP"),
    ]
    s = Stream("s", tuple(Column(n, t) for n, t in columns), "order")
    table = pa.table(
        {
            "batch": pa.array([Decimal("1.25"), Decimal("1.26"), None], pa.decimal128(10, 2)),
            "k0": [date(1969, 12, 31)] * 3,
            "front": pa.array([0.5, 1.5, None], pa.float32()),
            "m": [True, False, None],
            "order": pa.array([at(1), at(2), at(10)], pa.timestamp("us")),
        }
    )
    amount = Text('"batch"', "DECIMAL(10,2)")
    aggregates = (
        Aggregate("SUM", (amount,)),
        Aggregate("MEDIAN", (amount,)),
        Aggregate("AVG", (Text('"front"', "FLOAT"),)),
    )
    q = query(
        [seconds(10)],
        *aggregates,
        Aggregate("BOOL_OR", (Text('"m"', "BOOLEAN"),)),
        keys=(Text('"m" IS NULL', "BOOLEAN"), Text('"k0"', "DATE")),
    )
    (row,) = rows_of(reference(q, s, [table]))
    assert row == (0, 10, "w0", False, date(1969, 12, 31), Decimal("2.51"), pytest.approx(1.255), 1.0, True)


def test_unknown_function_is_refused() -> None:
    with pytest.raises(ValueError, match="does not define NOTHING"):
        only(Aggregate("NOTHING", (VALUE,)), ("x", 1, 1))


def test_no_engine_code_is_shared() -> None:
    forbidden = (
        "thalweg.model.aggregates",
        "thalweg.plan",
        "thalweg.engine",
        "thalweg.optimizer",
        "thalweg.sql",
    )
    for module in (reference_module, calls):
        tree = ast.parse(Path(module.__file__ or "").read_text())
        names = [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
        assert not [n for n in names if n.startswith(forbidden)]
