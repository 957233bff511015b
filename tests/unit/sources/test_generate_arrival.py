"""Arrival order: disorder is bounded, late events are a share, memory doesn't grow with the stream."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg.errors import UsageError
from thalweg.generate import Generator, Nexmark, Sensors
from thalweg.generate.arrival import cut, in_arrival_order

SECOND = 1_000_000


def order(generator: Generator, block: int = 1000) -> np.ndarray:
    return np.concatenate(list(generator._order(block)))


def test_without_disorder_events_come_in_order() -> None:
    assert (order(Sensors(5000)) == np.arange(5000)).all()


@pytest.mark.parametrize(
    "generator",
    [Sensors(20_000, rate=1000, disorder=2, late=0.02), Nexmark(20_000, rate=333.3, disorder=0.5, seed=4)],
)
def test_order_is_by_arrival_whatever_the_block(generator: Generator) -> None:
    ids = np.arange(generator.events)
    expected = ids[np.lexsort((ids, generator.arrivals(ids)))]
    for block in (77, 1000, 10**6):
        assert (order(generator, block) == expected).all()


def test_disorder_is_bounded_by_its_seconds() -> None:
    generator = Sensors(50_000, rate=1000, disorder=3)
    times = generator.times(order(generator))
    behind = np.maximum.accumulate(times) - times
    assert 2.9 * SECOND < behind.max() < 3 * SECOND


def test_late_share_is_far_behind_and_the_rest_is_not() -> None:
    """Events at 1000/s, D = 2 s: on time at most 2 s behind the newest, late 80 s (60 + 10 D) and more behind it."""
    generator = Sensors(300_000, rate=1000, disorder=2, late=0.05)
    times = generator.times(order(generator))
    behind = np.maximum.accumulate(times) - times
    delivered_before_the_end = times < times.max() - 90 * SECOND
    late = behind >= 2 * SECOND
    assert abs(late[delivered_before_the_end].mean() - 0.05) < 0.003
    assert behind[late & delivered_before_the_end].min() > 77 * SECOND


def test_late_without_disorder() -> None:
    generator = Sensors(100_000, rate=1000, late=0.1)
    delays = generator.arrivals(np.arange(100_000)) - generator.times(np.arange(100_000))
    assert set(delays.tolist()) == {0, 60 * SECOND}
    assert abs((delays > 0).mean() - 0.1) < 0.005


def test_all_late_keeps_all_events() -> None:
    assert sorted(order(Sensors(3000, late=1.0, disorder=1)).tolist()) == list(range(3000))


def test_events_are_released_as_time_goes_on() -> None:
    """A first piece comes after one block and its delays, long before the stream's end."""
    generator = Sensors(10_000_000, rate=1000, disorder=1)
    asked: list[int] = []

    def arrivals(ids: np.ndarray) -> np.ndarray:
        asked.append(len(ids))
        return generator.arrivals(ids)

    pieces = in_arrival_order(generator.events, generator.times, arrivals, block=5000)
    first = [len(next(pieces)) for _ in range(10)]
    assert sum(asked) == 50_000
    assert sum(asked) - sum(first) <= 1000


def test_long_delays_enlarge_the_step_so_that_each_event_is_held_for_few_steps() -> None:
    generator = Sensors(200_000, rate=100_000, disorder=1)
    assert sum(1 for _ in generator._order(100)) < 50


@settings(max_examples=50, deadline=None)
@given(
    st.integers(1, 300),
    st.floats(0.5, 50),
    st.floats(0, 20),
    st.floats(0, 1),
    st.integers(1, 60),
    st.integers(1, 60),
)
def test_every_event_arrives_once_in_any_cut(
    events: int, rate: float, disorder: float, late: float, block: int, size: int
) -> None:
    generator = Sensors(events, rate=rate, disorder=disorder, late=late)
    pieces = list(cut(generator._order(block), size))
    ids = np.concatenate(pieces)
    assert sorted(ids.tolist()) == list(range(events))
    assert [len(piece) for piece in pieces[:-1]] == [size] * (len(pieces) - 1)
    assert (np.diff(generator.arrivals(ids)) >= 0).all()


@pytest.mark.parametrize(
    "bad",
    [
        {"events": 0},
        {"rate": 0},
        {"rate": float("nan")},
        {"keys": 0},
        {"disorder": -1},
        {"late": 1.5},
        {"late": -0.1},
        {"disorder": float("inf")},
    ],
)
def test_bad_numbers_are_named(bad: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(bad))) as error:
        Sensors(**{"events": 10, **bad})
    assert error.value.hint


def test_time_out_of_range_is_refused() -> None:
    with pytest.raises(UsageError, match="range of timestamps"):
        Sensors(10**12, rate=0.001)


def test_chunk_size_must_be_positive() -> None:
    with pytest.raises(UsageError, match="chunks of 0"):
        Sensors(10).chunks(0)
