"""Windowed queries whose conditions differ are computed as one, whoever comes and goes: each equals the definition."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as hs
from test_mixed_workloads import Run, live_through, rows

from thalweg.engine.kernel import members
from thalweg.engine.kernel.folding import folded

CONDITIONS = (
    "v < {a}",
    "v >= {a}",
    "v = {a}",
    "v <> {a}",
    "v BETWEEN {b} AND {a}",
    "v IN ({a}, {b})",
    "k = 2",
    "k IS NULL",
    "v % 3 = 1",
    "v > k",
)
WINDOWS = (
    "TUMBLE '1 second'",
    "TUMBLE '3 seconds'",
    "HOP '4 seconds' BY '2 seconds'",
    "HOP '3 seconds' BY '2 seconds'",
    "TUMBLE '6 seconds'",
)
CALLS = (
    "COUNT(*) AS n",
    "SUM(v) AS s",
    "MAX(v) AS h, MIN(v) AS l",
    "COUNT(*) AS n, SUM(v) AS s, MAX(v) AS h",
    "COUNT(DISTINCT v) AS d",
    "AVG(v) AS a",
)
ENDS = ("", " HAVING COUNT(*) > 1")


@hs.composite
def texts(draw: Any) -> str:
    """A query over windows of one of two streams, with its own conditions."""
    where = " AND ".join(draw(hs.lists(hs.sampled_from(CONDITIONS), min_size=1, max_size=2)))
    windows = draw(hs.lists(hs.sampled_from(WINDOWS), min_size=1, max_size=3, unique=True))
    key = draw(hs.sampled_from(["k, ", "k, ", ""]))
    text = f"SELECT {key}window_id, window_end, {draw(hs.sampled_from(CALLS))} FROM {draw(hs.sampled_from('ssr'))} WHERE {where} "
    text = text.format(a=draw(hs.integers(0, 23)), b=draw(hs.integers(0, 12)))
    return f"{text}GROUP BY {key}WINDOWS({', '.join(windows)}){draw(hs.sampled_from(ENDS))}"


def change(draw: Any, run: Run) -> None:
    """Something that a user does between two batches."""
    match draw(
        hs.sampled_from(
            ["", "create", "create", "many", "drop", "drop", "twice", "windows", "sharing", "restart"]
        )
    ):
        case "create":
            run.create(draw(texts()))
        case "many" if len(run.live) < 10:
            for text in draw(hs.lists(texts(), min_size=2, max_size=5)):
                run.create(text)
        case "twice" if run.live:
            run.create(run.made[draw(hs.sampled_from(run.live))].query.text)
        case "drop" if run.live:
            run.drop(draw(hs.sampled_from(run.live)))
        case "windows":
            run.session.set("plan.windows", draw(hs.sampled_from(["best", "naive", "shared", "paper"])))
        case "sharing":
            run.session.set("plan.sharing", draw(hs.sampled_from(["best", "all", "all", "off"])))
        case "restart" if run.fed:
            run.restart(draw(hs.sampled_from([1, 2, 3])))


@given(data=hs.data(), seed=hs.integers(0, 10**6))
def test_pools_equal_the_definition(
    data: hs.DataObject, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = Run(tmp_path_factory.mktemp("pools"), data.draw(hs.sampled_from([1, 2, 3])))
    run.session.set("plan.sharing", data.draw(hs.sampled_from(["all", "best"])))
    for text in data.draw(hs.lists(texts(), min_size=2, max_size=6)):
        run.create(text)
    live_through(data.draw, run, change, seed)


@pytest.mark.parametrize("sharing", ["all", "best", "off"])
def test_a_hundred_filters_are_two_fragments(
    sharing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways: Counter[bool] = Counter()

    def watched(*args: Any) -> Any:
        found = folded(*args)
        ways[found is not None] += 1
        return found

    monkeypatch.setattr(members, "folded", watched)
    run, random = Run(tmp_path, 2), Random(3)
    run.session.set("plan.sharing", sharing)
    for i in range(100):
        condition = f"v > {i % 23}" if i % 3 else f"v = {i % 23} AND k < {i % 5}"
        run.create(
            f"SELECT k, window_end, COUNT(*) AS n, SUM(v) AS s FROM s WHERE {condition} GROUP BY k, TUMBLE '2 seconds'"
        )
    for i in range(4):
        run.feed({n: rows(random, 2 * i, 40) for n in ("s", "r")})
    fragments = run.session.runner.plan.fragments
    assert len(fragments) == (100 if sharing == "off" else 2), "one by v, one by v and k"
    assert sorted(f.celled for f in fragments) == ([False] * 100 if sharing == "off" else [False, True]), (
        "v alone is cut into cells"
    )
    assert run.check() > 0
    assert bool(ways[True]) == (sharing != "off"), "results of cells are folded"
    run.session.close()
