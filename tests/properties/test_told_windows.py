"""Windows whose results are told while they are open, created and dropped between batches, in any split and at any parallelism: what is
told equals the definition, and what is left of it is what the same windows give when they are over."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as hs
from test_mixed_workloads import Run, live_through, rows, usual

from thalweg.testing.comparison import compare

SELECTS = (
    "SELECT k, window_end, COUNT(*) AS n, SUM(v) AS total FROM s GROUP BY k, TUMBLE '{n} seconds' EMIT EVERY 1 SECOND",
    "SELECT k, window_start, window_end, MAX(v) AS high, AVG(v) AS mean FROM s WHERE v < 18 GROUP BY k, HOP '{n} seconds' BY '1 second'"
    " EMIT CHANGES",
    "SELECT window_id, window_end, COUNT(DISTINCT k) AS keys, MIN(v) AS low FROM r"
    " GROUP BY WINDOWS(TUMBLE '2 seconds', HOP '{n} seconds' BY '2 seconds' OFFSET '500 milliseconds' AS 'h')"
    " EMIT EVERY 700 MILLISECONDS",
    "SELECT v % 3 AS rest, window_end, COUNT(*) AS n FROM s GROUP BY v % 3, TUMBLE '{n} seconds' HAVING COUNT(*) % 3 <> 1"
    " EMIT EVERY 400 MILLISECONDS",
    "SELECT k, window_end, MEDIAN(v) FILTER (WHERE v > 3) AS middle, MAX_BY(v, at) AS newest FROM r GROUP BY k, HOP '3 seconds' BY '2 seconds'"
    " HAVING MAX(v) < 2{n} EMIT EVERY {n} SECONDS",
    "SELECT k, window_end, COUNT(*) AS n FROM (SELECT k, at FROM s UNION ALL SELECT k, at FROM r WHERE v > {n}) GROUP BY k, TUMBLE '2 seconds'"
    " EMIT EVERY 1 SECOND",
    "SELECT k, window_end, SUM(n) AS total FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k, TUMBLE '1 second') GROUP BY k, TUMBLE '{n} seconds'"
    " EMIT EVERY 1 SECOND",
)
selects = hs.builds(lambda text, n: text.format(n=n), hs.sampled_from(SELECTS), hs.sampled_from([2, 3, 4]))


def change(draw: Any, run: Run) -> None:
    """Something that a user does between two batches."""
    match what := draw(
        hs.sampled_from(["", "create", "create", "twice", "drop", "plan", "sharing", "restart"])
    ):
        case "create" if len(run.live) < 5:
            run.create(draw(selects))
        case "twice" if len(run.live) < 4:
            select = draw(selects)
            run.create(select)
            run.create(select)
        case _:
            usual(draw, run, what)


@given(data=hs.data(), seed=hs.integers(0, 10**6))
def test_whoever_comes_and_goes(
    data: hs.DataObject, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = Run(tmp_path_factory.mktemp("told"), data.draw(hs.sampled_from([1, 2, 3])))
    run.create(data.draw(selects))
    live_through(data.draw, run, change, seed)


def ended(found: pa.Table, at: datetime) -> pa.Table:
    """The results of windows that end at an instant or before."""
    return found.filter(
        pc.less_equal(found.column("window_end"), pa.scalar(at, found.schema.field("window_end").type))
    )


@pytest.mark.parametrize("select", [s.format(n=3) for s in SELECTS])
def test_what_is_left_is_final(select: str, tmp_path: Path) -> None:
    run, random = Run(tmp_path, 2), Random(3)
    told = run.session.query(select, name="told")
    final = run.session.query(select.partition(" EMIT")[0], name="final")
    for i in range(8):
        run.feed({n: rows(random, 2 * i, 10) for n in ("s", "r")})
    run.made |= {"told": told, "final": final}
    assert run.check() > 0
    last = max(told.results().column("as_of").to_pylist())
    over, left = (ended(rows, last) for rows in (final.results(), told.state().drop_columns(["as_of"])))
    assert over.num_rows > 3
    compare(left, over)
    run.session.close()


def test_what_is_kept_is_of_open_windows(tmp_path: Path) -> None:
    run, random = Run(tmp_path, 1), Random(3)
    run.create(
        "SELECT k, window_end, COUNT(*) AS n FROM s GROUP BY k, HOP '4 seconds' BY '1 second' EMIT EVERY 1 SECOND"
    )
    for i in range(30):
        run.feed({n: rows(random, 2 * i, 10) for n in ("s", "r")})
    files = run.session.latest_manifest().files
    kept = sum(f.rows for f in files if f.fragment.startswith("changes"))
    assert 0 < kept < 5 * 4 * 12, "of each key the instances of the last seconds"
    run.check()
    run.session.close()
