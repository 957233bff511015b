"""Who is put into a commons: nobody is lost on the way, and cost decides for those who come later too."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg.model.query import Query
from thalweg.model.settings import Config, with_setting
from thalweg.optimizer.planner import WindowPlanner
from thalweg.optimizer.workload import advance, build
from thalweg.plan.nodes import Plan
from thalweg.testing.bound import bind_statements

STREAM = "CREATE STREAM {} (k BIGINT, v BIGINT, at TIMESTAMP) WITH (format='parquet', path='x', time='at', watermark='1 second');"
SELECT = "CREATE QUERY q{} AS SELECT s.k, r.v FROM s [RANGE 3 SECONDS], r [RANGE 3 SECONDS] WHERE {};"
BOUND = bind_statements(
    STREAM.format("s")
    + STREAM.format("r")
    + "".join(SELECT.format(i, f"s.k = r.k AND s.v < {i}") for i in range(4))
    + "".join(
        SELECT.format(4 + i, by)
        for i, by in enumerate(("s.v = r.v", "s.k = r.v", "s.v = r.k", "s.k + 1 = r.k"))
    )
)


class Apart(WindowPlanner):
    """Never computes two queries as one, and has a commons as long as it is cheap."""

    def together(self, queries: Sequence[Query]) -> float:
        """More than anything."""
        return float("inf")

    def gathers(self, pools: Sequence[Sequence[Query]]) -> bool:
        """Where there are no queries with a name that says they are heavy."""
        return all(q.name != "q7" for some in pools for q in some)


def given(plan: Plan) -> set[str]:
    """The queries that are given something."""
    return {e.query for e in plan.emissions}


def test_queries_of_one_pattern_that_are_apart_are_all_in_the_plan() -> None:
    queries = list(BOUND.queries.values())[:7]
    plan = build(BOUND.streams.values(), queries, Apart(Config(partitions=1)))
    assert given(plan) == {q.name for q in queries}
    assert len(plan.joins) == 7
    assert all(j.room is not None for j in plan.joins)


def test_a_heavy_join_that_comes_later_is_not_put_where_others_are() -> None:
    queries, planner = list(BOUND.queries.values()), Apart(Config(partitions=1))
    before = build(BOUND.streams.values(), queries[:7], planner)
    plan = advance(before, BOUND.streams.values(), queries, planner, {}, {})
    assert given(plan) == {q.name for q in queries}
    assert [j.room is None for j in plan.joins if plan.queries_of(j.id) == ("q7",)] == [True]


def test_one_partition_that_stays_keeps_rows_once_from_two_pools_on() -> None:
    queries = [q for n, q in enumerate(BOUND.queries.values()) if n in (0, 1, 4)]
    set_to_one = with_setting(Config(), "partitions", "1")
    stays, grows = (
        build(BOUND.streams.values(), queries, WindowPlanner(config))
        for config in (set_to_one, Config(partitions=1))
    )
    assert len(stays.joins) == len(grows.joins) == 2
    assert (len(stays.fragments), len(grows.fragments)) == (2, 4)
    assert all(j.room is not None for j in stays.joins) and all(j.room is None for j in grows.joins)
