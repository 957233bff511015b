"""Which queries are computed as one: the paper's equations and its figures 6 and 7a, and the same by this engine's costs."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from thalweg.optimizer.cost.sharing import crd, groups_of, paper_cost, union

Rows = frozenset[int]
Query = tuple[Rows, Rows]


def common(some: Sequence[Rows]) -> int:
    return len(frozenset.intersection(*some))


@pytest.mark.parametrize("count", [1, 2, 3, 6, 12])
def test_equation_1_is_the_size_of_the_union(count: int) -> None:
    random = Random(count)
    sets = [frozenset(random.sample(range(100), random.randrange(1, 60))) for _ in range(count)]
    assert crd(sets, common, 100) == len(frozenset.union(*sets))


def test_equation_1_of_many_sets_is_bounded_by_what_there_is() -> None:
    sets = [frozenset(range(n, n + 20)) for n in range(40)]
    assert 20 < crd(sets, common, 100) <= 100


def shared(queries: Sequence[Query]) -> float:
    """Equation 2 of the rows that any of the queries takes; keys are all there are."""
    rows = [crd([q[side] for q in queries], common, 1_000) for side in (0, 1)]
    return paper_cost((rows[0], rows[1]), (100, 100), rows[0] * rows[1] / 100, (True, True), True)


def block(low: int, high: int) -> Rows:
    return frozenset(range(low, high))


V, W = block(0, 1_000), block(0, 1_000)
Q1, Q2, Q4, Q6 = (V, W), (block(0, 990), W), (block(0, 500), block(0, 400)), (block(0, 480), block(0, 420))
Q5 = (block(800, 1_000), block(700, 1_000))


def test_figure_6_queries_that_share_no_rows_are_cheaper_apart() -> None:
    assert shared([Q4, Q5]) > shared([Q4]) + shared([Q5])
    assert shared([Q1, Q2]) < shared([Q1]) + shared([Q2])


def test_figure_7a_groups() -> None:
    """V join W: Q1 with Q2, Q4 with Q6, Q5 alone; a query joins where the group costs less with it than without it and it alone."""
    groups = groups_of([Q1, Q2, Q4, Q6, Q5], shared, lambda one: shared([one]), 64)
    assert groups[0][:2] == [Q1, Q2] and all(Q5 not in g or len(g) == 1 or Q1 in g for g in groups)
    assert groups_of([Q4, Q6, Q5], shared, lambda one: shared([one]), 64) == [[Q4, Q6], [Q5]]


def test_groups_have_no_more_members_than_bits() -> None:
    groups = groups_of(list(range(150)), lambda some: 1.0, lambda one: 1.0, 64)
    assert [len(g) for g in groups] == [64, 64, 22]


def test_a_union_is_no_more_than_all_and_no_less_than_the_largest() -> None:
    assert max([0.2, 0.5, 0.4]) <= union([0.2, 0.5, 0.4]) <= 1
