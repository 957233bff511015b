"""Queries that differ in conditions, windows and columns are computed as one, whoever comes and goes: each equals the definition."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as hs
from test_mixed_workloads import Run, live_through, rows

from thalweg.errors import UsageError

CONDITIONS = (
    "s.v < {a}", "s.v >= {a}", "s.v = {a}", "s.v <> {a}", "s.v BETWEEN {b} AND {a}", "s.v IN ({a}, {b})", "s.v NOT IN ({a}, {b})",
    "s.v % 3 = 1", "s.v + s.k > {a}", "s.v IS NOT NULL", "r.v < {a}", "r.v > {b}", "r.v = {a}", "r.k <= 2", "s.v < {a} AND r.v > {b}",
    "s.v < r.v",
    "s.v + {b} > r.v", "TRUE",
)  # fmt: skip
JOIN = "FROM s [RANGE {n} SECONDS], r [RANGE {m} SECONDS] WHERE s.k = r.k AND {where}"
SELECTS = (
    f"SELECT s.k, s.v, r.v AS w {JOIN}",
    f"SELECT r.v, s.v + 1 AS v1 {JOIN}",
    f"SELECT s.k, COUNT(*) AS n {JOIN} GROUP BY s.k EVERY {{e}} SECONDS",
    f"SELECT s.k, COUNT(*) AS n, SUM(s.v) AS total {JOIN} GROUP BY s.k EVERY 1 SECOND",
    f"SELECT s.k, MAX(r.v) AS high, SUM(s.v * r.v) AS p {JOIN} GROUP BY s.k HAVING COUNT(*) > 1 EVERY {{e}} SECONDS",
    f"SELECT s.k, SUM(r.v) AS total {JOIN} GROUP BY s.k EVERY {{e}} SECONDS EMIT CHANGES",
    "SELECT s.k, COUNT(*) AS n, MAX(s.v) AS high FROM s [TUMBLE {m} SECONDS], r [TUMBLE {m} SECONDS] WHERE s.k = r.k AND {where} GROUP BY s.k",
    "SELECT s.k, r.v FROM s [TUMBLE {n} SECONDS], r [TUMBLE {n} SECONDS] WHERE s.k = r.k AND {where}",
    "SELECT s.k, s.v, r.v AS w FROM s [RANGE {n} SECONDS], s AS r [RANGE {m} SECONDS] WHERE s.k = r.k AND {where}",
    "SELECT s.k, SUM(r.v) AS t FROM s [RANGE 2 SECONDS], s r [RANGE {n} SECONDS] WHERE s.k = r.k AND {where} GROUP BY s.k EVERY 1 SECOND",
    "SELECT s.k, s.v FROM s WHERE {where}",
    "SELECT s.v * 2 AS w, s.at FROM s WHERE {where}",
    "SELECT s.k, COUNT(*) AS n FROM s [UNBOUNDED], r [RANGE {m} SECONDS] WHERE s.k = r.k AND {where} GROUP BY s.k EVERY 1 SECOND",
)


@hs.composite
def texts(draw: Any) -> str:
    """A query of one of a few patterns, with its own conditions."""
    select = draw(hs.sampled_from(SELECTS))
    known = [c for c in CONDITIONS if "r [" in select or "AS r" in select or "r." not in c]
    where = draw(hs.lists(hs.sampled_from(known), min_size=1, max_size=2))
    a, b = draw(hs.integers(0, 23)), draw(hs.integers(0, 12))
    n, m = draw(hs.sampled_from([2, 3, 7])), draw(hs.sampled_from([2, 4, 5]))
    e = draw(hs.sampled_from([1, 2, 3]))
    return str(select).format(n=n, m=m, e=e, where=" AND ".join(where).format(a=a, b=b))


def change(draw: Any, run: Run) -> None:
    """Something that a user does between two batches."""
    match draw(
        hs.sampled_from(
            ["", "create", "create", "many", "drop", "drop", "plan", "evaluate", "sharing", "restart"]
        )
    ):
        case "create":
            with _possible():
                run.create(draw(texts()))
        case "many" if len(run.live) < 8:
            for text in draw(hs.lists(texts(), min_size=2, max_size=4)):
                with _possible():
                    run.create(text)
        case "drop" if run.live:
            run.drop(draw(hs.sampled_from(run.live)))
        case "plan":
            run.session.set(
                "plan.early_aggregation", draw(hs.sampled_from(["best", "LAP", "EAP10", "EAP11"]))
            )
        case "evaluate":
            with _possible():
                run.session.set(
                    "plan.evaluate",
                    draw(hs.sampled_from(["best", "best", "snapshot", "expiry", "materialize", "delta"])),
                )
        case "sharing":
            run.session.set("plan.sharing", draw(hs.sampled_from(["best", "all", "all", "off"])))
        case "restart" if run.fed:
            run.restart(draw(hs.sampled_from([1, 2, 3])))


@contextmanager
def _possible() -> Iterator[None]:
    """Nothing is done that leaves a query without a plan."""
    try:
        yield
    except UsageError as error:
        assert "has no plan with plan." in str(error)


@given(data=hs.data(), seed=hs.integers(0, 10**6))
def test_pools_equal_the_definition(
    data: hs.DataObject, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = Run(tmp_path_factory.mktemp("pools"), data.draw(hs.sampled_from([1, 2, 3])))
    run.session.set("plan.sharing", data.draw(hs.sampled_from(["all", "best"])))
    for text in data.draw(hs.lists(texts(), min_size=2, max_size=5)):
        run.create(text)
    live_through(data.draw, run, change, seed)


FAMILY = [
    f"SELECT s.k, s.v, r.v AS w {JOIN}",
    f"SELECT s.k, COUNT(*) AS n, SUM(s.v) AS total {JOIN} GROUP BY s.k EVERY 1 SECOND",
]


@pytest.mark.parametrize("select", FAMILY)
@pytest.mark.parametrize("sharing", ["all", "best", "off"])
def test_a_pool_is_one_join(select: str, sharing: str, tmp_path: Path) -> None:
    run, random = Run(tmp_path, 2), Random(3)
    run.session.set("plan.sharing", sharing)
    for i in range(12):
        run.create(select.format(n=2 + i % 3, m=3, where=f"s.v < {2 * i} AND r.v > {i}"))
    for i in range(6):
        run.feed({n: rows(random, 2 * i, 30) for n in ("s", "r")})
    plan = run.session.runner.plan
    assert len(plan.joins) == (12 if sharing == "off" else 1)
    assert run.check() > 0
    run.session.close()


def test_windows_of_other_lengths_are_one_join_unless_totals_are_kept(tmp_path: Path) -> None:
    run, random = Run(tmp_path, 2), Random(5)
    run.session.set("plan.sharing", "all")
    for n in (2, 3, 5, 5):
        run.create(FAMILY[1].format(n=n, m=4, where=f"s.v > {n}"))
    _feed(run, random, range(3))
    assert [j.asked.inputs[0].length for j in run.session.runner.plan.joins] == [5_000_000]
    run.session.set("plan.evaluate", "delta")
    _feed(run, random, range(3, 9))
    kept = run.session.runner.plan.joins
    assert {j.evaluate for j in kept} == {"delta"} and len(kept) == 3
    run.session.set("plan.evaluate", "best")
    _feed(run, random, range(9, 12))
    assert run.check() > 0
    run.session.close()


def _feed(run: Run, random: Random, seconds: range) -> None:
    for i in seconds:
        run.feed({n: rows(random, 2 * i, 30) for n in ("s", "r")})


TURNS = [
    f"SELECT s.k, COUNT(*) AS n, SUM(s.v) AS total {JOIN} GROUP BY s.k EVERY {{e}} SECONDS",
    f"SELECT s.k, SUM(r.v) AS total {JOIN} GROUP BY s.k EVERY {{e}} SECONDS EMIT CHANGES",
    "SELECT s.k, COUNT(*) AS n FROM s [TUMBLE {e} SECONDS], r [TUMBLE {e} SECONDS] WHERE s.k = r.k AND {where} GROUP BY s.k",
]


@pytest.mark.parametrize("evaluate", ["snapshot", "expiry", "materialize", "delta"])
def test_instants_at_other_distances_are_one_join(evaluate: str, tmp_path: Path) -> None:
    """Who asks every second goes in the middle, and one who asks every three comes."""
    run, random = Run(tmp_path, 2), Random(7)
    run.session.set("plan.sharing", "all")
    run.session.set("plan.evaluate", evaluate)
    lengths = (4, 4, 4) if evaluate == "delta" else (3, 4, 6)
    for n, (e, select) in enumerate((e, select) for e in (1, 2, 4) for select in TURNS):
        if evaluate != "delta" or "TUMBLE" not in select:
            run.create(select.format(n=lengths[n % 3], m=4, e=e, where=f"s.v > {n}"))
    _feed(run, random, range(4))
    assert [j.asked.every for j in run.session.runner.plan.joins] == [1_000_000]
    for name in [n for n in run.live if "EVERY 1" in run.made[n].query.text]:
        run.drop(name)
    run.create(TURNS[0].format(n=4, m=4, e=3, where="s.v < 20"))
    _feed(run, random, range(4, 10))
    assert len(run.session.runner.plan.joins) == 1
    assert run.check() > 0
    run.session.close()
