"""Unions of streams, under all that reads streams, created, replaced and dropped between batches: each equals the definition."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as hs
from test_mixed_workloads import Run, live_through, rows, usual

PARTS = (
    "SELECT k, v, at FROM s",
    "SELECT k, v * 2, at FROM r WHERE v < {n}5",
    "SELECT v % 3, k, at FROM s WHERE k IS NOT NULL AND v > {n}",
    "SELECT k, CAST(v AS DECIMAL(6,1)), at FROM r",
    "SELECT k, n, window_end FROM (SELECT k, COUNT(*) AS n, window_end FROM s GROUP BY k, TUMBLE '{n} seconds')",
    "SELECT k, MAX(v), window_end FROM r GROUP BY k, HOP '3 seconds' BY '1 second'",
    "SELECT s.k, s.v + r.v, s.at FROM s [RANGE {n} SECONDS] JOIN r [RANGE 1 SECOND] ON s.k = r.k",
    "SELECT k, v, at FROM (SELECT k, v, at FROM s WHERE v > 9 UNION ALL SELECT v, NULL, at FROM r WHERE k = {n})",
)
OVER = (
    "{u}",
    "SELECT k, v + 1 AS w FROM ({u}) AS x WHERE k <> {n}",
    "SELECT k, window_end, COUNT(*) AS c, SUM(v) AS total, MAX(v) AS high FROM ({u}) AS x GROUP BY k, TUMBLE '{n} seconds'",
    "SELECT k, window_id, window_end, COUNT(DISTINCT v) AS c FROM ({u}) AS x WHERE v > {n}"
    " GROUP BY k, WINDOWS(TUMBLE '1 second', HOP '4 seconds' BY '2 seconds')",
    "WITH x AS ({u}) SELECT x.k, x.v, r.v AS w FROM x [RANGE {n} SECONDS] JOIN r [RANGE 2 SECONDS] ON x.k = r.k AND x.v >= r.v",
    "WITH x AS ({u}) SELECT x.k, COUNT(*) AS pairs, SUM(x.v) AS total FROM x [RANGE {n} SECONDS], s [RANGE 2 SECONDS]"
    " WHERE s.k = x.k GROUP BY x.k EVERY 1 SECOND",
    "SELECT window_end, MAX(c) AS most FROM (SELECT k, COUNT(*) AS c, window_end FROM ({u}) AS x GROUP BY k, TUMBLE '1 second')"
    " GROUP BY TUMBLE '{n} seconds'",
    "WITH x AS ({u}), m AS (SELECT k, MAX(v) AS high, window_end FROM x GROUP BY k, TUMBLE '2 seconds')"
    " SELECT x.k, x.v, m.high FROM x [RANGE 2 SECONDS] JOIN m [RANGE 2 SECONDS] ON x.k = m.k AND x.v = m.high",
)


@hs.composite
def unions(draw: Any) -> str:
    """A query over a union of two or three parts."""
    parts = draw(hs.lists(hs.sampled_from(PARTS), min_size=2, max_size=3))
    return filled(draw(hs.sampled_from(OVER)), parts, draw(hs.integers(1, 3)))


def filled(over: str, parts: list[str], n: int) -> str:
    """A query over a union."""
    first, *rest = parts
    named = (
        f"SELECT k, v, at FROM ({first})"
        if first in PARTS[:1]
        else f"SELECT k, v, at FROM s WHERE v < 0 UNION ALL {first}"
    )
    return over.format(u=" UNION ALL ".join([named, *rest]), n=n).format(n=n)


def change(draw: Any, run: Run) -> None:
    """Something that a user does between two batches."""
    match what := draw(
        hs.sampled_from(["", "create", "create", "drop", "plan", "evaluate", "sharing", "restart"])
    ):
        case "create" if len(run.live) < 5:
            run.create(draw(unions()))
        case _:
            usual(draw, run, what)


@given(data=hs.data(), seed=hs.integers(0, 10**6))
def test_whoever_comes_and_goes(
    data: hs.DataObject, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = Run(tmp_path_factory.mktemp("unions"), data.draw(hs.sampled_from([1, 2, 3])))
    run.create(data.draw(unions()))
    live_through(data.draw, run, change, seed)


@pytest.mark.parametrize("over", OVER)
@pytest.mark.parametrize("part", PARTS[1:])
def test_each_form_gives_something(over: str, part: str, tmp_path: Path) -> None:
    run, random = Run(tmp_path, 2), Random(3)
    run.create(filled(over, [PARTS[0], part], 1))
    for i in range(8):
        run.feed({n: rows(random, 2 * i, 10) for n in ("s", "r")})
    assert run.check() > 0
    run.session.close()
