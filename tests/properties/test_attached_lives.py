"""Outer, semi and anti joins, and queries over them, created and dropped between batches with restarts: each equals the definition."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as hs
from test_mixed_workloads import Run, live_through

OUTER = "s [RANGE {n} SECONDS] {kind} JOIN r [RANGE 2 SECONDS] ON s.k = r.k"
SELECTS = (
    f"SELECT s.k, s.v, r.v AS w FROM {OUTER} AND r.v < 15",
    f"SELECT s.v, r.v AS w, r.at FROM {OUTER} AND s.v <= r.v WHERE r.v IS NULL OR s.v > 3",
    f"SELECT COALESCE(s.k, r.k) AS k, COUNT(*) AS n, COUNT(r.v) AS m, SUM(s.v) AS total FROM {OUTER}"
    " GROUP BY COALESCE(s.k, r.k) EVERY 1 SECOND",
    "SELECT k, v FROM s [RANGE {n} SECONDS] WHERE EXISTS (SELECT 1 FROM r [RANGE 2 SECONDS] WHERE r.k = s.k AND r.v > s.v)",
    "SELECT k, v, at FROM s [RANGE {n} SECONDS] WHERE NOT EXISTS (SELECT 1 FROM r [RANGE 2 SECONDS] WHERE r.k = s.k)",
    "SELECT s.v, r.v AS w FROM s [TUMBLE {n} SECONDS] {kind} JOIN r [TUMBLE {n} SECONDS] ON s.k = r.k AND r.v < 15",
    "SELECT k, COUNT(*) AS n FROM s [RANGE {n} SECONDS] WHERE k IN (SELECT k FROM r [RANGE 2 SECONDS]) AND v < 15"
    " GROUP BY k EVERY 1 SECOND EMIT CHANGES",
)
INNER = (
    f"SELECT s.k, s.v, r.v AS w FROM {OUTER}",
    "SELECT k, v, v AS w FROM s [RANGE {n} SECONDS] WHERE NOT EXISTS (SELECT 1 FROM r [RANGE 2 SECONDS] WHERE r.k = s.k)",
    "SELECT k, v, v AS w FROM s [RANGE {n} SECONDS] WHERE k IN (SELECT k FROM r [RANGE 1 SECOND] WHERE r.v < 15)",
)
OVER = (
    "SELECT k, window_end, COUNT(*) AS n, COUNT(w) AS m FROM ({i}) AS x GROUP BY k, TUMBLE '2 seconds'",
    "SELECT k, v, w FROM ({i}) AS x WHERE w IS NULL OR v > 2",
    "WITH x AS ({i}) SELECT r.v, x.v AS xv FROM r [RANGE 3 SECONDS] JOIN x [RANGE 3 SECONDS] ON r.k = x.k",
    "WITH x AS ({i}) SELECT r.v, x.v AS xv FROM r [RANGE 3 SECONDS] LEFT JOIN x [RANGE 3 SECONDS] ON r.k = x.k",
)


@hs.composite
def selects(draw: Any) -> str:
    """Such a join, or a query over one."""
    n, kind = draw(hs.sampled_from([1, 2, 3])), draw(hs.sampled_from(["LEFT", "LEFT", "RIGHT", "FULL"]))
    if draw(hs.integers(0, 2)):
        return str(draw(hs.sampled_from(SELECTS)).format(n=n, kind=kind))
    inner = draw(hs.sampled_from(INNER)).format(n=n, kind=kind)
    return str(draw(hs.sampled_from(OVER)).format(i=inner))


def change(draw: Any, run: Run) -> None:
    """Something that a user does between two batches."""
    match draw(hs.sampled_from(["", "create", "create", "drop", "join", "invalidate", "restart"])):
        case "create" if len(run.live) < 6:
            run.create(draw(selects()))
        case "drop" if run.live:
            run.drop(draw(hs.sampled_from(run.live)))
        case "join":
            run.session.set("plan.join", draw(hs.sampled_from(["best", "loop"])))
        case "invalidate":
            run.session.set("plan.invalidate", draw(hs.sampled_from(["slot", "both-all"])))
        case "restart" if run.fed:
            run.restart(draw(hs.sampled_from([1, 2, 3])))


@given(data=hs.data(), seed=hs.integers(0, 10**6))
def test_whoever_waits_while_queries_come_and_go(
    data: hs.DataObject, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = Run(tmp_path_factory.mktemp("attached"), data.draw(hs.sampled_from([1, 2, 3])))
    run.create(data.draw(selects()))
    live_through(data.draw, run, change, seed)
