"""Theorems 1 to 4 against the definitions, taken literally, over all small windows."""

from itertools import pairwise, product

import pytest

from thalweg.model.windows import Window
from thalweg.optimizer.coverage import covered_by, covering_multiplier, covering_set, partitioned_by

SMALL = [Window(r, s, o) for r in range(1, 8) for s in range(1, r + 1) for o in range(s)]
AT_ORIGIN = [w for w in SMALL if w.offset == 0]
Interval = tuple[int, int]


def intervals(w: Window, first: int, last: int) -> list[Interval]:
    """The instances of a window that lie within [first, last)."""
    numbers = range(first // w.slide - 1, last // w.slide + 1)
    return [(w.start(m), w.end(m)) for m in numbers if first <= w.start(m) and w.end(m) <= last]


def some_of(w: Window) -> list[Interval]:
    """Instances of a window at every phase that they can have to another of the small windows."""
    return [(w.start(m), w.end(m)) for m in range(-8, 8)]


def covering(i: Interval, w: Window) -> list[Interval]:
    """Definition 2: the intervals of W within I."""
    return intervals(w, *i)


def defined_covered(w1: Window, w2: Window) -> bool:
    """Definition 1."""
    if w1 == w2:
        return True
    if not w1.range > w2.range:
        return False
    return all(
        any(u == a and v < b for u, v in covering((a, b), w2))
        and any(a < u and v == b for u, v in covering((a, b), w2))
        for a, b in some_of(w1)
    )


def defined_partitioned(w1: Window, w2: Window) -> bool:
    """Definition 5: covered, and each covering set is mutually exclusive."""
    if not defined_covered(w1, w2):
        return False
    for i in some_of(w1):
        pieces = sorted(covering(i, w2))
        if any(after < before for (_, before), (after, _) in pairwise(pieces)):
            return False
    return True


def test_theorem_1_covered_by() -> None:
    for w1, w2 in product(SMALL, SMALL):
        assert covered_by(w1, w2) == defined_covered(w1, w2), (w1, w2)


def test_theorem_2_partial_order() -> None:
    for w1, w2 in product(SMALL, SMALL):
        assert w1 == w2 or not (covered_by(w1, w2) and covered_by(w2, w1))
    for w1, w2, w3 in product(AT_ORIGIN, AT_ORIGIN, AT_ORIGIN):
        assert not (covered_by(w1, w2) and covered_by(w2, w3)) or covered_by(w1, w3)


def test_theorem_3_covering_multiplier_and_set() -> None:
    for w1, w2 in product(SMALL, SMALL):
        if covered_by(w1, w2):
            for m in range(-2, 3):
                found = covering((w1.start(m), w1.end(m)), w2)
                assert len(found) == covering_multiplier(w1, w2)
                assert [(w2.start(n), w2.end(n)) for n in covering_set(w1, w2, m)] == sorted(found)


def test_theorem_4_partitioned_by() -> None:
    for w1, w2 in product(SMALL, SMALL):
        if w1 != w2:  # a hopping window partitions itself by definition 5 but not by theorem 4
            assert partitioned_by(w1, w2) == defined_partitioned(w1, w2), (w1, w2)


def test_covering_sets_cover() -> None:
    """Definition 3: the union of the covering set is the interval."""
    for w1, w2 in product(AT_ORIGIN, AT_ORIGIN):
        if covered_by(w1, w2):
            a, b = w1.start(3), w1.end(3)
            assert {t for u, v in covering((a, b), w2) for t in range(u, v)} == set(range(a, b))


@pytest.mark.parametrize(
    ("w1", "w2"), [(Window(8, 8), Window(2, 4)), (Window(4, 8), Window(2, 4)), (Window(6, 4), Window(2, 4))]
)
def test_a_window_with_gaps_covers_no_other(w1: Window, w2: Window) -> None:
    assert not covered_by(w1, w2) and not partitioned_by(w1, w2)
