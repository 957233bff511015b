"""Outer, semi and anti joins, of rows and of aggregates, give what the definition gives, in any split, with restarts and other parallelism."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as hs
from test_joins import Forced, check_case, parallelism, planners, steps

from thalweg.testing.attached_texts import attached_joins
from thalweg.testing.join_sources import JoinCase


@given(
    case=attached_joins(),
    planner=planners,
    restarts=steps,
    partitions=parallelism,
    switches=hs.dictionaries(hs.integers(1, 5), planners, max_size=2),
    exchange=hs.sampled_from(["always", "always", "best"]),
)
def test_rows_without_partners_come_out_as_defined(
    case: JoinCase,
    planner: Forced,
    restarts: set[int],
    partitions: list[int],
    switches: dict[int, Forced],
    exchange: str,
) -> None:
    check_case(case, planner, restarts, partitions, switches, exchange)
