"""LAG, LEAD and running aggregates, whoever comes and goes: each equals the definition."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as hs
from test_mixed_workloads import SELECTS as OTHERS
from test_mixed_workloads import Run, live_through, rows, usual

FRAMES = (
    "",
    " ROWS BETWEEN {n} PRECEDING AND CURRENT ROW",
    " ROWS UNBOUNDED PRECEDING",
    " RANGE BETWEEN INTERVAL '{n}' SECOND PRECEDING AND CURRENT ROW",
    " RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    " ROWS BETWEEN CURRENT ROW AND CURRENT ROW",
)
CALLS = (
    "SUM(v)",
    "AVG(v + 1)",
    "COUNT(*)",
    "COUNT(k)",
    "MIN(v)",
    "MAX(v) FILTER (WHERE v < 15)",
    "COUNT(*) FILTER (WHERE v % 2 = 0)",
    "STDDEV_POP(v)",
    "MAX_BY(v, v % 5)",
)
NEIGHBOURS = ("LAG(v)", "LAG(v, {n})", "LAG(v, 2, -1)", "LAG(at, {n})", "LAG(v + 1, 0)", "ROW_NUMBER()")
LATER = ("LEAD(v)", "LEAD(v, {n})", "LEAD(at)")
PARTITIONS = ("PARTITION BY k ", "PARTITION BY v % 3, k ", "", "PARTITION BY k + v ")
TWICE = "SELECT k, v, w, c0, LAG(w) OVER (PARTITION BY v ORDER BY at) AS d0 FROM (SELECT k, v, v AS w, at, {calls} FROM s)"
SHAPES = (
    "SELECT k, v, at, {calls} FROM s",
    "SELECT *, {calls} FROM s WHERE v < 15",
    "SELECT v, {calls} FROM s QUALIFY c0 > 3",
    "SELECT x.v + 1 AS w, x.c0 FROM (SELECT k, v, {calls} FROM s WHERE v > 2) AS x WHERE x.c0 IS NOT NULL AND x.v < 20",
    "SELECT k, window_end, COUNT(*) AS n, SUM(v) AS total, MAX(c0) AS top FROM (SELECT k, v, {calls} FROM s) GROUP BY k, TUMBLE '2 seconds'",
    "SELECT k, v, at, {calls} FROM (SELECT s.k, s.v, GREATEST(s.at, r.at) AS at FROM s [RANGE 2 SECONDS] "
    "JOIN r [RANGE 2 SECONDS] ON s.k = r.k)",
    "SELECT k, v, at, {calls} FROM (SELECT k, v, at FROM s UNION ALL SELECT k, v, at FROM r WHERE v < 15)",
    TWICE,
)
OF_WINDOWS = (
    "SELECT k, v, window_end, {calls} FROM (SELECT k, window_end, SUM(v) AS v FROM s GROUP BY k, TUMBLE '1 second')",
    "SELECT k, v, {calls} FROM (SELECT s.k, COUNT(*) AS v, window_end FROM s [RANGE 2 SECONDS], r [RANGE 2 SECONDS] "
    "WHERE s.k = r.k GROUP BY s.k EVERY 1 SECOND)",
)


@hs.composite
def running_selects(draw: Any) -> str:
    """Rows with what runs along, in one of the forms in which it may be asked for."""
    shape, by = draw(hs.sampled_from([*SHAPES, *OF_WINDOWS])), draw(hs.sampled_from(PARTITIONS))
    time = "window_end" if shape in OF_WINDOWS else "at"
    found = []
    for i in range(draw(hs.integers(1, 3))):
        aggregate = draw(hs.booleans())
        near = [*NEIGHBOURS, *(LATER if shape != TWICE else ())]
        call = draw(hs.sampled_from(CALLS if aggregate else near))
        frame = draw(hs.sampled_from(FRAMES)) if aggregate else ""
        if time == "window_end":
            call = call.replace("(at", "(window_end" if "s.k" not in shape else "(v")
        found.append(f"{call} OVER ({by}ORDER BY {time}{frame}) AS c{i}")
    text = shape.replace("{calls}", ", ".join(found)).replace("{n}", str(draw(hs.sampled_from([1, 2, 3]))))
    return str(text) if "at" not in found[0][:9] else str(text.replace("c0 > 3", "c0 IS NOT NULL"))


def change(draw: Any, run: Run) -> None:
    """Something that a user does between two batches."""
    match what := draw(hs.sampled_from(["", "create", "create", "other", "drop", "sharing", "restart"])):
        case "create" if len(run.live) < 5:
            run.create(draw(running_selects()))
        case "other" if len(run.live) < 5:
            run.create(draw(hs.sampled_from(OTHERS)).format(n=2))
        case _:
            usual(draw, run, what)


@given(data=hs.data(), seed=hs.integers(0, 10**6))
def test_whoever_comes_and_goes(
    data: hs.DataObject, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = Run(tmp_path_factory.mktemp("running"), data.draw(hs.sampled_from([1, 2, 3])))
    run.create(data.draw(running_selects()))
    live_through(data.draw, run, change, seed)


FORMS = [*((SHAPES[0], f) for f in FRAMES), *((s, FRAMES[1]) for s in (*SHAPES[1:], *OF_WINDOWS))]


@pytest.mark.parametrize(("shape", "frame"), FORMS)
def test_each_form_gives_something(shape: str, frame: str, tmp_path: Path) -> None:
    run, random = Run(tmp_path, 2), Random(3)
    time = "window_end" if shape in OF_WINDOWS else "at"
    calls = f"SUM(v) OVER (PARTITION BY k ORDER BY {time}{frame}) AS c0, LAG(v, 2) OVER (PARTITION BY k ORDER BY {time}) AS c1"
    run.create(shape.replace("{calls}", calls).replace("{n}", "3"))
    ahead = calls.replace("LAG(v, 2)", "LEAD(v)")
    if shape != TWICE:
        run.create(shape.replace("{calls}", ahead).replace("{n}", "3"))
    for i in range(8):
        run.feed({n: rows(random, 2 * i, 10) for n in ("s", "r")})
    assert run.check() > 0
    run.session.close()
