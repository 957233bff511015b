"""Windows cost what they take: by how often they close, what they keep, and whatever instant they are counted from."""

from __future__ import annotations

from collections.abc import Collection
from random import Random

import pytest

from thalweg.expr.nodes import Column
from thalweg.model.windows import SECOND, Window
from thalweg.optimizer.cost.calibration import Constants
from thalweg.optimizer.cost.steps import beside_steps, engine_cost, estimates
from thalweg.optimizer.cost.windows import forest_cost
from thalweg.optimizer.coverage import Relation, covered_by, partitioned_by
from thalweg.optimizer.forest import Forest, Step
from thalweg.optimizer.groups import Kind, kinds_cost
from thalweg.optimizer.plan_windows import COSTED, MODES, Mode, costs, paper_cost, plan_windows
from thalweg.optimizer.rules.min_cost_graph import min_cost_graph
from thalweg.optimizer.rules.min_cost_graph_with_factors import min_cost_graph_with_factors
from thalweg.optimizer.traits import Traits
from thalweg.optimizer.units import counting_unit, scale_of
from thalweg.optimizer.window_graph import window_coverage_graph
from thalweg.plan.groups import Group
from thalweg.statistics.records import WindowStatistics
from thalweg.testing.bound import bind_statements

MIN, SUM, AVG = Traits(overlap_safe=True), Traits(invertible=True), Traits()
MINUTE, HOUR, DAY = (Window(n * SECOND, n * SECOND) for n in (60, 3_600, 86_400))


@pytest.mark.parametrize("traits", [MIN, SUM, AVG])
@pytest.mark.parametrize("seconds", [5, 60, 600])
def test_a_day_is_made_of_hours(traits: Traits, seconds: int) -> None:
    """Made of minutes it would keep 14.4 M rows of 10,000 keys, and read all of them in one batch."""
    statistics = WindowStatistics(20_000, 10_000, seconds * SECOND)
    plan = plan_windows([MINUTE, HOUR, DAY], traits, "best", statistics)
    assert plan.of[DAY].source == HOUR
    assert sum(e.state_rows for e in estimates(plan, traits, statistics)) <= 1.2 * 840_000


def test_a_window_is_handed_on_when_it_closes() -> None:
    """An hour that a day is made of closes in one of sixty batches; what is kept costs in every one."""
    statistics, constants = WindowStatistics(20_000, 10_000, 60 * SECOND), Constants(state=0.0)
    chain = Forest((Step(MINUTE), Step(HOUR, MINUTE, "all", 60), Step(DAY, HOUR, "all", 24)))
    flat = Forest((Step(MINUTE), Step(HOUR, MINUTE, "all", 60), Step(DAY, MINUTE, "all", 1_440)))
    assert (
        beside_steps(chain, statistics, constants) == constants.opened / 60
        and beside_steps(flat, statistics, constants) == 0
    )
    kept = [beside_steps(plan, statistics, Constants(opened=0.0, state=1.0)) for plan in (chain, flat)]
    assert kept == [pytest.approx(840_000), pytest.approx(14_400_000)]
    for plan in (chain, flat):
        assert engine_cost(plan, AVG, statistics) == pytest.approx(
            engine_cost(plan, AVG, statistics, constants)
            + beside_steps(plan, statistics, Constants(opened=0.0))
        )


def drawn(random: Random) -> set[Window]:
    """Windows of some seconds, with offsets that are parts of one."""
    found = set()
    for _ in range(random.randint(2, 5)):
        slide = random.choice([1, 2, 3, 4, 5, 6, 10, 12])
        offset = random.choice([0, 0, 500_000, 250_000, 1_500_000, 100_000])
        found.add(Window(slide * random.choice([1, 1, 1, 2, 3, 4]) * SECOND, slide * SECOND, offset))
    return found


def ordered(found: dict[Mode, int | float]) -> bool:
    best, paper, shared, naive = (found[mode] for mode in reversed(COSTED))
    return best <= paper * (1 + 1e-9) and paper <= shared * (1 + 1e-9) and shared <= naive * (1 + 1e-9)


@pytest.mark.parametrize("traits", [MIN, SUM])
def test_no_plan_costs_more_than_one_that_it_contains(traits: Traits) -> None:
    random = Random(7)
    for _ in range(120):
        asked = drawn(random)
        assert ordered(costs(asked, traits)), asked


