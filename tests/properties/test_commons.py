"""Joined rows by many different columns share the rows of their streams, whoever comes and goes: each equals the definition."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as hs
from test_mixed_workloads import Run, live_through, rows

from thalweg.plan.nodes import Plan

PAIRS = ("s.k = r.k", "s.v = r.v", "s.k = r.v", "s.v + 1 = r.k", "s.k = r.k AND s.v = r.v", "s.v + r.v = 20")
TRIPLES = (
    "s.k = r.k AND r.v = t.v", "s.k = r.k AND r.k = t.k", "s.v = r.v AND s.k = t.k", "s.k = t.v AND r.k = t.k", "s.k = r.v AND r.k = t.v",
)  # fmt: skip
CONDITIONS = (
    "TRUE",
    "s.v < {a}",
    "s.v BETWEEN {b} AND {a}",
    "r.v > {b}",
    "s.k IN (1, 2) AND r.v <> {a}",
    "s.v < r.v + {b}",
    "r.v % 3 = 1",
)
SHOWN = ("s.k, s.v, r.v AS w", "r.k, s.at AS first", "s.v + r.v AS both, r.k", "r.v")
WINDOWS = ("RANGE 2 SECONDS", "RANGE 3 SECONDS", "TUMBLE 2 SECONDS", "UNBOUNDED")


class Streams(Run):
    """A session over three streams."""

    names = ("s", "r", "t")


@hs.composite
def texts(draw: Any) -> str:
    """Joined rows of two or three streams, by whatever columns."""
    windows = [draw(hs.sampled_from(WINDOWS)) for _ in range(3)]
    if "TUMBLE 2 SECONDS" in windows:
        windows = ["TUMBLE 2 SECONDS"] * 3
    where = draw(hs.sampled_from(CONDITIONS)).format(a=draw(hs.integers(4, 22)), b=draw(hs.integers(0, 8)))
    three = draw(hs.booleans())
    sources = f"s [{windows[0]}], r [{windows[1]}]" + (f", t [{windows[2]}]" if three else "")
    by = draw(hs.sampled_from(TRIPLES if three else PAIRS))
    shown = draw(hs.sampled_from(SHOWN)) + (", t.v AS u" if three else "")
    return f"SELECT {shown} FROM {sources} WHERE {by} AND {where}"


def change(draw: Any, run: Run) -> None:
    """Something that a user does between two batches."""
    match draw(hs.sampled_from(["", "create", "many", "drop", "drop", "order", "sharing", "restart"])):
        case "create":
            run.create(draw(texts()))
        case "many" if len(run.live) < 9:
            for text in draw(hs.lists(texts(), min_size=2, max_size=5)):
                run.create(text)
        case "drop" if run.live:
            run.drop(draw(hs.sampled_from(run.live)))
        case "order":
            run.session.set("plan.order", draw(hs.sampled_from(["best", "written"])))
        case "sharing":
            run.session.set("plan.sharing", draw(hs.sampled_from(["best", "all", "all", "off"])))
        case "restart" if run.fed:
            run.restart(draw(hs.sampled_from([1, 2, 3])))


@given(data=hs.data(), seed=hs.integers(0, 10**6))
def test_commons_equal_the_definition(
    data: hs.DataObject, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = Streams(tmp_path_factory.mktemp("commons"), data.draw(hs.sampled_from([1, 2, 3])))
    run.session.set("plan.sharing", data.draw(hs.sampled_from(["all", "all", "best"])))
    for text in data.draw(hs.lists(texts(), min_size=2, max_size=6)):
        run.create(text)
    live_through(data.draw, run, change, seed)


def _fill(run: Run, count: int) -> None:
    """Pairs by six equalities, with conditions of their own."""
    for i in range(count):
        run.create(
            f"SELECT s.k, s.v, r.v AS w FROM s [RANGE 3 SECONDS], r [RANGE 3 SECONDS] WHERE {PAIRS[i % 6]} AND s.v < {2 * i}"
        )


def _feed(run: Run, random: Random, first: int, count: int) -> None:
    for i in range(first, first + count):
        run.feed({n: rows(random, 2 * i, 20) for n in run.names})


def _places(plan: Plan) -> list[int]:
    return sorted(f.place for f in plan.fragments if f.place is not None)


@pytest.mark.parametrize("partitions", [1, 2, 3])
def test_a_row_is_kept_once_per_place(partitions: int, tmp_path: Path) -> None:
    run, random = Streams(tmp_path, partitions), Random(5)
    run.session.set("plan.sharing", "all")
    _fill(run, 24)
    _feed(run, random, 0, 5)
    plan = run.session.runner.plan
    assert len(plan.joins) == len(PAIRS)
    assert _places(plan) == sorted([*range(partitions)] * 2)  # of two streams each
    _fill(run, 12)  # they find all that they need
    _feed(run, random, 5, 5)
    assert _places(run.session.runner.plan) == sorted([*range(partitions)] * 2)
    assert run.check() > 0
    run.session.close()


def test_bits_of_pools_that_are_gone_are_given_again(tmp_path: Path) -> None:
    run, random = Streams(tmp_path, 2), Random(5)
    run.session.set("plan.sharing", "all")
    _fill(run, 6)
    _feed(run, random, 0, 3)
    for name in run.live[1:]:
        run.drop(name)
    run.create("SELECT s.k, t.v FROM s [UNBOUNDED], t [RANGE 4 SECONDS] WHERE s.v = t.v")
    _fill(run, 6)
    _feed(run, random, 3, 4)
    rooms = [j.room for j in run.session.runner.plan.joins]
    assert all(r is not None and r.first < 64 for r in rooms)
    assert run.check() > 0
    run.session.close()


def test_few_joins_stay_in_hash_ranges(tmp_path: Path) -> None:
    run, random = Streams(tmp_path, 2), Random(5)
    _fill(run, 4)
    _feed(run, random, 0, 2)
    assert _places(run.session.runner.plan) == []
    run.session.close()


def test_those_who_come_one_by_one_open_a_commons(tmp_path: Path) -> None:
    run, random = Streams(tmp_path, 1), Random(5)
    for i in range(6):
        run.create(
            f"SELECT s.k, s.v, r.v AS w FROM s [RANGE 3 SECONDS], r [RANGE 3 SECONDS] WHERE {PAIRS[i]}"
        )
        _feed(run, random, i, 1)
    assert _places(run.session.runner.plan) == [0, 0]
    assert sum(j.room is not None for j in run.session.runner.plan.joins) == 3
    assert run.check() > 0
    run.session.close()


@pytest.mark.parametrize("strategy", ["slot", "probe-all"])
def test_rows_that_are_looked_at_to_be_forgotten_have_no_commons(strategy: str, tmp_path: Path) -> None:
    run, random = Streams(tmp_path, 1), Random(5)
    run.session.set("plan.sharing", "all")
    run.session.set("plan.invalidate", strategy)
    _fill(run, 6)
    _feed(run, random, 0, 4)
    assert bool(_places(run.session.runner.plan)) == (strategy == "slot")
    assert run.check() > 0
    run.session.close()


THIRD = ("r.v = t.v", "r.k = t.k", "s.v = t.v", "r.k = t.v", "s.k = t.v")
FOURTH = ("t.k = u.k", "t.k = u.v", "s.v = u.v", "r.k = u.v", "s.v = u.k")
ON_TIME = "[RANGE 3 SECONDS]"
FROM = f"FROM s {ON_TIME}, r [RANGE 4 SECONDS], t {ON_TIME}"


@pytest.mark.parametrize("old", [False, True])
def test_sub_joins_are_shared(old: bool, tmp_path: Path) -> None:
    run, random = Streams(tmp_path, 1), Random(5)
    run.session.set("plan.sharing", "all")
    for by in THIRD:
        run.create(f"SELECT s.v, r.v AS w, t.v AS u {FROM} WHERE s.k = r.k AND {by}")
    run.create(f"SELECT s.v, r.v AS w FROM s {ON_TIME}, r {ON_TIME} WHERE s.k = r.k")
    for i in range(8):  # with `old`, most rows are those of batches before, and each join meets its own
        run.feed({n: rows(random, (0.2 if old else 2) * i, 20) for n in run.names})
        if i == 3:
            run.drop(run.live[1])
            run.create(f"SELECT s.v, t.v AS u {FROM} WHERE s.k = r.k AND r.v = t.k AND s.v < 12")
    plan = run.session.runner.plan
    (sub,) = plan.subs
    assert sum(j.sub == sub.id for j in plan.joins) == 6
    steps = run.session.latest_manifest().steps
    assert (f"meet {sub.id}" in steps) == (not old)
    assert run.check() > 0
    run.session.close()


class More(Run):
    """A session over four streams."""

    names = ("s", "r", "t", "u")


def test_longer_sub_joins_begin_with_shorter_ones(tmp_path: Path) -> None:
    run, random = More(tmp_path, 1), Random(6)
    run.session.set("plan.sharing", "all")
    for by in FOURTH:
        run.create(
            f"SELECT s.v, r.v AS w, u.k {FROM}, u {ON_TIME} WHERE s.k = r.k AND r.v = t.v AND {by} AND s.v + t.k < 20"
        )
    for by in THIRD[1:]:
        run.create(f"SELECT s.v, r.v AS w, t.k {FROM} WHERE s.k = r.k AND {by}")
    for i in range(4):
        run.feed({n: rows(random, 2 * i, 12) for n in run.names})
    lengths = {len(s.sides): s for s in run.session.runner.plan.subs}
    assert lengths.keys() == {2, 3}
    assert lengths[3].base == lengths[2].id
    assert run.check() > 0
    run.session.close()
