"""The worked examples of the factor-windows paper."""

from fractions import Fraction

import pytest

from thalweg.model.windows import SECOND, Window
from thalweg.optimizer.cost.windows import forest_cost, lambda_, period, recurrence_count, step_cost
from thalweg.optimizer.coverage import covered_by, covering_multiplier, covering_set, partitioned_by
from thalweg.optimizer.forest import Forest
from thalweg.optimizer.plan_windows import costs, factors, plan_windows
from thalweg.optimizer.rules.factor_window_helps import factor_window_helps
from thalweg.optimizer.rules.factor_window_partitioned import factor_window_partitioned
from thalweg.optimizer.rules.min_cost_graph import min_cost_graph
from thalweg.optimizer.traits import Traits
from thalweg.optimizer.window_graph import S, augmented, window_coverage_graph

MIN, SUM, MEDIAN = Traits(overlap_safe=True), Traits(invertible=True), Traits(holistic=True)
BOTH = pytest.mark.parametrize("traits", [MIN, SUM], ids=["covered by", "partitioned by"])


def tumbling(*ranges: int, unit: int = 1) -> list[Window]:
    return [Window(r * unit, r * unit) for r in ranges]


def sources(forest: Forest) -> dict[int, int | None]:
    return {s.window.range: None if s.source is None else s.source.range for s in forest}


def test_examples_2_to_4_coverage() -> None:
    #  W1   [0 -------- 10)
    #         [2 -------- 12)
    #  W2   [0 ------ 8)
    #         [2 ------ 10)
    #           [4 ------ 12)
    w1, w2 = Window(10, 2), Window(8, 2)
    assert covered_by(w1, w2)
    assert covering_multiplier(w1, w2) == 2
    assert [w2.start(m) for m in covering_set(w1, w2, 0)] == [0, 2]
    assert [w2.start(m) for m in covering_set(w1, w2, 1)] == [2, 4]


def test_example_5_partitioning() -> None:
    assert not partitioned_by(Window(10, 2), Window(8, 2))
    assert partitioned_by(Window(10, 2), Window(2, 2))


@BOTH
def test_example_6(traits: Traits) -> None:
    windows = tumbling(10, 20, 30, 40, unit=SECOND)
    assert {mode: cost for mode, cost in costs(windows, traits).items() if mode != "best"} == {
        "naive": 480,
        "shared": 150,
        "paper": 150,
    }
    asked = frozenset(tumbling(10, 20, 30, 40))
    forest = min_cost_graph(
        window_coverage_graph(asked, covered_by if traits.overlap_safe else partitioned_by), asked
    )
    assert sources(forest) == {10: None, 20: 10, 30: 10, 40: 20}
    assert period(asked) == 120
    assert [step_cost(s, 120) for s in forest] == [120, 12, 12, 6]


@BOTH
def test_examples_7_and_8(traits: Traits) -> None:
    windows = tumbling(20, 30, 40, unit=SECOND)
    assert {mode: cost for mode, cost in costs(windows, traits).items() if mode != "best"} == {
        "naive": 360,
        "shared": 246,
        "paper": 150,
    }
    assert factors(windows, traits) == ((10, 10),)
    plan = plan_windows(windows, traits, "paper")
    assert sources(plan) == {
        r * SECOND: s and s * SECOND for r, s in {10: None, 20: 10, 30: 10, 40: 20}.items()
    }
    assert [s.window.range // SECOND for s in plan if s.factor] == [10]


def test_example_8_candidates() -> None:
    downstream = tumbling(20, 30)
    lam = lambda_(downstream, 120)
    assert lam == 2
    assert all(factor_window_helps(Window(r, r), S, downstream, lam, 120) for r in (10, 5, 2))
    assert factor_window_partitioned(S, downstream, 120) == Window(10, 10)


def test_the_augmented_graph_has_s_above_the_roots() -> None:
    graph = augmented(window_coverage_graph(tumbling(20, 30, 40), covered_by))
    assert sorted(graph.downstream[S]) == tumbling(20, 30)
    assert sorted(augmented(window_coverage_graph(tumbling(1, 2), covered_by)).windows) == tumbling(1, 2)


def test_mutually_prime_windows_stay_as_they_are() -> None:
    windows = tumbling(15, 17, 19, unit=SECOND)
    assert all(s.source is None for s in plan_windows(windows, MIN, "paper"))


def test_holistic_aggregates_fall_back_to_naive() -> None:
    windows = tumbling(10, 20, unit=SECOND)
    assert (
        plan_windows(windows, MEDIAN, "paper")
        == plan_windows(windows, MEDIAN, "naive")
        == plan_windows(windows, MEDIAN, "shared")
    )


def test_recurrence_count() -> None:
    for w in (Window(r, s) for r in range(1, 13) for s in range(1, r + 1) if r % s == 0):
        for r in range(w.range, 5 * w.range + 1, w.range):
            assert recurrence_count(w, r) == sum(1 for m in range(r) if w.end(m) <= r)
    assert recurrence_count(Window(10, 4), 20) == Fraction(7, 2)


def test_the_unit_is_the_largest_that_divides() -> None:
    minutes = tumbling(20, 30, 40, unit=60 * SECOND)
    assert costs(minutes, MIN)["naive"] == 360
    assert costs([*minutes, Window(90 * SECOND, 90 * SECOND)], MIN)["naive"] == 4 * 3600 * 2


def test_cost_at_another_rate() -> None:
    asked = frozenset(tumbling(10, 20))
    graph = window_coverage_graph(asked, covered_by)
    assert forest_cost(min_cost_graph(graph, asked, eta=5), eta=5) == 5 * 20 + 2
