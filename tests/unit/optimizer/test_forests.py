"""Every plan is right: by its intervals, and by the results it gives on rows."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import fields, replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg.errors import InternalError
from thalweg.model.windows import SECOND, Window
from thalweg.optimizer.cost.steps import engine_cost, estimates
from thalweg.optimizer.cost.windows import forest_cost
from thalweg.optimizer.forest import Forest, Step, base, in_time, pieces
from thalweg.optimizer.plan_windows import COSTED, MODES, Mode, costs, plan_windows
from thalweg.optimizer.traits import Features, Traits
from thalweg.optimizer.units import Scale
from thalweg.optimizer.validity import check
from thalweg.plan.pieces import Pieces
from thalweg.statistics.records import WindowStatistics

MIN, SUM, VARIANCE, MEDIAN = (
    Traits(overlap_safe=True),
    Traits(invertible=True),
    Traits(),
    Traits(holistic=True),
)
DISTINCT, ANY = Traits(overlap_safe=True, holistic=True), Traits(overlap_safe=True, invertible=True)
ALL_TRAITS = [MIN, SUM, VARIANCE, MEDIAN, DISTINCT, ANY]
ALL_FEATURES = [Features(), *(replace(Features(), **{f.name: False}) for f in fields(Features))]

lengths = st.integers(1, 24)
windows = st.builds(Window, lengths, lengths, st.integers(0, 30))
window_sets = st.sets(windows, min_size=1, max_size=5)
statistics = st.none() | st.builds(
    WindowStatistics,
    st.sampled_from([1e3, 1e6, 1e9]),
    st.sampled_from([1.0, 100.0, 1e6]),
    st.sampled_from([1, 100, 10_000]),
)


@settings(max_examples=300, deadline=None)
@given(
    window_sets,
    st.sampled_from(ALL_TRAITS),
    st.sampled_from(MODES),
    statistics,
    st.sampled_from(ALL_FEATURES),
)
def test_every_plan_is_valid(
    asked: set[Window], traits: Traits, mode: Mode, known: WindowStatistics | None, enabled: Features
) -> None:
    check(plan_windows(asked, traits, mode, known, enabled), asked, traits)


@settings(max_examples=100, deadline=None)
@given(
    window_sets,
    st.sampled_from([1_000, SECOND, 60 * SECOND]),
    st.sampled_from(ALL_TRAITS),
    st.sampled_from(MODES),
)
def test_plans_scale_with_the_unit(asked: set[Window], unit: int, traits: Traits, mode: Mode) -> None:
    scaled = set(map(Scale(unit).up, asked))
    assert plan_windows(scaled, traits, mode) == in_time(plan_windows(asked, traits, mode), Scale(unit))


def computed(
    forest: Forest, rows: dict[int, list[int]], combine: Callable[[list[int]], int], invert: bool
) -> dict[Window, dict[int, int]]:
    """What a plan gives for a few instances of each window, step by step, from rows by time; the empty ones left out."""
    found: dict[Window, Callable[[int], int | None]] = {}

    def instance(step: Step) -> Callable[[int], int | None]:
        if step.source is None:
            return lambda m: _lifted(
                [x for t in range(step.window.start(m), step.window.end(m)) for x in rows.get(t, [])], combine
            )
        read = found[step.source]
        if step.how == "prefix":
            assert invert
            return lambda m: _difference(read, base(step, m), tuple(pieces(step)))
        return lambda m: _lifted(
            [x for p in pieces(step) if (x := read(base(step, m) + p)) is not None], combine
        )

    for step in forest:
        found[step.window] = instance(step)
    return {w: {m: x for m in range(-4, 6) if (x := read(m)) is not None} for w, read in found.items()}


def _lifted(values: list[int], combine: Callable[[list[int]], int]) -> int | None:
    return combine(values) if values else None


def _difference(read: Callable[[int], int | None], first: int, ends: tuple[int, ...]) -> int | None:
    """Running totals that begin somewhere before both ends."""
    begin = first - 3
    whole, piece = (sum(read(n) or 0 for n in range(begin, first + end)) for end in reversed(ends))
    return whole - piece if any(read(n) is not None for n in range(first, first + ends[1])) else None


@settings(max_examples=150, deadline=None)
@given(
    window_sets,
    st.lists(st.tuples(st.integers(-100, 160), st.integers(-9, 9)), max_size=30),
    st.sampled_from([(MIN, min), (SUM, sum), (VARIANCE, sum), (ANY, max)]),
    st.sampled_from(MODES),
    statistics,
)
def test_every_plan_gives_what_the_definition_says(
    asked: set[Window],
    events: list[tuple[int, int]],
    aggregate: tuple[Traits, Callable[[list[int]], int]],
    mode: Mode,
    known: WindowStatistics | None,
) -> None:
    traits, combine = aggregate
    if combine is max:
        traits = MIN
    rows: defaultdict[int, list[int]] = defaultdict(list)
    for time, value in events:
        rows[time].append(value)
    forest = plan_windows(asked, traits, mode, known)
    given = computed(forest, rows, combine, traits.invertible)
    naive = computed(plan_windows(asked, traits, "naive"), rows, combine, False)
    assert {w: given[w] for w in asked} == naive


@settings(max_examples=150, deadline=None)
@given(window_sets, st.sampled_from(ALL_TRAITS))
def test_each_mode_costs_no_more_than_the_one_before(asked: set[Window], traits: Traits) -> None:
    cost = costs(asked, traits)
    assert cost["best"] <= cost["paper"] <= cost["shared"] <= cost["naive"]


@settings(max_examples=150, deadline=None)
@given(window_sets, st.sampled_from(ALL_TRAITS), statistics.filter(bool), st.sampled_from(ALL_FEATURES))
def test_best_is_never_predicted_to_be_dearer(
    asked: set[Window], traits: Traits, known: WindowStatistics, enabled: Features
) -> None:
    cost = {
        mode: engine_cost(plan_windows(asked, traits, mode, known, enabled), traits, known)
        for mode in (MODES if enabled.slots else COSTED)
    }
    assert cost["best"] <= min(cost.values()) * (1 + 1e-9)


@given(window_sets, st.sampled_from(ALL_TRAITS), statistics.filter(bool))
def test_estimates_add_up_to_the_cost(asked: set[Window], traits: Traits, known: WindowStatistics) -> None:
    forest = plan_windows(asked, traits, "paper")
    each = estimates(forest, traits, known)
    assert [e.step for e in each] == list(forest)
    assert sum(e.cost for e in each) == pytest.approx(engine_cost(forest, traits, known))
    assert all(e.rows_in > 0 and e.rows_out > 0 and e.state_rows >= 0 for e in each)


def test_pieces_and_base() -> None:
    #  W<10,2>      [4 ------------------ 14)
    #  W<4,2>       [4 ---- 8)[8 ---- 12)
    #                               [10 -- 14)
    step = Step(Window(10, 2), Window(4, 2), "sparse", 3)
    assert [step.source.start(base(step, 2) + p) for p in pieces(step) if step.source] == [4, 8, 10]
    assert pieces(Step(Window(12, 4), Window(12, 2), "all", 1)) == Pieces(1)
    assert len(pieces(Step(Window(10, 10)))) == 0
    with pytest.raises(ValueError, match="from the rows"):
        base(Step(Window(10, 10)), 0)


def test_sparse_counts_are_the_least_that_cover() -> None:
    for r1, r2, s2 in product(range(2, 30), range(1, 15), range(1, 8)):
        if r2 < r1 and s2 <= r2 and (r1 - r2) % s2 == 0:
            step = Step(Window(r1, s2), Window(r2, s2), "sparse")
            assert len(pieces(step)) == 1 + -(-((r1 - r2) // s2) // (r2 // s2))
            if r2 % s2 == 0:
                assert len(pieces(step)) == -(-r1 // r2)


BROKEN = {
    "computed twice": [Step(Window(4, 4)), Step(Window(4, 4))],
    "wrongly marked": [Step(Window(4, 4), factor=True)],
    "before its source": [Step(Window(4, 4), Window(2, 2), "all", 2)],
    "lacks": [],
    "no step reads": [Step(Window(2, 2), factor=True), Step(Window(4, 4))],
    "combines 2 instances": [Step(Window(2, 2), factor=True), Step(Window(4, 4), Window(2, 2), "all", 3)],
    "twice": [Step(Window(3, 1), factor=True), Step(Window(4, 4), Window(3, 1), "sparse", 2)],
    "gap": [Step(Window(1, 3), factor=True), Step(Window(4, 4), Window(1, 3), "all", 2)],
    "begins within": [Step(Window(2, 2, 1), factor=True), Step(Window(4, 4), Window(2, 2, 1), "all", 2)],
    "ends at": [Step(Window(3, 3), factor=True), Step(Window(4, 4), Window(3, 3), "all", 1)],
    "can't be subtracted": [Step(Window(2, 2), factor=True), Step(Window(4, 4), Window(2, 2), "prefix", 2)],
    "no way named": [Step(Window(2, 2), factor=True), Step(Window(4, 4), Window(2, 2), "guess", 2)],
}


@pytest.mark.parametrize("fault", BROKEN)
def test_the_checker_finds(fault: str) -> None:
    with pytest.raises(InternalError, match=fault):
        check(Forest(tuple(BROKEN[fault])), [Window(4, 4)], VARIANCE)


def test_no_windows_make_an_empty_plan() -> None:
    assert all(len(plan_windows([], SUM, mode)) == 0 for mode in MODES)


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="no mode 'worst' among naive, shared, paper, best"):
        plan_windows([Window(1, 1)], SUM, "worst")  # type: ignore[arg-type]


def test_a_forest_of_one_window_costs_what_it_reads() -> None:
    assert forest_cost(Forest((Step(Window(10, 2)),))) == 10
