"""The order of inputs in a plan: no part of a join's name, written down where it changes, and what the FROM clause follows."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import permutations, product

import pytest
from workloads import planned, queries

from thalweg.compile.join_tree import Clause, View, from_sql
from thalweg.model.settings import Config
from thalweg.plan.change import applied, change_of
from thalweg.plan.codec import dumps, loads
from thalweg.plan.join_order import Meeting

THREE = "SELECT a.k, COUNT(*) AS n FROM a [RANGE 1 MINUTE], b [RANGE 1 MINUTE], c [RANGE 1 MINUTE] WHERE a.k = b.k AND b.j = c.j {}"
COUNTED = THREE.format("GROUP BY a.k EVERY 1 MINUTE")
TOP = 100 * 60_000_000


def test_an_order_is_no_part_of_a_name() -> None:
    best, written = (planned(queries(COUNTED), config=Config(order=order)) for order in ("best", "written"))
    assert best.joins[0].order and not written.joins[0].order
    assert best.joins[0].id == written.joins[0].id and best.fragments == written.fragments


def test_two_inputs_have_no_order() -> None:
    pairs = "SELECT a.k, COUNT(*) AS n FROM a [RANGE 1 MINUTE], b [RANGE 1 MINUTE] WHERE a.k = b.k GROUP BY a.k EVERY 1 MINUTE"
    assert planned(queries(pairs)).joins[0].order == ()


def test_another_order_takes_the_place_of_the_one_before_at_once() -> None:
    """With the same emission, from the next batch on; and the file of the plan says no more than that."""
    first = planned(queries(COUNTED), top=TOP, config=Config(order="written"))
    second = planned(queries(COUNTED), first, top=2 * TOP, again=True)
    assert second.emissions == first.emissions and second.fragments == first.fragments
    assert second.joins == (replace(first.joins[0], order=second.joins[0].order),) and second.joins[0].order
    change = change_of("before", first, second)
    assert (
        change.made.joins == second.joins
        and not change.made.fragments
        and not change.gone
        and not change.ended
    )
    assert applied(first, loads(dumps(change))) == second


def test_a_plan_that_knows_no_order_can_be_read() -> None:
    (join,) = planned(queries(COUNTED), config=Config(order="written")).joins
    assert loads(dumps(join).replace(', "order": []', "")) == join


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=str)
def test_the_from_clause_follows_the_order(order: tuple[int, ...]) -> None:
    """Whatever rows the inputs have: these say only what stands on which side."""
    clauses = [Clause("a = b", frozenset({0, 1})), Clause("b = c", frozenset({1, 2}))]
    for rows in product((1, 10, 100), repeat=3):
        sql = from_sql([View(name, r) for name, r in zip("ABC", rows, strict=True)], clauses, order)
        (inner,) = re.findall(r"\(\((\w)\) (?:CROSS )?JOIN \((\w)\)", sql)
        assert {"ABC".index(n) for n in inner} == set(order[:2])


def test_new_rows_of_an_input_have_their_own_order() -> None:
    (join,) = planned(queries(COUNTED), config=Config(early_aggregation="LAP", evaluate="expiry")).joins
    assert [m.fresh for m in join.order] == [0, 1, 2] and all(isinstance(m, Meeting) for m in join.order)
