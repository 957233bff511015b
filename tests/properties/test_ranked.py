"""The first rows of groups, in windows of streams and of results of others, whoever comes and goes: each equals the definition."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as hs
from test_mixed_workloads import SELECTS as OTHERS
from test_mixed_workloads import Run, live_through, rows, usual

FLINK = "SELECT * FROM (SELECT *, {f}() OVER (PARTITION BY window_start, window_end{k} ORDER BY {o}) AS rn FROM {t}) WHERE {b}"
TABLES = (
    "TABLE(TUMBLE(TABLE s, DESCRIPTOR(at), INTERVAL '{n}' SECOND))",
    "TABLE(HOP(TABLE s, DESCRIPTOR(at), INTERVAL '1' SECOND, INTERVAL '{n}' SECOND))",
    "TABLE(CUMULATE(TABLE s, DESCRIPTOR(at), INTERVAL '1' SECOND, INTERVAL '{n}' SECOND))",
    "(SELECT k, window_start, window_end, COUNT(*) AS v FROM s GROUP BY k, HOP '{n} seconds' BY '1 second')",
    "(SELECT k, v, window_start, window_end FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, v ORDER BY at) AS r"
    " FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(at), INTERVAL '{n}' SECOND))) WHERE r <= 2)",
)
FUNCTIONS = ("ROW_NUMBER", "RANK", "DENSE_RANK")
ORDERS = ("v DESC", "v % 5, k DESC NULLS FIRST", "k, v DESC", "v")
BOUNDS = ("rn <= 2", "rn = 1", "rn < 4 AND v > 3", "3 >= rn AND rn <> 2", "rn BETWEEN 2 AND 3")
QUALIFIED = (
    "SELECT k, v, at, window_end FROM s WHERE v < 15 QUALIFY {f}() OVER (PARTITION BY k, window(at, '{n} seconds') ORDER BY {o}) <= 2",
    "SELECT x.k, x.rn, x.v * 2 AS w FROM (SELECT k, v, window_start, {f}() OVER (PARTITION BY window_start ORDER BY {o}) AS rn FROM "
    "TABLE(TUMBLE(TABLE s, DESCRIPTOR(at), INTERVAL '{n}' SECOND)) WHERE v < 15) AS x WHERE x.rn <= 3 AND x.k IS NOT NULL",
    "SELECT window_end, COUNT(*) AS n, SUM(v) AS total FROM (SELECT v, window_end, {f}() OVER (PARTITION BY window_end, k ORDER BY {o}) AS rn "
    "FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(at), INTERVAL '1' SECOND)) QUALIFY rn <= 2) GROUP BY TUMBLE '{n} seconds'",
)


CHANGING = (
    "SELECT k, v, rn FROM (SELECT *, {f}() OVER (PARTITION BY k ORDER BY {o}) AS rn FROM s) WHERE {b} EVERY 1 SECOND",
    "SELECT v, at FROM (SELECT *, {f}() OVER (PARTITION BY k, v % 3 ORDER BY at DESC) AS rn FROM s WHERE v < 15) WHERE rn <= 2 EVERY 2 SECONDS",
    "SELECT k, v FROM (SELECT *, {f}() OVER (ORDER BY {o}) AS rn FROM s) WHERE {b} EVERY 1 SECOND EMIT FINAL",
    "SELECT k, v, rn FROM (SELECT *, {f}() OVER (PARTITION BY k ORDER BY at, {o}) AS rn FROM s) WHERE {b} EVERY 1 SECOND",
    "SELECT COUNT(*) AS n, SUM(v) AS total, window_end FROM (SELECT v FROM s QUALIFY {f}() OVER (PARTITION BY k ORDER BY at, {o}) <= 2"
    " EVERY 1 SECOND) GROUP BY TUMBLE '{n} seconds'",
    "SELECT k, v, window_end FROM s [RANGE {n} SECONDS] QUALIFY {f}() OVER (PARTITION BY k ORDER BY {o}) <= 2 EVERY 1 SECOND EMIT CHANGES",
    "SELECT s.k, s.v, r.v AS w FROM s [RANGE {n} SECONDS], r [UNBOUNDED] WHERE s.k = r.k AND s.v < r.v "
    "QUALIFY {f}() OVER (PARTITION BY s.k ORDER BY r.v DESC, s.at) <= 2 EVERY 1 SECOND EMIT CHANGES",
    "SELECT s.k, rn, s.at FROM (SELECT s.k, s.at, {f}() OVER (PARTITION BY s.k ORDER BY s.v) AS rn FROM s [RANGE {n} SECONDS], "
    "r [RANGE 2 SECONDS] WHERE s.k = r.k) AS s WHERE rn <= 2 EVERY 1 SECOND",
    "SELECT v, n FROM (SELECT v, COUNT(*) AS n, window_end FROM s GROUP BY v, TUMBLE '1 second') QUALIFY {f}() OVER "
    "(PARTITION BY v % 2 ORDER BY n DESC) <= 3 EVERY 2 SECONDS",
)


@hs.composite
def ranked_selects(draw: Any) -> str:
    """First rows in windows, in one of the forms in which they may be asked for."""
    choose = {"f": FUNCTIONS, "o": ORDERS, "b": BOUNDS, "k": ("", ", k", ", v % 3"), "n": (2, 3)}
    found = {name: draw(hs.sampled_from(values)) for name, values in choose.items()}
    text = draw(hs.sampled_from([*(FLINK.replace("{t}", t) for t in TABLES), *QUALIFIED, *CHANGING]))
    return str(text.format(**found))


def change(draw: Any, run: Run) -> None:
    """Something that a user does between two batches."""
    match what := draw(
        hs.sampled_from(
            ["", "create", "create", "other", "drop", "sharing", "windows", "plan", "evaluate", "restart"]
        )
    ):
        case "create" if len(run.live) < 5:
            run.create(draw(ranked_selects()))
        case "other" if len(run.live) < 5:
            run.create(draw(hs.sampled_from(OTHERS)).format(n=2))
        case _:
            usual(draw, run, what)


@given(data=hs.data(), seed=hs.integers(0, 10**6))
def test_whoever_comes_and_goes(
    data: hs.DataObject, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = Run(tmp_path_factory.mktemp("ranked"), data.draw(hs.sampled_from([1, 2, 3])))
    run.create(data.draw(ranked_selects()))
    live_through(data.draw, run, change, seed)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("text", [*(FLINK.replace("{t}", t) for t in TABLES), *QUALIFIED, *CHANGING])
def test_each_form_gives_something(text: str, function: str, tmp_path: Path) -> None:
    run, random = Run(tmp_path, 2), Random(3)
    for order in ORDERS[:2]:
        run.create(text.format(f=function, o=order, b=BOUNDS[0], k=", k", n=3))
    for i in range(8):
        run.feed({n: rows(random, 2 * i, 10) for n in ("s", "r")})
    assert run.check() > 0
    run.session.close()
