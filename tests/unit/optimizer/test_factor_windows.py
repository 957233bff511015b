"""Algorithms 2, 4 and 5 and theorem 9 against their lines taken literally."""

from fractions import Fraction
from itertools import combinations
from math import gcd
from random import Random

from thalweg.model.windows import Window
from thalweg.optimizer.cost.windows import benefit, lambda_, no_worse, period, recurrence_count
from thalweg.optimizer.coverage import covered_by, covering_multiplier, partitioned_by
from thalweg.optimizer.rules.factor_window_covered import factor_window_covered
from thalweg.optimizer.rules.factor_window_helps import factor_window_helps
from thalweg.optimizer.rules.factor_window_partitioned import factor_window_partitioned


def literal_benefit(wf: Window, w: Window, downstream: list[Window], r: int) -> Fraction:
    """c' - c of section IV-A, by costs."""
    without = sum(recurrence_count(wj, r) * covering_multiplier(wj, w) for wj in downstream)
    saved = without - sum(recurrence_count(wj, r) * covering_multiplier(wj, wf) for wj in downstream)
    return saved - recurrence_count(wf, r) * covering_multiplier(wf, w)


def literal_algorithm_2(w: Window, downstream: list[Window], r: int) -> Fraction:
    """The greatest benefit over all candidates."""
    sd = gcd(*(wj.slide for wj in downstream))
    most = Fraction(0)
    for sf in (s for s in range(1, sd + 1) if sd % s == 0 and s % w.slide == 0):
        for rf in range(sf, min(wj.range for wj in downstream) + 1, sf):
            for of in range(sf):
                wf = Window(rf, sf, of)
                if wf != w and covered_by(wf, w) and all(covered_by(wj, wf) for wj in downstream):
                    most = max(most, literal_benefit(wf, w, downstream, r))
    return most


def random_downstream(random: Random, relation: str) -> tuple[Window, list[Window], int]:
    s = random.choice([1, 1, 2, 3])
    w = Window(s if relation == "partitioned" else s * random.randint(1, 3), s, random.randrange(s))
    downstream: list[Window] = []
    while not downstream:
        slides = [s * random.choice([1, 2, 4, 6, 8, 12]) for _ in range(random.randint(1, 3))]
        some = [
            Window(x * random.randint(1, 4), x, w.offset + s * random.randint(0, 2) * random.randint(0, 1))
            for x in slides
        ]
        related = covered_by if relation == "covered" else partitioned_by
        downstream = sorted({x for x in some if x != w and related(x, w)})
    return w, downstream, period([w, *downstream])


def test_equation_2_is_the_difference_of_costs() -> None:
    for seed in range(200):
        w, downstream, r = random_downstream(Random(seed), "covered")
        wf = Window(w.range + w.slide, w.slide, w.offset)
        assert benefit(wf, w, downstream, r) == literal_benefit(wf, w, downstream, r)


def test_algorithm_2_finds_the_greatest_benefit() -> None:
    found = 0
    for seed in range(300):
        w, downstream, r = random_downstream(Random(seed), "covered")
        wf = factor_window_covered(w, downstream, r)
        assert (benefit(wf, w, downstream, r) if wf else 0) == literal_algorithm_2(w, downstream, r), (
            w,
            downstream,
        )
        found += wf is not None
    assert found > 50


def test_algorithm_4_agrees_with_equation_2() -> None:
    helped = 0
    for seed in range(300):
        w, downstream, r = random_downstream(Random(seed), "partitioned")
        lam = lambda_(downstream, r)
        for k in range(2, 9):
            wf = Window(w.range * k, w.range * k, downstream[0].offset)
            if all(wj != wf and partitioned_by(wj, wf) for wj in downstream):
                helps = factor_window_helps(wf, w, downstream, lam, r)
                assert helps == (benefit(wf, w, downstream, r) >= 0), (wf, w, downstream)
                helped += helps
    assert helped > 50


def test_algorithm_5_finds_the_least_cost() -> None:
    found = 0
    for seed in range(300):
        w, downstream, r = random_downstream(Random(seed), "partitioned")
        wf = factor_window_partitioned(w, downstream, r)
        candidates = [Window(k * w.range, k * w.range, downstream[0].offset) for k in range(2, 50)]
        eligible = [
            c for c in candidates if c not in downstream and all(partitioned_by(wj, c) for wj in downstream)
        ]
        gains = [g for c in eligible if (g := benefit(c, w, downstream, r)) >= 0]
        if wf in downstream:
            continue
        assert (benefit(wf, w, downstream, r) if wf else -1) == max(gains, default=-1), (w, downstream)
        found += wf is not None
    assert found > 50


def test_theorem_9_compares_costs() -> None:
    w, downstream, r = Window(1, 1), [Window(60, 30), Window(120, 60)], 120
    lam = lambda_(downstream, r)
    for rf, other in combinations([2, 3, 5, 6, 10, 15, 30], 2):
        dearer = benefit(Window(rf, rf), w, downstream, r) < benefit(Window(other, other), w, downstream, r)
        assert no_worse(rf, other, 1, lam) == (not dearer)
        assert no_worse(other, rf, 1, lam) == (
            benefit(Window(other, other), w, downstream, r) >= benefit(Window(rf, rf), w, downstream, r)
        )
