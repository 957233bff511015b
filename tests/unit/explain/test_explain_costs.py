"""The JSON of EXPLAIN: costs by the paper, factor windows, groups, statistics."""

from __future__ import annotations

import json
from typing import Any

import pytest
from explain_support import explained, query_sql, tumbling

MODES = ("naive", "shared", "paper", "best")


def windows(*queries: str, **settings: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        explained(*queries, settings={k.replace("_", "."): v for k, v in settings.items()}).json()
    )
    result: dict[str, Any] = found["windows"]
    return result


@pytest.mark.parametrize("mode", MODES)
def test_example_6(mode: str) -> None:
    found = windows(query_sql(tumbling(10, 20, 30, 40)), plan_windows=mode)
    assert found["costs"] == {"naive": 480, "shared": 150, "paper": 150, "best": 150}
    assert found["factors"] == [] and found["unit"] == "second"


@pytest.mark.parametrize("call", ["MIN(price)", "SUM(price)"])
def test_examples_7_and_8(call: str) -> None:
    found = windows(query_sql(tumbling(20, 30, 40), call))
    assert [found["costs"][m] for m in MODES] == [360, 246, 150, 150]
    assert found["factors"] == [[10, 10]]


def test_the_unit_is_the_largest_that_divides() -> None:
    found = windows(query_sql(["TUMBLE '20 minutes'", "TUMBLE '30 minutes'", "TUMBLE '40 minutes'"]))
    assert found["unit"] == "minute" and found["factors"] == [[10, 10]]
    assert [found["costs"][m] for m in MODES] == [360, 246, 150, 150]
    assert windows(query_sql(["TUMBLE '2 hours'", "HOP '90 minutes' BY '30 minutes'"]))["unit"] == "minute"


def test_windows_of_several_queries_are_one_group() -> None:
    found = windows(query_sql(tumbling(20, 30)), query_sql(tumbling(30, 40), name="other"))
    (group,) = found["groups"]
    assert group["queries"] == ["low", "other"] and group["costs"] == found["costs"] == {
        "naive": 360,
        "shared": 246,
        "paper": 150,
        "best": 150,
    }
    thirty = next(s for s in group["steps"] if s["window"] == "30 seconds")
    assert thirty["queries"] == ["low", "other"]


def test_groups_are_summed() -> None:
    found = windows(
        query_sql(tumbling(20, 30, 40)),
        query_sql(tumbling(10, 20, 30, 40), name="web", where="WHERE channel = 'web'"),
    )
    assert [g["where"] for g in found["groups"]] == [[], ["\"channel\" = 'web'"]]
    assert found["costs"] == {m: sum(g["costs"][m] for g in found["groups"]) for m in MODES}
    assert found["costs"]["naive"] == 360 + 480 and found["factors"] == [[10, 10]]


def test_no_query_costs_nothing() -> None:
    found = windows()
    assert found["costs"] == dict.fromkeys(MODES, 0) and found["factors"] == [] and found["groups"] == []


def test_a_step_says_what_it_takes() -> None:
    (group,) = windows(query_sql(tumbling(20, 30, 40)), plan_windows="paper")["groups"]
    first, *others = group["steps"]
    assert (first["window"], first["from"], first["how"], first["factor"]) == (
        "10 seconds",
        "rows",
        "rows",
        True,
    )
    assert (first["range"], first["slide"], first["offset"]) == (10, 10, 0)
    assert first["predicted"]["rows_in"] == 60_000 and first["predicted"]["rows_out"] == pytest.approx(
        600, rel=0.01
    )
    assert all(
        s["combined"] >= 2 and s["predicted"]["cost"] > 0 and s["sql"].startswith("SELECT") for s in others
    )


def test_the_parts_add_up_to_the_plan_in_force() -> None:
    (group,) = windows(query_sql(tumbling(20, 30, 40)))["groups"]
    assert sum(s["predicted"]["cost"] for s in group["steps"]) == pytest.approx(
        group["current"]["engine_cost"]
    )
    assert group["engine_costs"]["best"] == pytest.approx(group["current"]["engine_cost"])
    assert "best" in group["current"]["same_as"]


def test_the_graph_before() -> None:
    (group,) = windows(query_sql(tumbling(10, 20, 40)))["groups"]
    assert [n["window"] for n in group["graph"]["nodes"]] == ["10 seconds", "20 seconds", "40 seconds"]
    assert group["graph"]["edges"] == [
        ["10 seconds", "20 seconds"],
        ["10 seconds", "40 seconds"],
        ["20 seconds", "40 seconds"],
    ]


def test_statistics_are_assumed_before_anything_ran() -> None:
    (group,) = windows(query_sql(tumbling(10)))["groups"]
    assert group["statistics"]["origins"] == dict.fromkeys(("rate", "keys", "batch_seconds"), "assumed")


@pytest.mark.parametrize("mode", [*MODES, "slices"])
def test_the_plan_in_force_costs_what_it_does_by_both_models(mode: str) -> None:
    """Not what another plan would, which the paper's model alone would choose."""
    (group,) = windows(query_sql(tumbling(20, 30, 40)), plan_windows=mode)["groups"]
    current = group["current"]
    assert mode in current["same_as"]
    assert current["engine_cost"] == pytest.approx(group["engine_costs"][mode])
    assert current["paper_cost"] == group["paper_costs"][mode]
    assert current["paper_cost_at_rate"] == group["paper_costs_at_rate"][mode]
    events = {m: sum(s["how"] == "rows" for s in group["steps"]) for m in [mode]}[mode] * 120
    assert current["paper_cost"] - events == pytest.approx(current["paper_cost_at_rate"] - 1_000 * events), (
        "1,000 rows a second are in every window that reads the rows, and nothing else changes"
    )
