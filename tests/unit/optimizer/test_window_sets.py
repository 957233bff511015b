"""The generators of window sets, and the numbers that candidates are made of."""

import pytest

from thalweg.model.windows import SECOND, Window
from thalweg.optimizer.divisors import divisors, factorized
from thalweg.optimizer.window_sets import random_gen, sequential_gen


@pytest.mark.parametrize("tumbling", [True, False])
@pytest.mark.parametrize("n", [5, 10, 15, 20])
def test_random_gen(n: int, tumbling: bool) -> None:
    windows = random_gen(n, tumbling, seed=n)
    assert len(set(windows)) == n
    assert windows == random_gen(n, tumbling, seed=n) != random_gen(n, tumbling, seed=n + 1)
    for w in windows:
        assert w.range == w.slide * (1 if tumbling else 2)
        seeds = (2, 5, 10) if tumbling else (5, 10, 20)
        assert any(w.slide % s == 0 and 2 <= w.slide // s <= 50 for s in seeds)


def test_sequential_gen() -> None:
    assert sequential_gen(3, True, seed=0, ranges=(5,), unit=SECOND) == tuple(
        Window(r * SECOND, r * SECOND) for r in (10, 15, 20)
    )
    assert {sequential_gen(20, False, seed)[0].slide for seed in range(20)} == {10, 20, 40}


def test_generators_refuse_more_windows_than_there_are() -> None:
    with pytest.raises(ValueError, match="no 50 windows"):
        sequential_gen(50, True, seed=0)
    with pytest.raises(ValueError, match="make 49 windows, not 50"):
        random_gen(50, True, seed=0, ranges=(1,))


def test_divisors() -> None:
    for n in range(1, 500):
        assert divisors(n) == tuple(d for d in range(1, n + 1) if n % d == 0)
    assert (
        len(divisors(86_400 * SECOND))
        == len([d for d in divisors(86_400 * SECOND) if (86_400 * SECOND) % d == 0])
        > 200
    )
    assert factorized(4_294_967_291) == ((4_294_967_291, 1),)
