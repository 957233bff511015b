"""Iterations of planning with shared cost, as in figure 7b of the paper on ad-hoc joins."""

from __future__ import annotations

from thalweg.optimizer.sub_joins import Prefix, chosen_prefixes, worthwhile


def offers(**joins: dict[str, float]) -> dict[str, list[Prefix]]:
    """Per join what its inputs may begin to meet by, with the cost of that."""
    return {name: [Prefix((0, 1), key, cost) for key, cost in some.items()] for name, some in joins.items()}


def test_a_join_takes_what_costs_least_for_each_who_shares_it() -> None:
    # Q1 = V W, Q2 = V W C, Q3 = W C: the first step divides V W by Q1 and Q2, W C by Q2 and Q3
    first = chosen_prefixes(offers(Q1={"VW": 10}, Q2={"VW": 10, "WC": 16}, Q3={"WC": 16}))
    assert {name: p.key for name, p in first.items()} == {"Q1": "VW", "Q2": "VW"}


def test_what_others_do_not_take_in_the_end_is_not_shared() -> None:
    # W C would be shared by Q2 and Q3, but Q2 takes V W: Q3 is left alone with it
    found = chosen_prefixes(
        offers(Q1={"VW": 4}, Q2={"VW": 4, "WC": 8}, Q3={"WC": 8, "CD": 20}, Q4={"CD": 20})
    )
    assert {name: p.key for name, p in found.items()} == {"Q1": "VW", "Q2": "VW", "Q3": "CD", "Q4": "CD"}


def test_sharing_is_left_where_each_takes_few_of_the_rows() -> None:
    def users(taken: float, count: int) -> dict[str, Prefix]:
        return {f"q{i}": Prefix((0, 1), "VW", 1.0, taken) for i in range(count)}

    assert len(worthwhile(users(1.0, 4))) == 4
    assert worthwhile(users(1.0, 3)) == {}
    assert worthwhile(users(0.1, 30)) == {}
