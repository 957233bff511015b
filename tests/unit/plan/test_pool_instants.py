"""Aggregates over joins at instants that are not as far apart, or over windows that tumble, are one pool where that costs less."""

from __future__ import annotations

import pytest
from workloads import planned, queries

from thalweg.model.query import RANGE, Query
from thalweg.model.settings import Config
from thalweg.optimizer.planner import planner_for
from thalweg.plan.instants import times
from thalweg.plan.nodes import Plan
from thalweg.plan.pool import fits, pattern, template

MINUTE = 60_000_000
ALL = Config(sharing="all", evaluate="snapshot")


def counted(every: str, window: str = "RANGE 2 MINUTES", least: int = 0) -> str:
    """A count over a join of a and b."""
    given = "" if "TUMBLE" in window else f" EVERY {every}"
    return f"SELECT a.k, COUNT(*) AS n FROM a [{window}], b [{window}] WHERE a.k = b.k AND a.x > {least} GROUP BY a.k{given}"


def pools(plan: Plan) -> list[set[str]]:
    return [set(plan.queries_of(j.id)) for j in plan.joins]


def test_what_tumbles_is_what_ranges_at_instants_a_length_apart() -> None:
    ranging, tumbling, rows = queries(
        counted("2 MINUTES"),
        counted("", "TUMBLE 2 MINUTES"),
        "SELECT a.k FROM a [TUMBLE 2 MINUTES], b [TUMBLE 2 MINUTES] WHERE a.k = b.k",
    )
    assert pattern(ranging) == pattern(tumbling) != pattern(rows)
    shape = template([ranging, tumbling])
    assert {i.kind for i in shape.inputs} == {RANGE} and shape.every == 2 * MINUTE


def test_a_pool_has_the_instants_of_all_its_members() -> None:
    asked = queries(counted("4 MINUTES"), counted("6 MINUTES", least=1), counted("", "TUMBLE 2 MINUTES", 2))
    (join,) = planned(asked, config=ALL).joins
    assert join.asked.every == 2 * MINUTE
    assert [times(q, join.asked) for q in asked] == [2, 3, 1]


@pytest.mark.parametrize(("every", "fitting"), [(4, True), (3, False), (2, True), (1, False)])
def test_a_pool_takes_who_comes_at_some_of_its_instants(every: int, fitting: bool) -> None:
    shape = template(queries(counted("2 MINUTES"), counted("4 MINUTES", least=1)))
    assert fits(queries(counted(f"{every} MINUTES"))[0], shape) is fitting


def grown(first: list[str], then: str) -> tuple[Plan, tuple[Query, ...]]:
    asked = queries(*first, then)
    old = planned(asked[:-1], config=ALL)
    return planned(asked, old, config=Config(evaluate="snapshot"), top=10 * MINUTE), asked


def test_who_comes_is_put_into_a_pool_at_other_instants_only_where_that_costs_less() -> None:
    members = [counted("1 SECOND", least=n) for n in range(4)]
    taken, _ = grown(members, counted("2 SECONDS", least=9))
    assert len(taken.joins) == 1
    rare, asked = grown(members, counted("1 HOUR", "RANGE 1 HOUR", 9))
    assert pools(rare) == [{"q0", "q1", "q2", "q3"}, {"q4"}]
    planner = planner_for(Config(evaluate="snapshot"), None, rare.streams)
    assert planner.together(asked) > planner.together(asked[:-1]) + planner.apart(asked[-1])


def test_a_query_goes_to_the_pool_with_instants_like_its_own() -> None:
    often = [counted("1 SECOND", least=n) for n in range(3)]
    rare = [counted("1 HOUR", "RANGE 1 HOUR", n) for n in range(4)]
    asked = queries(*often, *rare)
    first = planned(asked[:3], config=ALL)
    second = planned(asked[:6], first, config=Config(evaluate="snapshot"), top=10 * MINUTE)
    third = planned(asked, second, config=ALL, top=20 * MINUTE)
    assert sorted(map(sorted, pools(third))) == [["q0", "q1", "q2"], ["q3", "q4", "q5", "q6"]]
