"""What `best` chooses for the engine, where the right answer is known."""

from random import Random

import pytest

from thalweg.model.windows import SECOND, Window
from thalweg.optimizer.combining import combined, prefix_possible
from thalweg.optimizer.cost.calibration import Constants
from thalweg.optimizer.cost.steps import distinct_keys, engine_cost, estimates, lengths
from thalweg.optimizer.forest import Forest, Step
from thalweg.optimizer.plan_windows import Mode, costs, plan_windows
from thalweg.optimizer.traits import Features, Traits
from thalweg.optimizer.validity import check
from thalweg.statistics.records import WindowStatistics

MIN, SUM, VARIANCE, MEDIAN = (
    Traits(overlap_safe=True),
    Traits(invertible=True),
    Traits(),
    Traits(holistic=True),
)
BUSY = WindowStatistics(rate=1_000_000, keys=10_000, batch=1_000 * SECOND)
"""So many rows a batch that no choice hangs on what a step costs by itself, which differs between machines."""

MINUTE, HOUR = 60 * SECOND, 3600 * SECOND


def seconds(r: int, s: int, o: int = 0) -> Window:
    return Window(r * SECOND, s * SECOND, o * SECOND)


def steps(forest: Forest) -> list[tuple[int, int, int | None, str, int]]:
    """(range, slide, range of the source, how, combined) in seconds."""
    sources = [None if s.source is None else s.source.range // SECOND for s in forest]
    return [
        (s.window.range // SECOND, s.window.slide // SECOND, source, s.how, s.combined)
        for s, source in zip(forest, sources, strict=True)
    ]


@pytest.mark.parametrize("traits", [MIN, VARIANCE], ids=["MIN", "VARIANCE"])
def test_an_hour_by_the_second_takes_a_chain(traits: Traits) -> None:
    plan = plan_windows([seconds(3600, 1)], traits, "best", BUSY)
    assert sum(s.combined for s in plan) <= 30
    assert steps(plan)[0] == (1, 1, None, "rows", 0)
    naive = plan_windows([seconds(3600, 1)], traits, "naive")
    assert engine_cost(naive, traits, BUSY) > 1000 * engine_cost(plan, traits, BUSY)


def test_an_hour_by_the_second_of_a_sum_takes_running_totals() -> None:
    assert steps(plan_windows([seconds(3600, 1)], SUM, "best", BUSY)) == [
        (1, 1, None, "rows", 0),
        (3600, 1, 1, "prefix", 2),
    ]


def test_without_prefix_and_chains_every_slot_is_combined() -> None:
    plan = plan_windows([seconds(3600, 1)], VARIANCE, "best", BUSY, Features(chains=False, tiling=False))
    assert steps(plan) == [(1, 1, None, "rows", 0), (3600, 1, 1, "all", 3600)]


def test_slots_of_the_gcd_where_the_range_is_no_multiple_of_the_slide() -> None:
    assert steps(plan_windows([seconds(10, 4)], VARIANCE, "best", BUSY)) == [
        (2, 2, None, "rows", 0),
        (10, 4, 2, "all", 5),
    ]
    assert steps(plan_windows([seconds(10, 4)], VARIANCE, "best", BUSY, Features(slots=False))) == [
        (10, 4, None, "rows", 0)
    ]


def test_a_hopping_window_tiles_a_sum() -> None:
    tiled, plain = Step(seconds(12, 2), seconds(4, 2), "sparse", 3), Step(seconds(4, 2))
    check(Forest((plain, tiled)), [seconds(12, 2), seconds(4, 2)], VARIANCE)
    assert combined(seconds(12, 2), seconds(4, 2), VARIANCE, Features()) == 3
    assert combined(seconds(12, 2), seconds(4, 2), VARIANCE, Features(tiling=False)) == 0
    assert combined(seconds(14, 2), seconds(4, 2), VARIANCE, Features()) == 0
    assert combined(seconds(14, 2), seconds(4, 2), MIN, Features()) == 4
    assert combined(seconds(14, 2), seconds(4, 2), MIN, Features(sparse=False)) == 6


def test_a_window_of_equal_range_is_a_selection_of_instances() -> None:
    plan = plan_windows([seconds(60, 10), seconds(60, 60)], VARIANCE, "best", BUSY)
    check(plan, [seconds(60, 10), seconds(60, 60)], VARIANCE)
    assert (60, 60, 60, "all", 1) in steps(plan)


def test_offsets_have_slots_in_common() -> None:
    plan = plan_windows([seconds(10, 10), seconds(10, 10, 4)], MIN, "best", BUSY)
    check(plan, [seconds(10, 10), seconds(10, 10, 4)], MIN)
    assert steps(plan)[0] == (2, 2, None, "rows", 0)


@pytest.mark.parametrize("count", [1, 10, 100])
@pytest.mark.parametrize("traits", [MIN, SUM, VARIANCE], ids=["MIN", "SUM", "VARIANCE"])
@pytest.mark.parametrize("known", [None, BUSY], ids=["unknown", "busy"])
def test_random_real_lengths_are_left_alone_or_cut_into_slices(
    count: int, traits: Traits, known: WindowStatistics | None
) -> None:
    """None is made of another, nor of a factor window: of the rows, or where that is known to cost less, of what lies between all edges."""
    random = Random(count)
    windows = [Window(r, r) for r in (random.randint(SECOND, 20 * SECOND) for _ in range(count))]
    mode: Mode = "naive" if known is None or count == 1 else "slices"
    assert plan_windows(windows, traits, "best", known) == plan_windows(windows, traits, mode)


@pytest.mark.parametrize("traits", [MIN, SUM, VARIANCE, MEDIAN], ids=["MIN", "SUM", "VARIANCE", "MEDIAN"])
def test_no_slots_finer_than_the_rows(traits: Traits) -> None:
    random = Random(7)
    windows = [
        Window(random.randint(10 * SECOND, 20 * SECOND), random.randint(SECOND, 10 * SECOND))
        for _ in range(20)
    ]
    for s in plan_windows(windows, traits, "best", BUSY):
        if s.factor:
            length = lengths(s.window)[0]
            assert distinct_keys(BUSY, length) <= 0.5 * BUSY.rate * length / SECOND


def test_costs_of_random_real_lengths_are_numbers() -> None:
    random = Random(3)
    cost = costs([Window(r, r) for r in (random.randint(SECOND, 20 * SECOND) for _ in range(100))], MIN)
    assert cost["naive"] == cost["best"] and isinstance(cost["naive"], int)


def test_sharing_does_not_pay_where_each_row_has_its_own_key() -> None:
    unique = WindowStatistics(rate=1000, keys=1e9, batch=60 * SECOND)
    windows = [seconds(10, 10), seconds(20, 20), seconds(30, 30)]
    factors = plan_windows(windows, SUM, "best", unique).factors
    assert factors == ()


def test_few_rows_in_a_batch_are_not_worth_one_more_step() -> None:
    windows = [seconds(20, 20), seconds(30, 30), seconds(40, 40)]
    assert (
        plan_windows(windows, MIN, "best", WindowStatistics(rate=2, keys=10, batch=120 * SECOND)).factors
        == ()
    )
    assert plan_windows(windows, MIN, "best", BUSY).factors == (seconds(10, 10),)


def test_best_and_its_predicted_cost_agree_on_derived_windows_that_others_read() -> None:
    known = WindowStatistics(rate=10_000, keys=1_000, batch=500 * SECOND)
    windows = [seconds(10, 10), seconds(20, 20), seconds(40, 40)]
    best, shared = (plan_windows(windows, MIN, mode, known) for mode in ("best", "shared"))
    assert engine_cost(best, MIN, known) <= engine_cost(shared, MIN, known)
    plan = Forest(
        (Step(windows[0]), Step(windows[1], windows[0], "all", 2), Step(windows[2], windows[1], "all", 2))
    )
    apart = engine_cost(plan, MIN, known, Constants(opened=0)) + Constants().opened
    assert engine_cost(plan, MIN, known) == pytest.approx(apart)


def test_holistic_aggregates_share_disjoint_pieces_where_that_pays() -> None:
    windows = [Window(m * MINUTE, m * MINUTE) for m in (1, 5, 15, 60)]
    plan = plan_windows(windows, MEDIAN, "best", BUSY)
    check(plan, windows, MEDIAN)
    assert sum(s.source is None for s in plan) == 1
    dear = Constants(value=5.0)
    assert (
        plan_windows([Window(HOUR, MINUTE)], MEDIAN, "best", BUSY, constants=dear).steps[-1].source
        is not None
    )


def test_running_totals_only_over_slots_and_for_hopping_windows() -> None:
    assert prefix_possible(seconds(10, 2), seconds(2, 2), SUM, Features())
    assert not prefix_possible(seconds(10, 10), seconds(2, 2), SUM, Features())
    assert not prefix_possible(seconds(10, 2), seconds(4, 2), SUM, Features())
    assert not prefix_possible(seconds(10, 2), seconds(2, 2), MIN, Features())
    assert not prefix_possible(seconds(10, 2), seconds(2, 2), SUM, Features(prefix=False))


def test_estimates_count_keys_times_instances() -> None:
    ten, minute = (
        e
        for e in estimates(
            Forest((Step(seconds(10, 10)), Step(seconds(60, 60), seconds(10, 10), "all", 6))), SUM, BUSY
        )
    )
    assert (ten.rows_in, round(ten.rows_out), round(ten.state_rows)) == (1_000_000_000, 1_000_000, 60_000)
    assert (round(minute.rows_in), round(minute.rows_out), minute.state_rows) == (1_000_000, 166_667, 0)


@pytest.mark.parametrize("wrong", [{"rate": 0}, {"keys": -1}, {"batch": 0}])
def test_statistics_must_be_positive(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        WindowStatistics(**{"rate": 1, "keys": 1, "batch": 1} | wrong)