def test_an_offset_that_all_have_in_common_changes_nothing() -> None:
    random = Random(8)
    for _ in range(40):
        asked, by = (
            {Window(w.range, w.slide, w.offset // SECOND * SECOND) for w in drawn(random)},
            random.randrange(SECOND),
        )
        moved = [Window(w.range, w.slide, w.offset + by) for w in asked]
        assert costs(moved, MIN) == costs(asked, MIN)
        assert scale_of(moved).size == scale_of(asked).size
        for mode in MODES:
            assert plan_windows(moved, MIN, mode) == _moved(plan_windows(asked, MIN, mode), by), (
                asked,
                by,
                mode,
            )
    assert costs(
        [Window(2 * SECOND, 2 * SECOND, 500_000), Window(3 * SECOND, 3 * SECOND, 500_000)], MIN
    ) == dict.fromkeys(COSTED, 12)


def _moved(plan: Forest, by: int) -> Forest:
    """A plan whose windows all begin later; their order is by their offsets too, so it may be another."""

    def later(w: Window) -> Window:
        edges = tuple((slide, (offset + by) % slide) for slide, offset in w.edges)
        return Window(w.range, w.slide, w.offset + by, edges=edges)

    return Forest(
        tuple(
            Step(later(s.window), None if s.source is None else later(s.source), s.how, s.combined, s.factor)
            for s in plan
        )
    )


@pytest.mark.parametrize(
    ("asked", "cost"), [(((10, 5), (10, 2)), 12), (((20, 5), (20, 4)), 22), (((12, 2), (12, 3), (12, 4)), 15)]
)
def test_windows_as_long_as_the_longest_may_be_factor_windows(
    asked: Collection[tuple[int, int]], cost: int
) -> None:
    assert costs([Window(r * SECOND, s * SECOND) for r, s in asked], MIN)["best"] == cost


def test_kinds_that_have_the_same_slots_pay_for_them_once() -> None:
    stream = "CREATE STREAM s (k BIGINT, v BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = 'nowhere', time = 'at');"
    text = "CREATE QUERY q AS SELECT k, window_end, MIN(v) AS a FROM s GROUP BY k, WINDOWS(TUMBLE '1 minute', TUMBLE '1 hour');"
    (query,) = bind_statements(stream + text).queries.values()
    statistics, group = WindowStatistics(20_000, 100, 60 * SECOND), Group("s", (), (Column("k", "BIGINT"),))

    class Planned:
        def forest(self, group: Group, windows: Collection[Window], traits: Traits) -> Forest:
            return plan_windows(windows, traits, "best", statistics)

        def cost(self, group: Group, forest: Forest, traits: Traits) -> float:
            return engine_cost(forest, traits, statistics)

    one, other = Kind(MIN, (query,), ()), Kind(AVG, (query,), ())
    alone, both = kinds_cost(group, [one], Planned()), kinds_cost(group, [one, other], Planned())
    assert alone <= both < 1.1 * alone, "all steps are the same"


def test_algorithm_3_may_cost_much_more_than_algorithm_1() -> None:
    """Against what the paper says; so its mode takes the cheaper of the two."""
    asked = frozenset(
        Window(r, s) for r, s in ((2, 2), (3, 1), (18, 3), (20, 2), (30, 3), (30, 30), (40, 20))
    )
    one = forest_cost(min_cost_graph(window_coverage_graph(asked, covered_by), asked))
    assert float(forest_cost(min_cost_graph_with_factors(asked, covered_by)) / one) == pytest.approx(
        1.436, abs=0.001
    )
    assert forest_cost(plan_windows(asked, MIN, "paper")) == one


def test_what_sharing_saves_depends_on_how_many_events_come() -> None:
    """By the paper an instance from the rows costs as many events as there are in it, not one in each unit."""
    minutes = [Window(60 * SECOND, 60 * SECOND), Window(300 * SECOND, 300 * SECOND)]
    assert plan_windows(minutes, SUM, "shared").of[minutes[1]].source is None, "one event a minute"
    for rate, source in ((1 / 60, None), (1, minutes[0]), (1_000, minutes[0])):
        known = WindowStatistics(rate, 100, 60 * SECOND)
        assert plan_windows(minutes, SUM, "shared", known).of[minutes[1]].source == source
        assert plan_windows(minutes, SUM, "paper", known).of[minutes[1]].source == source


@pytest.mark.parametrize("traits", [MIN, SUM])
def test_at_any_rate_a_plan_costs_no_more_than_one_that_it_contains(traits: Traits) -> None:
    random = Random(9)
    for _ in range(60):
        asked, rate = drawn(random), random.choice([0.01, 0.5, 1, 3, 1_000])
        known = WindowStatistics(rate, 10, 60 * SECOND)
        cost = {m: paper_cost(plan_windows(asked, traits, m, known), asked, known) for m in COSTED}
        assert cost["paper"] <= cost["shared"] <= cost["naive"], (asked, rate)
        assert cost["naive"] == pytest.approx(costs(asked, traits)["naive"] * _ratio(asked, known))


def _ratio(asked: Collection[Window], known: WindowStatistics) -> float:
    """How many events come in the unit that ranges and slides have in common."""
    return known.rate * counting_unit(asked)[1] / SECOND


@pytest.mark.parametrize("related", [covered_by, partitioned_by])
def test_with_more_events_the_least_factor_window_is_one_unit(related: Relation) -> None:
    """Where one event comes in a unit a factor window of one saves nothing; where ten do it does."""
    asked = {Window(2, 2), Window(3, 3)}
    assert min_cost_graph_with_factors(asked, related).factors == ()
    assert min_cost_graph_with_factors(asked, related, 10).factors == (Window(1, 1),)
