"""Equal means shared: nodes are named by their meaning, and what asks the same runs once."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from workloads import counted, planned, queries, windows

from thalweg.compile.retention import needed
from thalweg.model.settings import Config
from thalweg.optimizer.workload import STAGES
from thalweg.plan.change import applied, change_of
from thalweg.plan.codec import dumps, loads
from thalweg.plan.nodes import Fragment, Plan

SHARED = Config(early_aggregation="EAP11", evaluate="snapshot")


def test_a_windows_fragment_and_an_early_side_are_one_node() -> None:
    plan = planned(queries(windows(), counted()), config=SHARED)
    (shared,) = [f for f in plan.fragments if plan.joins_of(f.id) and plan.has_windows(f)]
    assert shared.source == "a" and plan.queries_of(shared.id) == ("q0", "q1")


def test_what_both_need_of_a_shared_fragment_is_kept() -> None:
    plan = planned(queries(windows(), counted()), config=SHARED)
    (shared,) = [f for f in plan.fragments if plan.joins_of(f.id) and plan.has_windows(f)]
    apart = {i: planned(queries(s), config=SHARED) for i, s in enumerate((windows(), counted()))}
    oldest = [needed(p, dict.fromkeys("ab", 103 * 60_000_000))[shared.id] for p in (plan, *apart.values())]
    assert oldest[0] == min(oldest[1:])


def test_another_condition_is_another_node() -> None:
    plan = planned(queries(windows("x > 1"), windows("x > 2")), config=Config(sharing="off"))
    assert len({f.id for f in plan.fragments}) == 2
    pooled = planned(
        queries(windows("x > 1"), windows("x > 2"), windows("j > 2")), config=Config(sharing="all")
    )
    assert len({f.id for f in pooled.fragments}) == 2, (
        "or two query-sets of one; other columns are other cells"
    )


ROWS = "SELECT l.k, r.x FROM a AS l [RANGE 1 MINUTE], b AS r [RANGE 1 MINUTE] WHERE l.k = r.k"


@pytest.mark.parametrize(
    "select", [windows(), counted(), ROWS], ids=["windows", "aggregate over a join", "joined rows"]
)
def test_queries_equal_but_for_their_name_run_once(select: str) -> None:
    one, two = planned(queries(select)), planned(queries(select, select))
    assert [n.id for n in two.nodes] == [n.id for n in one.nodes]
    assert [j.id for j in two.joins] == [j.id for j in one.joins]
    assert two.alike == {"q0": ("q0", "q1")}


def test_no_id_holds_the_name_of_a_query() -> None:
    first = planned(queries(counted(), windows()))
    renamed = planned(tuple(replace(q, name=f"other_{q.name}") for q in queries(counted(), windows())))
    assert [n.id for n in (*first.nodes, *first.joins)] == [n.id for n in (*renamed.nodes, *renamed.joins)]


def test_other_names_of_inputs_are_the_same_join() -> None:
    pairs = (
        "FROM a AS {0} [RANGE 1 MINUTE], b AS {1} [RANGE 2 MINUTES] WHERE {0}.k = {1}.k AND {0}.x + 1 < {1}.x"
    )
    counts = (
        f"SELECT {{0}}.j, COUNT(*) AS n, SUM({{0}}.x * {{1}}.x) AS s {pairs} GROUP BY {{0}}.j EVERY 1 MINUTE"
    )
    rows = f"SELECT {{0}}.x AS x, {{1}}.j AS j {pairs}"
    for select in (counts, rows):
        plan = planned(queries(select.format("l", "r"), select.format("seller", "buyer")))
        assert len(plan.joins) == 1 and plan.queries_of(plan.joins[0].id) == ("q0", "q1")


def test_names_have_128_bits() -> None:
    plan = planned(queries(counted(), windows()))
    assert all(re.fullmatch(r"\w+_[0-9a-f]{32}", n.id) for n in (*plan.nodes, *plan.joins))
    (two,) = planned(queries(windows(calls="SUM(x + 12105) AS a, SUM(x + 121722) AS b"))).fragments
    assert len({p.name for p in two.parts}) == 2


def test_an_equal_query_created_later_counts_fewer_rows() -> None:
    """Rows that came before it are none of its own, so it has a join of its own."""
    asked = queries(counted(), counted())
    plan = planned(asked, planned(asked[:1]), top=10_000_000)
    assert len(plan.joins) == 2 and len(plan.fragments) == 2, "and the sides are shared"
    assert plan.alike == {"q0": ("q0",), "q1": ("q1",)}


def test_a_dropped_query_leaves_what_others_use() -> None:
    asked = queries(windows(), counted(), windows("x > 1"))
    plan = planned(asked, config=SHARED)
    left = planned(asked[1:2], plan, SHARED)
    assert {n.id for n in left.nodes} < {n.id for n in plan.nodes}
    assert planned((), plan) == Plan(left.streams)


def test_the_stages_of_planning_have_names_and_reasons_of_order() -> None:
    assert [name for name, _ in STAGES] == [
        "continue",
        "windows",
        "joins",
        "retire",
        "merge",
        "prune",
        "sets",
        "sub-joins",
        "roll-ups",
        "split",
    ]


def test_what_is_written_grows_with_what_changed() -> None:
    apart = Config(sharing="off")
    many = queries(
        *(windows(f"x > {i}", source="abcd"[i % 4]) for i in range(60)),
        *(counted(f"l.x > {i}") for i in range(60)),
    )
    plan = planned(many[:-1], config=apart)
    more = planned(many, plan, apart)
    change = change_of("base", plan, more)
    assert applied(plan, change) == more
    assert len(dumps(change)) < len(dumps(more)) / 20
    assert loads(dumps(change)) == change


def test_one_more_query_of_a_pool_is_written_as_that_pool() -> None:
    many = queries(*(counted(f"{'l' if i % 2 else 'r'}.x > {i}", source="ac"[i % 3 == 0]) for i in range(60)))
    plan = planned(many[:-1])
    more = planned(many, plan)
    change = change_of("base", plan, more)
    assert applied(plan, change) == more and loads(dumps(change)) == change
    assert (
        len(plan.joins),
        len(change.made.joins),
        len(change.made.fragments),
        len(change.made.queries),
    ) == (2, 0, 2, 1)


def test_a_change_also_tells_what_is_gone_and_what_is_different() -> None:
    asked = queries(windows(), counted(), windows("x > 1"))
    plan = planned(asked)
    other = planned(
        (*asked[1:2], *queries(windows(), counted(), windows("x > 1"), windows("x > 3"))[3:]), plan, top=5
    )
    assert applied(plan, change_of("base", plan, other)) == other


def test_a_hopping_window_of_ten_years_by_seconds_has_a_small_plan() -> None:
    plan = planned(
        queries(
            "SELECT k, window_id, COUNT(*) AS n FROM a GROUP BY k, WINDOWS(TUMBLE '1 second', TUMBLE '3650 days')"
        )
    )
    assert len(dumps(plan)) < 10_000
    assert isinstance(plan.fragments[0], Fragment)


def test_derived_nodes_stand_after_what_they_are_derived_from() -> None:
    asked = queries(
        windows(), windows("x > 1"), windows(calls="SUM(x) AS s"), windows("x > 1", "MAX(x) AS m")
    )
    plan = Plan()
    for live in (asked[:2], asked, asked[1:], asked[2:3], asked):
        plan = planned(live, plan, top=5)
        seen = {f.id for f in plan.fragments}
        for derived in plan.derived:
            assert derived.parent in seen
            seen.add(derived.id)


def test_a_dropped_query_takes_along_what_only_it_read() -> None:
    """The rows of a stream are read with the columns that live queries need: nothing may be left that needs others."""
    asked = queries(windows(calls="COUNT(*) AS n"), windows(calls="SUM(x) AS s"), counted())
    plan = planned(asked)
    left = planned((asked[0], asked[2]), plan)
    assert any("x" in p.lift for n in plan.nodes for p in n.parts)
    assert not any("x" in p.lift for n in left.nodes for p in n.parts)
