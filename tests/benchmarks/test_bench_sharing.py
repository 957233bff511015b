"""Queries, checks and figures of the sharing benchmark."""

from fractions import Fraction
from io import StringIO
from pathlib import Path
from random import Random

import duckdb
import pyarrow as pa
import pytest
from benchmarks.join_engine import fingerprint
from benchmarks.sharing import measure
from benchmarks.sharing_feeds import Ads, Attributes, Auctions, Feed, written
from benchmarks.sharing_points import Compared, Point, as_data, compared, ratio
from benchmarks.sharing_run import Measured, differing
from benchmarks.sharing_template import (
    VALUES,
    no_conditions,
    one_comparison,
    pattern_of,
    queries_of,
    share,
    similarity,
)
from benchmarks.sharing_workloads import PARTS, Workload, drawn, streams_of
from rich.console import Console

from benchmarks import sharing_report
from thalweg.testing.bound import bind_statements
from thalweg.testing.feeds import placed_sql


@pytest.mark.parametrize("ways", [2, 3, 4, 5])
@pytest.mark.parametrize("percent", [25, 50, 75, 100])
def test_queries_are_as_similar_to_the_pattern_as_asked_for(ways: int, percent: int):
    random, wanted = Random(3), Fraction(percent, 100)
    pattern = pattern_of(ways, random)
    queries = queries_of(200, pattern, wanted, one_comparison, random)
    found = [similarity(q, pattern) for q in queries]
    assert abs(float(sum(found)) / len(found) - wanted) < 0.01
    assert {q.window for q in queries} == {1, 2, 3} and all(
        len({p.stream for p in q.parts}) == ways for q in queries
    )
    assert all(len(p.conditions) == 1 for q in queries for p in q.parts)


def test_two_way_queries_of_half_similarity_have_ten_join_predicates():
    queries = drawn(500, conditions=no_conditions)
    assert len({tuple(p.keys for p in q.parts) for q in queries}) == 10 and streams_of(queries) == (0, 1)
    assert queries[:20] == drawn(20, conditions=no_conditions)
    assert {len(q.parts[0].columns) for q in queries} == {2, 6}


def test_a_row_belongs_to_the_part_of_queries_that_is_asked_for():
    rows = next(Attributes((0,), 2_000).batches(1))["s0"]
    parts = []
    for conditions in (share(0.25)(Random(i)) for i in range(100)):
        where = " AND ".join(f"a{c.attribute} {c.comparison} {c.value}" for c in conditions)
        parts.append(duckdb.sql(f"SELECT count(*) FROM rows WHERE {where}").fetchall()[0][0] / rows.num_rows)
    assert sum(parts) / len(parts) == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize("feed", [Attributes((0, 2), 100), Ads(100), Auctions(100, 100, 50, 2)])
def test_feeds_are_the_same_rows_again(feed: Feed, tmp_path: Path):
    one, other = list(feed.batches(3)), list(feed.batches(3))
    assert one == other and one[1] != one[2]
    assert sum(rows.num_rows for rows in one[2].values()) == feed.events
    assert [[name for name, _ in chunks] for chunks in written(feed, 2, tmp_path)] == [list(one[0])] * 2


def test_attributes_are_uniform_and_streams_have_seeds_of_their_own():
    found = next(Attributes((0, 1), 40_000).batches(1))
    assert found["s0"].num_rows == 20_000 and found["s0"].column("a0") != found["s1"].column("a0")
    assert set(found["s0"].column("a3").to_pylist()) == set(range(VALUES))


@pytest.mark.parametrize("part", PARTS)
def test_all_queries_of_all_parts_can_be_asked(part: str):
    for workload in PARTS[part]((1, 12), True):
        queries = "".join(f"CREATE QUERY q{i} AS {sql};" for i, sql in enumerate(workload.queries))
        assert len(bind_statements(placed_sql(workload.feed.sql, Path("in")) + queries).queries) in (1, 12)


def test_checksums_notice_a_difference():
    rows = pa.table({"a": [1, 2, 2], "b": [3, 4, 4]})
    same, doubled, other = (
        rows.take([2, 0, 1]),
        rows.take([0, 0, 1]),
        pa.table({"a": [1, 2, 2], "b": [3, 4, 5]}),
    )
    assert (
        fingerprint(same) == fingerprint(rows) and len({fingerprint(t) for t in (rows, doubled, other)}) == 3
    )
    one = {"q0": fingerprint(rows), "q1": fingerprint(rows)}
    assert (
        differing(one, {"q0": fingerprint(same), "q1": fingerprint(other)})
        == ("q1",)
        == differing(one, {"q0": fingerprint(rows)})
    )


def test_modes_are_run_and_compared(tmp_path: Path):
    queries = tuple(q.sql for q in drawn(3))
    workload = Workload("joins", "small", 3, Attributes((0, 1), 600), queries, 1, 2)
    best, off = measure(workload, ("best", "off"), tmp_path, 60)
    assert off.compared == Compared("best", ()) and best.compared in (None, Compared("best", ()))
    for point in (best, off):
        found = point.measured
        assert (
            len(found.ms) == len(found.cpu_ms) == 2
            and found.result_rows
            and found.state_rows
            and not point.wrong
        )
    assert not list(tmp_path.glob("session*"))


def test_what_takes_too_long_is_told(tmp_path: Path):
    workload = Workload("joins", "small", 1, Attributes((0, 1), 200), (drawn(1)[0].sql,), 1, 2)
    (point,) = measure(workload, ("off",), tmp_path, 0)
    assert (
        point.measured.ms == ()
        and point.measured.results is None
        and "of 3 batches in 0 s" in str(point.measured.failure)
    )
    assert sharing_report.verdict(point) == point.measured.failure


def test_tables_ratios_and_plots_show_the_figures(tmp_path: Path):
    found = {"best": (100.0, 7), "off": (300.0, 7), "all": (200.0, 8)}
    measured = {
        mode: Measured(8_000, 20, (ms,), 10, 99, {"q0": (5, sum_)}) for mode, (ms, sum_) in found.items()
    }
    points = [Point("joins", "small", 20, mode, m, compared(measured, mode)) for mode, m in measured.items()]
    assert (
        ratio(points, "best", ["off", "all"]) == 2
        and ratio(points, "best", ["off"]) == 3
        and ratio(points, "best", ["none"]) is None
    )
    assert [p.wrong for p in points] == [False, False, True]
    out = StringIO()
    sharing_report.show(points, Console(file=out, width=200))
    assert all(
        text in out.getvalue() for text in ("80.0 k", "1.60 M", "2.00x", "3.00x", "equal", "1 QUERIES DIFFER")
    )
    assert as_data(points)[0]["overall"] == 1_600_000
    sharing_report.plot(points, tmp_path / "joins.png")
    assert (tmp_path / "joins.png").stat().st_size > 1_000
