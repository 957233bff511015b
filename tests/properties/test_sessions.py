"""Session windows: created, dropped and altered between batches, in any split, at any parallelism, with late rows, over and under other
queries: each equals the definition."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hs
from test_mixed_workloads import Run, live_through, rows, usual

from thalweg.errors import UsageError
from thalweg.testing.lifetimes import reference_of

GAPS = ("300 milliseconds", "1 second", "1500 milliseconds", "3 seconds")
SELECTS = (
    "SELECT k, window_start, window_end, COUNT(*) AS n, MAX(v) AS high FROM s GROUP BY k, SESSION '{g}'",
    "SELECT k, window_end, COUNT(*) AS n, MEDIAN(v) AS high, COUNT(DISTINCT v) AS d FROM s WHERE v % 3 = 0 GROUP BY k, SESSION '{g}'",
    "SELECT v % 2 AS k, window_end, SUM(v) FILTER (WHERE k > 1) AS n, FIRST(v) AS high, STDDEV_POP(v) AS d FROM s GROUP BY 1, SESSION '{g}'",
    "SELECT k, window_id, window_end, COUNT(*) AS n, MIN_BY(k, v) AS high FROM s "
    "GROUP BY k, WINDOWS(SESSION '{g}', TUMBLE '2 seconds', SESSION '2 seconds')",
    "SELECT window_end, COUNT(*) AS n, MAX(v) AS high, 1 AS k FROM s WHERE v > 17 GROUP BY session_window(at, '{g}') HAVING COUNT(*) > 1",
    "SELECT k, v, window_start, window_end, COUNT(*) AS n, 0 AS high FROM "
    "TABLE(SESSION(TABLE r PARTITION BY k, v, DESCRIPTOR(at), INTERVAL {g})) GROUP BY k, v, window_start, window_end",
)
FIRST = (
    "SELECT k, window_end, COUNT(*) AS n FROM (SELECT k, v, at FROM s UNION ALL SELECT k, v, at FROM r) GROUP BY k, SESSION '{g}'",
    "SELECT k, v, n, window_end FROM "
    "(SELECT k, v, window_end, ROW_NUMBER() OVER (PARTITION BY k, window_start, window_end ORDER BY v DESC, at) AS n FROM "
    "TABLE(SESSION(TABLE s PARTITION BY k, DESCRIPTOR(at), INTERVAL '{g}'))) WHERE n <= 2",
)
OVER = (
    "SELECT window_end, SUM(n) AS total, COUNT(*) AS sessions FROM ({i}) GROUP BY TUMBLE '2 seconds'",
    "SELECT k, window_end, MAX(n) AS n, MIN(high) AS low FROM ({i}) AS x GROUP BY k, HOP '4 seconds' BY '2 seconds'",
    "SELECT k, n * 2 AS twice, window_end FROM ({i}) AS x WHERE n > 1",
    "SELECT k, window_start, window_end, SUM(n) AS n, COUNT(*) AS sessions FROM ({i}) AS x GROUP BY k, SESSION '2 seconds'",
    "WITH x AS ({i}) SELECT r.k, r.v, x.n FROM r [RANGE 3 SECONDS] JOIN x [RANGE 2 SECONDS] ON r.k = x.k AND r.v <= x.high",
    "WITH x AS ({i}) SELECT r.k, COUNT(*) AS pairs, SUM(x.n) AS total FROM r [RANGE 3 SECONDS], x [RANGE 2 SECONDS] "
    "WHERE r.k = x.k GROUP BY r.k EVERY 1 SECOND",
)
UNDER = (
    "SELECT k, window_start, window_end, SUM(n) AS total FROM (SELECT k, window_end, COUNT(*) AS n FROM s WHERE v < 9 GROUP BY k, "
    "HOP '2 seconds' BY '1 second') AS x GROUP BY k, SESSION '{g}'",
    "SELECT k, window_end, COUNT(*) AS pairs FROM (SELECT s.k, r.v FROM s [RANGE 1 SECOND] JOIN r [RANGE 1 SECOND] ON s.k = r.k AND s.v = r.v) "
    "AS x GROUP BY k, SESSION '{g}'",
)
KEPT = [
    (SELECTS[0], SELECTS[0] + " HAVING COUNT(*) > 1"),
    (SELECTS[0], SELECTS[0].replace("MAX(v) AS high", "COUNT(*) + 1 AS more")),
]


def _forms() -> list[str]:
    return [
        *SELECTS,
        *SELECTS,
        *UNDER,
        *(o.replace("{i}", s) for o in OVER for s in (SELECTS[0], SELECTS[1])),
    ]


selects = hs.builds(lambda text, g: text.replace("{g}", g), hs.sampled_from(_forms()), hs.sampled_from(GAPS))


def change(draw: Any, run: Run) -> None:
    """Something that a user does between two batches."""
    match what := draw(
        hs.sampled_from(["", "late", "create", "create", "drop", "windows", "sharing", "restart"])
    ):
        case "late" if run.fed:
            run.feed({"s": rows(Random(len(run.fed)), draw(hs.integers(-3, 9)), 6)})
        case "create" if len(run.live) < 5:
            run.create(draw(selects))
        case _:
            usual(draw, run, what)


@given(data=hs.data(), seed=hs.integers(0, 10**6))
def test_whoever_comes_and_goes(
    data: hs.DataObject, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = Run(tmp_path_factory.mktemp("sessions"), data.draw(hs.sampled_from([1, 2, 3])))
    run.create(data.draw(selects))
    live_through(data.draw, run, change, seed)


@pytest.mark.parametrize("select", dict.fromkeys(_forms()))
def test_each_form_gives_something(select: str, tmp_path: Path) -> None:
    """Also to one who comes later, who is given no session that may have begun before."""
    run, random = Run(tmp_path, 2), Random(3)
    run.create(select.replace("{g}", "300 milliseconds"))
    for i in range(10):
        if i == 3:
            run.create(select.replace("{g}", "300 milliseconds"))
        run.feed({n: rows(random, 2 * i, 10) for n in ("s", "r")})
    assert run.check() > 0
    assert all(q.results().num_rows for q in run.made.values())
    run.session.close()


@pytest.mark.parametrize(("old", "new"), KEPT)
def test_one_that_needs_nothing_else_goes_on(old: str, new: str, tmp_path: Path) -> None:
    run, random = Run(tmp_path, 2), Random(3)
    old, new = (text.replace("{g}", "300 milliseconds") for text in (old, new))
    run.create(old)
    for i in range(10):
        if i == 5:
            before = run.made["q0"].results()
            run.session.sql(f"ALTER QUERY q0 AS {new}")
        run.feed({n: rows(random, 2 * i, 10) for n in ("s", "r")})
    handle = run.session.handle("q0")
    whole = reference_of(handle, run.session.catalog.streams, run.fed)
    assert before.num_rows and handle.results().num_rows
    last = pa.compute.max(before.column("window_end"))
    assert pa.compute.min(handle.results().column("window_end")).as_py() > last.as_py()
    if "HAVING" not in new:
        assert before.num_rows + handle.results().num_rows == whole.num_rows
    run.session.close()


def test_another_can_not_take_its_place(tmp_path: Path) -> None:
    run = Run(tmp_path, 1)
    run.create(SELECTS[0].replace("{g}", "1 second"))
    run.feed({n: rows(Random(1), 0, 9) for n in run.names})
    for other in (
        SELECTS[0].replace("{g}", "2 seconds"),
        "SELECT k, COUNT(*) AS n FROM s GROUP BY k, TUMBLE '1 second'",
    ):
        with pytest.raises(UsageError, match="has sessions that are not over") as error:
            run.session.sql(f"CREATE OR REPLACE QUERY q0 AS {other}")
        assert "drop it and create the new one" in str(error.value.hint)
    run.session.close()


def test_state_is_a_row_for_each_open_session(tmp_path: Path) -> None:
    run = Run(tmp_path, 1)
    (tmp_path / "r").mkdir()
    run.create("SELECT k, COUNT(*) AS n FROM s GROUP BY k, SESSION '10 seconds'")
    for second in range(6):
        times = pa.array([second * 1_000_000 + i * 1000 for i in range(200)], pa.timestamp("us"))
        run.feed({"s": pa.table({"k": [i % 4 for i in range(200)], "v": [1] * 200, "at": times})})
        assert sum(f.rows for f in run.session.latest_manifest().files) == 4
    late = pa.array([40_000_000], pa.timestamp("us"))
    run.feed({"s": pa.table({"k": [9], "v": [1], "at": late})})
    assert sum(f.rows for f in run.session.latest_manifest().files) == 1
    assert sorted(r["n"] for r in run.made["q0"].results().to_pylist()) == [300] * 4
    run.session.close()
