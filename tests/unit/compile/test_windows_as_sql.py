"""What the steps of windows compute, each run by DuckDB over rows that are drawn: however rows come in pieces and windows are combined
from shorter ones, the instances are those that the rows themselves make."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hs

from thalweg.compile.derive import derive_sql
from thalweg.compile.lifts import lift_sql, statistics_sql
from thalweg.compile.pieces import merge_sql
from thalweg.expr.nodes import Call, Column, Literal
from thalweg.model.aggregates import part_columns
from thalweg.model.query import Aggregate
from thalweg.model.windows import Window
from thalweg.optimizer.forest import Step, pieces
from thalweg.plan.nodes import Derived, Fragment, fragment

K, V = Column("k", "BIGINT"), Column("v", "BIGINT")
INVERTIBLE = tuple(Aggregate(f, (V,)) for f in ("SUM", "COUNT", "AVG"))
SAFE = tuple(Aggregate(f, (V,)) for f in ("MIN", "MAX", "COUNT_DISTINCT"))
Rows = list[tuple[int, int | None, int]]
rows_drawn = hs.lists(
    hs.tuples(hs.integers(0, 2), hs.none() | hs.integers(-5, 5), hs.integers(-40, 60)), max_size=25
)


def kept(window: Window, calls: tuple[Aggregate, ...], **other: Any) -> Fragment:
    parts = {p.name: p for a in calls for p in part_columns(a)}
    return fragment(Fragment("", "s", (), (K,), window, tuple(parts.values()), route=((0,),), **other))


def run(sql: str, tables: dict[str, Any], **parameters: int) -> list[tuple[Any, ...]]:
    """The rows of a statement, lists in them in order, in order."""
    with duckdb.connect() as db:
        for name, table in tables.items():
            db.register(name, table)
        used = {k: v for k, v in parameters.items() if f"${k}" in sql}
        found = db.execute(sql, used).fetchall()
    plain = [tuple(tuple(sorted(v)) if isinstance(v, list) else v for v in row) for row in found]
    return sorted(plain, key=repr)


def scan(rows: Rows) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table([pa.array(c, pa.int64()) for c in columns], names=["k", "v", "__time"])


def table(sql: str, tables: dict[str, Any], **parameters: int) -> pa.Table:
    with duckdb.connect() as db:
        for name, found in tables.items():
            db.register(name, found)
        used = {k: v for k, v in parameters.items() if f"${k}" in sql}
        return db.sql(sql, params=used).to_arrow_table()


def lifted(node: Fragment, rows: Rows, frontier: int = -1_000) -> pa.Table:
    return table(lift_sql(node), {"scan": scan(rows)}, frontier=frontier)


@given(rows_drawn, hs.sampled_from([Window(10, 10), Window(12, 4), Window(7, 7, 3)]))
def test_instances_are_those_that_a_row_falls_into(rows: Rows, window: Window) -> None:
    node = kept(window, (Aggregate("COUNT_ROWS"), Aggregate("SUM", (V,))))
    expected: dict[tuple[int, int], list[int | None]] = {}
    for k, v, at in rows:
        for m in range(-30, 40):
            if window.start(m) <= at < window.start(m) + window.range:
                expected.setdefault((k, m), []).append(v)
    sums = {key: [v for v in values if v is not None] for key, values in expected.items()}
    found = run(f"SELECT * FROM ({lift_sql(node)})", {"scan": scan(rows)}, frontier=-1_000)
    assert found == sorted(
        ((*key, len(values), sum(sums[key]) if sums[key] else None) for key, values in expected.items()),
        key=repr,
    )


@given(rows_drawn, hs.integers(0, 25), hs.sampled_from([Window(10, 10), Window(12, 4)]))
def test_pieces_become_what_all_rows_make(rows: Rows, cut: int, window: Window) -> None:
    node = kept(window, (*INVERTIBLE, *SAFE))
    both = pa.concat_tables([lifted(node, rows[:cut]), lifted(node, rows[cut:])])
    merged = run(merge_sql(node, "pieces"), {"pieces": both}, low=-100, high=100)
    assert merged == run(
        "SELECT * FROM whole",
        {"whole": table(merge_sql(node, "p"), {"p": lifted(node, rows)}, low=-100, high=100)},
    )


@pytest.mark.parametrize(
    ("window", "source", "how", "calls"),
    [
        (Window(30, 30), Window(10, 10), "all", (*INVERTIBLE, *SAFE)),
        (Window(40, 10), Window(10, 10), "all", (*INVERTIBLE, *SAFE)),
        (Window(40, 10), Window(10, 10), "prefix", INVERTIBLE),
        (Window(40, 20), Window(20, 10), "sparse", SAFE),
        (Window(50, 10), Window(20, 10), "sparse", SAFE),
        (Window(40, 20), Window(20, 10), "sparse", INVERTIBLE),
        (Window(30, 10, 5), Window(10, 10, 5), "all", INVERTIBLE),
        (Window(50, 50), Window(20, 10), "sparse", SAFE),
        (Window(70, 40, 10), Window(20, 10), "sparse", SAFE),
        (Window(40, 60, 20), Window(30, 10), "sparse", SAFE),
    ],
    ids=lambda value: "" if isinstance(value, tuple) else str(value),
)
@given(rows=rows_drawn)
def test_a_longer_window_from_a_shorter_one(
    window: Window, source: Window, how: str, calls: tuple[Aggregate, ...], rows: Rows
) -> None:
    """Of aggregates that bear no overlap, sparse pieces are those of a window that they tile."""
    short, long = kept(source, calls), kept(window, calls)
    step = Step(window, source, how)
    made = Derived("d", short.id, short.id, short.names, window, short.parts, pieces(step), how)
    instances = lifted(short, rows)
    found = table(derive_sql(made, source), {f"all_{short.id}": instances}, low=-100, high=100)
    expected = lifted(long, rows)
    names = expected.column_names
    assert run("SELECT * FROM t", {"t": found.select(names)}) == run("SELECT * FROM t", {"t": expected})


def test_late_rows_and_those_that_find_no_partner_are_left_out() -> None:
    rows: Rows = [(0, 1, 5), (0, None, 20), (0, 4, 21), (1, 9, 22)]
    few = replace(
        kept(Window(10, 10), ()), where=(Call(">", (V, Literal("1", "INTEGER")), "BOOLEAN"),), early=False
    )
    side = replace(few, columns=(K, V), required=(1,))
    assert run(lift_sql(side), {"scan": scan(rows)}, frontier=20) == [(0, 4, 2), (1, 9, 2)]
    assert run(statistics_sql(side), {"scan": scan(rows)}, frontier=20) == [(2, 2)]
