"""Queries over queries, created, replaced and dropped between batches, in any split and at any parallelism: each equals the definition."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as hs
from test_mixed_workloads import Run, live_through, rows, usual

COUNTS = "SELECT k, window_end, COUNT(*) AS n, MAX(v) AS high FROM s GROUP BY k, {w}"
WINDOWS = (
    "TUMBLE '1 second'",
    "TUMBLE '2 seconds'",
    "HOP '3 seconds' BY '1 second'",
    "HOP '3 seconds' BY '2 seconds'",
)
MET = "SELECT s.k, COUNT(*) AS n, MAX(s.v) AS high FROM s [RANGE {n} SECONDS], r [RANGE 2 SECONDS] WHERE s.k = r.k GROUP BY s.k EVERY 1 SECOND"
JOINED = (
    "SELECT s.k, s.v + r.v AS n, r.v AS high FROM s [RANGE {n} SECONDS] JOIN r [RANGE 1 SECOND] ON s.k = r.k"
)
INNER = (COUNTS, COUNTS, COUNTS.replace("GROUP BY", "WHERE v < 15 GROUP BY"), MET)
OUTER = (
    "SELECT window_start, window_end, SUM(n) AS total, COUNT(*) AS groups FROM ({i}) GROUP BY TUMBLE '2 seconds'",
    "SELECT k, window_end, MAX(n) AS most, MIN(high) AS low FROM ({i}) AS x GROUP BY k, HOP '4 seconds' BY '2 seconds'",
    "SELECT k, n * 2 AS twice, window_end FROM ({i}) AS x WHERE n > 1",
    "WITH x AS ({i}) SELECT window_end, MAX(n) AS most FROM x GROUP BY window_end",
    "WITH x AS ({i}), m AS (SELECT window_end, MAX(n) AS most FROM x GROUP BY window_end)"
    " SELECT x.k, x.n, x.window_end FROM x JOIN m ON x.window_end = m.window_end AND x.n >= m.most",
    "WITH x AS ({i}) SELECT r.k, r.v, x.n FROM r [RANGE 3 SECONDS] JOIN x [RANGE 2 SECONDS] ON r.k = x.k AND r.v <= x.high",
    "WITH x AS ({i}) SELECT r.k, COUNT(*) AS pairs, SUM(x.n) AS total FROM r [RANGE 3 SECONDS], x [RANGE 2 SECONDS]"
    " WHERE r.k = x.k GROUP BY r.k EVERY 1 SECOND",
    "WITH x AS ({i}), m AS (SELECT window_end, MAX(n) AS most FROM x GROUP BY window_end)"
    " SELECT window_end, SUM(most) AS total FROM m GROUP BY HOP '3 seconds' BY '1 second'",
)
OVER_ROWS = (
    "SELECT k, window_end, COUNT(*) AS c, MAX(n) AS most FROM ({i}) GROUP BY k, TUMBLE '2 seconds'",
    "WITH x AS ({i}) SELECT s.k, s.v, x.n FROM s [RANGE 2 SECONDS] JOIN x [RANGE 1 SECOND] ON s.k = x.k AND s.v = x.high",
)


@hs.composite
def nested_selects(draw: Any) -> str:
    """A query over another, or over joined rows."""
    if draw(hs.integers(0, 4)) == 0:
        inner, outer = JOINED, draw(hs.sampled_from(OVER_ROWS))
    else:
        inner, outer = draw(hs.sampled_from(INNER)), draw(hs.sampled_from(OUTER))
    window, length = draw(hs.sampled_from(WINDOWS)), draw(hs.sampled_from([1, 2, 3]))
    if draw(hs.booleans()):
        return (
            str(inner.format(w=window, n=length))
            if draw(hs.integers(0, 2)) == 0
            else _filled(outer, inner, window, length)
        )
    return _filled(outer, inner, window, length)


def _filled(outer: str, inner: str, window: str, length: int) -> str:
    return outer.format(i=inner.format(w=window, n=length))


def change(draw: Any, run: Run) -> None:
    """Something that a user does between two batches."""
    match what := draw(
        hs.sampled_from(["", "create", "create", "over", "drop", "plan", "evaluate", "sharing", "restart"])
    ):
        case "create" if len(run.live) < 5:
            run.create(draw(nested_selects()))
        case "over" if len(run.live) < 5:
            over_another(draw, run)
        case "drop":
            if names := droppable(run):
                run.drop(draw(hs.sampled_from(names)))
        case _:
            usual(draw, run, what)


def over_another(draw: Any, run: Run) -> None:
    """A query over one that runs, by its name."""
    names = [
        n
        for n in run.live
        if {"k", "n"} <= {o.name for o in run.made[n].query.outputs} and run.made[n].query.windows
    ]
    if names:
        run.create(
            f"SELECT window_end, SUM(n) AS total FROM {draw(hs.sampled_from(names))} GROUP BY TUMBLE '2 seconds'"
        )


def droppable(run: Run) -> list[str]:
    """The queries that no other one reads."""
    read = {name for n in run.live for name in run.made[n].query.reads}
    return [n for n in run.live if n not in read]


@given(data=hs.data(), seed=hs.integers(0, 10**6))
def test_whoever_comes_and_goes(
    data: hs.DataObject, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = Run(tmp_path_factory.mktemp("nested"), data.draw(hs.sampled_from([1, 2, 3])))
    run.create(data.draw(nested_selects()))
    live_through(data.draw, run, change, seed)


@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("inner", [COUNTS, MET])
def test_each_form_gives_something(outer: str, inner: str, tmp_path: Path) -> None:
    run, random = Run(tmp_path, 2), Random(3)
    run.create(_filled(outer, inner, WINDOWS[2], 2))
    for i in range(8):
        run.feed({n: rows(random, 2 * i, 10) for n in ("s", "r")})
    assert run.check() > 0
    run.session.close()


@pytest.mark.parametrize("outer", OVER_ROWS)
def test_joined_rows_are_of_their_latest_member(outer: str, tmp_path: Path) -> None:
    run, random = Run(tmp_path, 2), Random(3)
    run.create(_filled(outer, JOINED, "", 2))
    for i in range(8):
        run.feed({n: rows(random, 2 * i, 10) for n in ("s", "r")})
    assert run.check() > 0
    run.session.close()
