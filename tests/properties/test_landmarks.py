"""Groups without a window, told where they change, created, replaced and dropped between batches, in any split and at any parallelism: each
equals the definition."""

from __future__ import annotations

from pathlib import Path
from random import Random
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as hs
from test_mixed_workloads import Run, live_through, rows, usual

MET = "FROM s [UNBOUNDED], r [UNBOUNDED] WHERE s.k = r.k"
SELECTS = (
    "SELECT k, COUNT(*) AS n, MAX(v) AS high FROM s [UNBOUNDED] GROUP BY k EVERY 1 SECOND EMIT CHANGES",
    "SELECT COUNT(*) AS n, AVG(v) AS mean, COUNT(DISTINCT k) AS keys FROM s WHERE v > {n} EVERY {n} SECONDS",
    "SELECT v % 3 AS r, MIN(k) AS low, STDDEV_POP(v) AS spread FROM s GROUP BY v % 3 HAVING COUNT(*) < 1{n} EVERY 2 SECONDS EMIT CHANGES",
    f"SELECT s.k, COUNT(*) AS n, SUM(s.v) AS total {MET} AND r.v > 1{{n}} GROUP BY s.k EVERY 1 SECOND EMIT CHANGES",
    f"SELECT r.v, MAX(s.v - r.v) AS far {MET} GROUP BY r.v HAVING COUNT(*) > {{n}} EVERY 2 SECONDS EMIT CHANGES",
    "SELECT k, COUNT(*) AS n FROM s [UNBOUNDED] GROUP BY k EVERY {n} SECONDS",
    "SELECT DISTINCT k, v % {n} AS rest FROM r EVERY 1 SECOND",
    "SELECT k, MAX(n) AS most, MEDIAN(n) AS middle FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k, TUMBLE '1 second')"
    " GROUP BY k EVERY {n} SECONDS",
    "SELECT k, COUNT(*) AS n, MAX_BY(v, at) AS newest FROM (SELECT k, v, at FROM s UNION ALL SELECT k, v, at FROM r WHERE v > {n})"
    " GROUP BY k EVERY 1 SECOND",
)
FORGETTING = {
    "SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s GROUP BY k EVERY 1 SECOND": ("1 second", "3 seconds"),
    "SELECT v % 5 AS r, MAX(v) AS high, COUNT(DISTINCT k) AS c FROM s GROUP BY v % 5 HAVING COUNT(*) <> 2 EVERY 2 SECONDS": (
        "1 second",
        "5 seconds",
    ),
    "SELECT DISTINCT k FROM r WHERE v > 3 EVERY 1 SECOND": ("2 seconds", "500 milliseconds"),
    "SELECT MIN(v) AS low FROM s WHERE v > 20 EVERY 1 SECOND": ("2 seconds", "1 second"),
}
selects = hs.builds(
    lambda text, n: (text.format(n=n), None), hs.sampled_from(SELECTS), hs.sampled_from([1, 2, 3])
)
forgetting = hs.builds(
    lambda text, n: (text, FORGETTING[text][n]), hs.sampled_from(sorted(FORGETTING)), hs.sampled_from([0, 1])
)
asked = hs.one_of(selects, forgetting)


def change(draw: Any, run: Run) -> None:
    """Something that a user does between two batches."""
    match what := draw(
        hs.sampled_from(["", "create", "create", "twice", "drop", "plan", "sharing", "restart"])
    ):
        case "create" if len(run.live) < 5:
            run.create(*draw(asked))
        case "twice" if len(run.live) < 4:
            select = draw(asked)
            run.create(*select)
            run.create(*select)
        case _:
            usual(draw, run, what)


@given(data=hs.data(), seed=hs.integers(0, 10**6))
def test_whoever_comes_and_goes(
    data: hs.DataObject, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = Run(tmp_path_factory.mktemp("landmarks"), data.draw(hs.sampled_from([1, 2, 3])))
    run.create(*data.draw(asked))
    live_through(data.draw, run, change, seed)


FORMS = [*((s.format(n=1), None) for s in SELECTS), *((s, t[0]) for s, t in FORGETTING.items())]


@pytest.mark.parametrize(("select", "ttl"), FORMS)
def test_each_form_gives_something(select: str, ttl: str | None, tmp_path: Path) -> None:
    run, random = Run(tmp_path, 2), Random(3)
    run.create(select, ttl)
    for i in range(8):
        run.feed({n: rows(random, 2 * i, 10) for n in ("s", "r")})
    assert run.check() > 0
    run.session.close()


def test_instants_at_which_nothing_comes_are_not_looked_at(tmp_path: Path) -> None:
    run, random = Run(tmp_path, 2), Random(3)
    run.create("SELECT k, COUNT(*) AS n FROM s GROUP BY k EVERY 1 SECOND")
    started = process_time()
    for second in (0, 1_600_000_000, 1_700_000_000):
        run.feed({n: rows(random, second, 10) for n in ("s", "r")})
    assert process_time() - started < 5, "there are 1.7 billion instants between the rows"
    assert 10 < run.made["q0"].results().num_rows <= 30
    run.session.close()


def test_what_is_kept_is_one_row_for_each_group(tmp_path: Path) -> None:
    run, random = Run(tmp_path, 1), Random(3)
    run.create("SELECT k, COUNT(*) AS n FROM s GROUP BY k EVERY 1 SECOND")
    run.create("SELECT k, COUNT(*) AS n FROM s GROUP BY k EVERY 1 SECOND", "3 seconds")
    for i in range(40):
        run.feed({n: rows(random, 2 * i, 10) for n in ("s", "r")})
    run.feed({n: rows(random, 200, 1) for n in ("s", "r")})
    files = run.session.latest_manifest().files
    kept = {f.fragment: 0 for f in files if f.fragment.startswith("changes")}
    for file in (f for f in files if f.fragment in kept):
        kept[file.fragment] += file.rows
    assert len(kept) == 1, "of the one that forgets nothing is left"
    assert max(kept.values()) < 5 * 30 and sum(f.rows for f in files if f.fragment not in kept) < 5
    run.check()
    run.session.close()
