"""The order in which inputs meet: the cheapest by what is known of them, and never without an equality where there is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from random import Random

import pytest

from thalweg.model.query import Query
from thalweg.model.settings import Config
from thalweg.optimizer.cost.calibration import JoinConstants
from thalweg.optimizer.cost.partners import Partners, classes_of, linked
from thalweg.optimizer.estimate import estimate
from thalweg.optimizer.join_plans import Wish, consider
from thalweg.optimizer.planner import planner_for, worth_replanning
from thalweg.optimizer.workload import build
from thalweg.plan.join_order import Meeting
from thalweg.statistics.known import Known
from thalweg.statistics.records import InputStatistics, JoinStatistics
from thalweg.testing.bound import Bound, bind_statements

COLUMNS = "(k BIGINT, j BIGINT, x BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = 'none/{n}', time = 'at', rate = {rate})"
CHAIN = "a.k = b.k AND b.j = c.j"
COUNTED = (
    "CREATE QUERY q AS SELECT a.x, COUNT(*) AS n FROM {windows} WHERE {where} GROUP BY a.x EVERY 1 SECOND;"
)


def bound(where: str = CHAIN, rates: Sequence[float] = (1, 1, 1)) -> Bound:
    streams = "".join(
        f"CREATE STREAM {n} {COLUMNS.format(n=n, rate=r)};" for n, r in zip("abc", rates, strict=True)
    )
    return bind_statements(
        streams + COUNTED.format(windows=", ".join(f"{n} [RANGE 10 SECONDS]" for n in "abc"), where=where)
    )


def asked(where: str = CHAIN) -> Query:
    return bound(where).queries["q"]


def known(*inputs: tuple[float, float]) -> JoinStatistics:
    """Rates and distinct values of what is equated."""
    return JoinStatistics(tuple(InputStatistics(rate, 1e6, keys) for rate, keys in inputs), 10, 1e6)


def drawn(random: Random, count: int, more: int = 0) -> Partners:
    """Inputs that are equated as a tree, perhaps with a few equalities more."""
    pairs = [(n, random.randrange(n)) for n in range(1, count)] + [
        tuple(random.sample(range(count), 2)) for _ in range(more)
    ]
    values = [10 ** random.uniform(0, 5) for _ in pairs]
    return Partners(count, tuple(linked(pair, v) for pair, v in zip(pairs, values, strict=True)))


def is_linked(partners: Partners, order: Sequence[int]) -> bool:
    pairs = {frozenset((n, m)) for c in partners.classes for n in c.links for m in c.links[n]}
    return all(
        any(frozenset((n, m)) in pairs for m in order[:place]) for place, n in enumerate(order) if place
    )


@pytest.mark.parametrize("count", [3, 4, 5, 6])
def test_the_order_is_the_cheapest_but_for_few_draws(count: int) -> None:
    random, found = Random(count), []
    for _ in range(60):
        partners, rows = drawn(random, count), [10 ** random.uniform(0, 6) for _ in range(count)]
        best = min(partners.cost(rows, o) for o in permutations(range(count)) if is_linked(partners, o))
        found.append(partners.cost(rows, partners.cheapest(rows)) / best)
    assert sum(f < 1.001 for f in found) >= (60 if count == 3 else 54)


@pytest.mark.parametrize("count", [3, 5, 8])
def test_no_pair_is_made_that_nothing_equates(count: int) -> None:
    random = Random(count)
    for _ in range(100):
        partners = drawn(random, count, more=random.randrange(3))
        order = partners.cheapest([10 ** random.uniform(0, 6) for _ in range(count)])
        assert is_linked(partners, order) and sorted(order) == list(range(count))


def test_of_inputs_that_nothing_equates_the_largest_meets_last() -> None:
    assert Partners(3).cheapest([30, 10, 20])[-1] == 0
    assert Partners(3, (linked((1, 2), 10.0),)).cheapest([1_000, 10, 10])[-1] == 0


def test_of_a_chain_each_end_says_how_many_values_its_link_has() -> None:
    """The middle knows only how many pairs of k and j it has."""
    k, j = classes_of(asked().equalities, known((1, 2), (1, 900), (1, 1_000)).inputs)
    assert k == linked((0, 1), 2) and j == linked((1, 2), 1_000)


def test_columns_of_one_class_and_of_several() -> None:
    (k,) = classes_of(asked("a.k = b.k AND a.k = c.k").equalities, known((1, 5), (1, 7), (1, 3)).inputs)
    assert [1 / k.share(frozenset(some)) for some in ((0, 1), (0, 2), (0, 1, 2))] == pytest.approx([7, 5, 35])
    both, x = classes_of(
        asked("a.k = b.k AND a.j = b.j AND b.x = c.x").equalities, known((1, 50), (1, 900), (1, 3)).inputs
    )
    assert both == linked((0, 1), 50) and x == linked((1, 2), 3)


@pytest.mark.parametrize(
    "where", [CHAIN, "a.k = b.k AND a.k = c.k", "a.k = b.k AND b.j = c.j AND a.x = c.x", "a.k = b.k"]
)
def test_all_orders_join_the_same_pairs(where: str) -> None:
    partners = Partners(3, classes_of(asked(where).equalities, known((1, 30), (1, 30), (1, 30)).inputs))
    found = [partners.pairs([100, 200, 300], order) for order in permutations(range(3))]
    assert found == pytest.approx([found[0]] * 6)


def test_where_new_rows_meet_the_others_they_have_an_order_of_their_own() -> None:
    (plan,) = consider(
        asked(), known((1, 1e4), (100, 1e6), (100, 1e4)), Wish("LAP", "expiry"), JoinConstants()
    )
    orders = {m.fresh: m.inputs for m in plan.choice.order}
    assert set(orders) == {0, 1, 2} and all(orders[n].index(0) < 2 for n in (0, 1)), "a is small"
    (plan,) = consider(
        asked(), known((1, 1e4), (100, 1e6), (100, 1e4)), Wish("LAP", "snapshot"), JoinConstants()
    )
    assert [m.fresh for m in plan.choice.order] == [None]
    (plan,) = consider(
        asked(),
        known((1, 1e4), (100, 1e6), (100, 1e4)),
        Wish("LAP", "snapshot", order="written"),
        JoinConstants(),
    )
    assert plan.choice.order == ()


def test_what_an_order_costs() -> None:
    """One that was best for other rows costs more than the best, and both join the same pairs."""
    statistics = known((1, 1e4), (100, 1e6), (100, 1e4))
    given = (asked(), (False,) * 3, "snapshot", "hash", statistics, JoinConstants())
    best, other = estimate(*given), estimate(*given, (Meeting(None, (1, 2, 0)),))
    assert best.nanos < other.nanos and best.pairs == pytest.approx(other.pairs)
    assert estimate(*given, ()).nanos == estimate(*given, (Meeting(None, (0, 1, 2)),)).nanos


def test_another_order_alone_is_worth_another_plan() -> None:
    found = bound(rates=(20_000, 20_000, 1))
    config = Config(early_aggregation="LAP", evaluate="expiry")
    streams, queries = tuple(found.streams.values()), tuple(found.queries.values())
    planner = planner_for(config, None, streams)
    good = build(streams, queries, planner)
    bad = replace(good, joins=tuple(replace(j, order=(Meeting(None, (0, 1, 2)),)) for j in good.joins))
    assert worth_replanning(bad, good, Known(streams=streams)) == {"q"}
    assert worth_replanning(good, good, Known(streams=streams)) == frozenset()
