"""Statistics that are declared: what they do to plans, and which of several origins counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from statistics_support import COLUMNS, WINDOWS, explained, join, stream_sql, window_statistics, write

from thalweg.api.session import Session
from thalweg.explain import explain
from thalweg.model.settings import Config
from thalweg.optimizer.planner import planner_for
from thalweg.optimizer.window_pools import placed_windows
from thalweg.optimizer.workload import build
from thalweg.plan.nodes import Plan
from thalweg.state.manifest import Manifest, Seen
from thalweg.statistics.known import (
    Figure,
    Known,
    Origin,
    Sampled,
    distinct_values,
    side_names,
    sides_to_sample,
)
from thalweg.testing.bound import bind_statements

MANY, FEW = ", rate = 1000, distinct = 'k: 50000, g: 50000'", ", rate = 1000, distinct = 'k: 10, g: 5'"


def test_declared_statistics_choose_the_plan_of_a_join() -> None:
    few = join(stream_sql("s", options=FEW) + stream_sql("r", options=FEW))["plan"]
    many = join(stream_sql("s", options=MANY) + stream_sql("r", options=MANY))["plan"]
    assert few["early"] == [True, True] and many["early"] == [False, False]


def test_a_declared_rate_chooses_the_plan_of_a_join() -> None:
    """Where there is always an exchange; else few rows are aggregated early to save it."""
    counts = ", distinct = 'k: 100, g: 5'"
    fast, slow = (
        stream_sql("s", options=f"{counts}, rate = {n}") + stream_sql("r", options=f"{counts}, rate = {n}")
        for n in (5_000, 1)
    )
    always = "SET plan.exchange = 'always';"
    assert join(fast)["plan"]["early"] == [True, True] and join(slow)["plan"]["early"] == [True, True]
    assert join(always + fast)["plan"]["early"] == [True, True]
    assert join(always + slow)["plan"]["early"] == [False, False]


def test_origins_of_declared_statistics() -> None:
    found = join(
        stream_sql("s", options=", rate = 70, distinct = 'k: 30, g: 4'")
        + stream_sql("r", options=", distinct = 'k: 9'")
    )
    left, right = found["inputs"]
    assert (left["rate"], left["keys"], left["sets"]) == (70, 30, 120)
    assert left["origins"] == {"rate": "declared", "share": "assumed", "keys": "declared", "sets": "declared"}
    assert (right["rate"], right["keys"], right["origins"]["rate"], right["origins"]["keys"]) == (
        1000,
        9,
        "assumed",
        "declared",
    )
    assert found["statistics"]["groups"] == 4 and found["statistics"]["origins"]["groups"] == "declared"


def test_windows_use_what_is_declared() -> None:
    found = window_statistics(stream_sql("s", options=", rate = 70, distinct = 'k: 30'"))
    assert (found["rate"], found["keys"]) == (70, 30)
    assert found["origins"] == {"rate": "declared", "keys": "declared", "batch_seconds": "assumed"}


def test_a_pool_is_expected_to_have_cells_for_each_key() -> None:
    queries = "".join(
        f"CREATE QUERY q{n} AS SELECT k, COUNT(*) AS n FROM s WHERE v > {n} GROUP BY k, TUMBLE '1 minute';"
        for n in range(40)
    )
    bound = bind_statements(stream_sql("s", options=", rate = 5000, distinct = 'k: 30'") + queries)
    planner = planner_for(Config(sharing="all"), streams=bound.streams.values())
    places = placed_windows(Plan(), tuple(bound.queries.values()), (), planner, "all")
    assert {planner.known.group(group).keys for group, _ in places.values()} == {
        Figure(600.0, Origin.DECLARED)
    }, "half of 40 for each of 30"


def test_the_text_names_each_origin() -> None:
    session = Session("nowhere")
    session.sql(stream_sql("s", options=", rate = 70") + WINDOWS.format(where="WHERE v > 3"))
    said = "70 rows/s (declared) in batches of 1 minute (assumed), 100 keys (assumed); where: 1.00 of rows (assumed)"
    assert said in " ".join(session.explain().text.split())


def test_python_declares_them_too() -> None:
    session = Session("nowhere")
    made = session.stream("s", "nowhere", columns=COLUMNS, time="at", rate=70, distinct={"k": 30, "g": 4})
    assert (made.rate, made.distinct) == (70.0, (("g", 4), ("k", 30)))
    table = session.relation("t", "nowhere.csv", "k BIGINT", format="csv", rows=12, distinct={"k": 3})
    assert (table.rows, table.distinct) == (12, (("k", 3),))


def test_tables_have_rows_and_values() -> None:
    table = "CREATE TABLE t (k BIGINT, name STRING) WITH (format = 'csv', path = 'nowhere.csv', rows = 12, distinct = 'k: 3');"
    text = "CREATE QUERY j AS SELECT a.g, COUNT(*) AS n FROM s AS a [RANGE 10 SECONDS], t AS b WHERE a.k = b.k GROUP BY a.g EVERY 10 SECONDS;"
    _, found = join(stream_sql("s") + table, text=text)["inputs"]
    assert (found["rows"], found["keys"]) == (12, 3)
    assert found["origins"] == {
        "rows": "declared",
        "share": "assumed",
        "keys": "declared",
        "sets": "declared",
    }


@pytest.mark.parametrize(
    ("declared", "sampled", "expected"),
    [
        ([30.0], 7.0, Figure(30, Origin.DECLARED)),
        ([30.0, 4.0], None, Figure(120, Origin.DECLARED)),
        ([30.0, 4.0], 500.0, Figure(120, Origin.DECLARED)),
        ([30.0, 4.0], 60.0, Figure(60, Origin.SAMPLED)),
        ([30.0, 4.0], 10.0, Figure(30, Origin.DECLARED)),
        ([30.0, None], 60.0, Figure(60, Origin.SAMPLED)),
        ([30.0, None], None, Figure(100, Origin.ASSUMED)),
        ([300.0, None], None, Figure(300, Origin.DECLARED)),
        ([None], 7.0, Figure(7, Origin.SAMPLED)),
        ([], None, Figure(100, Origin.ASSUMED)),
    ],
)
def test_values_of_several_columns(
    declared: list[float | None], sampled: float | None, expected: Figure
) -> None:
    assert distinct_values(declared, sampled, 100.0) == expected


def test_measured_before_declared_before_sampled_before_assumed() -> None:
    bound = bind_statements(
        stream_sql("s", options=", rate = 70, distinct = 'k: 30'") + WINDOWS.format(where="")
    )
    plain = bind_statements(stream_sql("s") + WINDOWS.format(where=""))
    seen = Manifest(seen=Seen({"s": (5.0, 2e6)}, {'["s", "", ["\\"k\\""]]': 3.0}))
    sampled = Sampled({"s": 400.0}, {'["s", "", ["\\"k\\""], []]': (1.0, 20.0, 1.0)})
    cases = [(seen, bound, sampled), (None, bound, sampled), (None, plain, sampled), (None, plain, None)]
    found = []
    for manifest, given, sample in cases:
        planner = planner_for(Config(), manifest, given.streams.values(), sampled=sample)
        plan = build(given.streams.values(), given.queries.values(), planner)
        (group,) = explain(plan, planner).data["windows"]["groups"]
        s = group["statistics"]
        found.append((s["rate"], s["keys"], s["origins"]["rate"], s["origins"]["keys"]))
    assert found == [
        (5, 3, "measured", "measured"),
        (70, 30, "declared", "declared"),
        (400, 20, "sampled", "sampled"),
        (1000, 100, "assumed", "assumed"),
    ]


def test_declared_before_sampled_from_a_file(tmp_path: Path) -> None:
    write(tmp_path / "s")
    found = window_statistics(stream_sql("s", tmp_path / "s", ", rate = 70"))
    assert found["rate"] == 70 and found["keys"] == pytest.approx(20, rel=0.1)
    assert (found["origins"]["rate"], found["origins"]["keys"]) == ("declared", "sampled")


def test_an_expression_is_not_declared() -> None:
    text = "CREATE QUERY w AS SELECT k + 1 AS x, window_end, MIN(v) AS low FROM s GROUP BY k + 1, WINDOWS(TUMBLE '10 seconds');"
    (group,) = explained(stream_sql("s", options=", distinct = 'k: 30'") + text)["windows"]["groups"]
    assert (group["statistics"]["keys"], group["statistics"]["origins"]["keys"]) == (100, "assumed")


def test_conditions_whatever_text_they_compare_with_are_known_by_themselves() -> None:
    """The share of rows that a sample has of `name = 'a|b'` is that of this condition, and of no other."""
    text = stream_sql("s") + WINDOWS.format(where="WHERE name = 'a|b' AND name <> 'c'")
    bound = bind_statements(text.replace("at TIMESTAMP", "name STRING, at TIMESTAMP"))
    (query,) = bound.queries.values()
    (side,) = sides_to_sample([query])
    known = Known(sampled=Sampled(sides=dict.fromkeys(side_names(side), (0.25, 1.0, 1.0))))
    assert known.share_of("s", query.where) == Figure(0.25, Origin.SAMPLED)
    assert known.share_of("s", query.where[:1]) == Figure(1.0)
