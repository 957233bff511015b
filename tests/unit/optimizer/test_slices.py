"""Slices: time cut at the edges of all windows."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg.compile.lifts import lift_sql
from thalweg.errors import InternalError
from thalweg.model.windows import SECOND, Window
from thalweg.optimizer.cost.steps import engine_cost, estimates
from thalweg.optimizer.forest import Forest, Step
from thalweg.optimizer.plan_windows import plan_windows
from thalweg.optimizer.slices import share, sliced, slices_of
from thalweg.optimizer.traits import Traits
from thalweg.optimizer.validity import check
from thalweg.plan.nodes import Fragment
from thalweg.statistics.records import WindowStatistics

windows = st.builds(Window, st.integers(1, 24), st.integers(1, 24), st.integers(0, 30))


def starts(asked: set[Window], low: int, high: int) -> list[int]:
    """Where instances begin or end."""
    edges = {
        e
        for w in asked
        for m in range((low - w.range) // w.slide - 2, high // w.slide + 2)
        for e in (w.start(m), w.end(m))
    }
    return sorted(e for e in edges if low <= e < high)


@settings(max_examples=100, deadline=None)
@given(st.sets(windows, min_size=1, max_size=5))
def test_a_row_is_in_the_slice_that_began_last(asked: set[Window]) -> None:
    slices = slices_of(asked)
    lifted = Fragment("f", "s", (), (), slices)
    with duckdb.connect() as db:
        db.execute('CREATE TABLE scan AS SELECT range AS "__time" FROM range(-100, 100)')
        found = db.execute(lift_sql(lifted), {"frontier": -100}).fetchall()
    first = max(starts(asked, -200, -99))
    expected = [first, *starts(asked, -99, 100)]
    assert sorted(slices.start(slot) for (slot,) in found) == expected


@settings(max_examples=100, deadline=None)
@given(st.sets(windows, min_size=1, max_size=4))
def test_as_many_slices_are_expected_as_there_are(asked: set[Window]) -> None:
    slices, length = slices_of(asked), 20_000
    there = len(starts(asked, 0, length)) / (length / slices.slide)
    assert float(share(slices)) == pytest.approx(there, rel=0.01)


def test_slices_are_fewer_than_slots_where_windows_have_little_in_common() -> None:
    """1.901 and 2.303 s have a millisecond in common, but one edge a second."""
    asked, slot = [Window(n * 1_000, n * 1_000) for n in (1_901, 2_303)], Window(1_000, 1_000)
    known = WindowStatistics(1_000, 1, 60 * SECOND)
    first, *others = estimates(sliced(asked), Traits(), known)
    edges = 60 * (1 / 1.901 + 1 / 2.303)
    assert first.rows_out == pytest.approx(edges, rel=0.01)
    assert sum(e.rows_in for e in others) == pytest.approx(2 * edges, rel=0.01)
    slots = Forest((Step(slot, factor=True), *(Step(w, slot, "all", w.range // slot.range) for w in asked)))
    assert engine_cost(sliced(asked), Traits(), known) < engine_cost(slots, Traits(), known)


def test_a_window_that_is_all_slices_is_no_factor_window() -> None:
    plan = plan_windows([Window(10, 10), Window(30, 30)], Traits(), "slices")
    assert [(s.window.edges, s.source, s.factor) for s in plan] == [
        ((), None, False),
        ((), Window(10, 10), False),
    ]


def test_an_edge_within_a_slice_is_found() -> None:
    slices = Window(1, 1, edges=((4, 0), (6, 0)))
    broken = Forest((Step(slices, factor=True), Step(Window(5, 5), slices, "all", 5)))
    with pytest.raises(InternalError, match="within a slice"):
        check(broken, [Window(5, 5)], Traits())


def test_slices_keep_their_place_whatever_instant_they_begin_at() -> None:
    asked = [Window(4 * SECOND, 4 * SECOND, 500_000), Window(6 * SECOND, 3 * SECOND, 250_000)]
    slices = slices_of(asked)
    assert slices.slide == 250_000 and slices.edges == ((3 * SECOND, 250_000), (4 * SECOND, 500_000))
    check(sliced(asked), asked, Traits(holistic=True))
