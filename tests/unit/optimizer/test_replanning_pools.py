"""Whether another plan is better is asked of what plans are chosen by: of a pool by what all its members take together."""

from __future__ import annotations

from itertools import permutations

import pytest

from thalweg.model.settings import Config
from thalweg.optimizer.planner import CLEAR_GAIN, planner_for, worth_replanning
from thalweg.optimizer.predicting import predicted, predicted_change
from thalweg.optimizer.workload import advance, build
from thalweg.plan.nodes import Plan
from thalweg.state.manifest import Manifest, Seen
from thalweg.statistics.known import Known, side_names, sides_to_sample
from thalweg.testing.bound import Bound, bind_statements

MEMBERS = 40
WAYS = [(early, how) for early in ("LAP", "EAP11") for how in ("snapshot", "delta", "expiry")]
STREAM = (
    "CREATE STREAM {n} (k BIGINT, g BIGINT, x BIGINT, at TIMESTAMP) "
    "WITH (format = 'parquet', path = 'none/{n}', time = 'at', rate = {rate});"
)
COUNT = (
    "SELECT a.g, COUNT(*) AS n FROM a [RANGE 1 MINUTE], b [RANGE 1 MINUTE] "
    "WHERE a.k = b.k AND a.x = {i} AND b.x = {i} GROUP BY a.g EVERY 5 SECONDS"
)


def pooled(rate: int) -> tuple[Bound, Known]:
    """Queries each of which takes a fiftieth of the rows, as measured: together they take more than half."""
    text = "".join(STREAM.format(n=n, rate=rate) for n in "ab")
    bound = bind_statements(
        text + "".join(f"CREATE QUERY q{i} AS {COUNT.format(i=i)};" for i in range(MEMBERS))
    )
    streams = tuple(bound.streams.values())
    names = [name for side in sides_to_sample(bound.queries.values()) for name in side_names(side)]
    seen = Seen({n: (float(rate), 1e6) for n in "ab"}, sides=dict.fromkeys(names, (0.02, 200.0, 100.0)))
    return bound, planner_for(Config(), Manifest(seen=seen), streams).known


@pytest.mark.parametrize("rate", [50, 2_000, 50_000])
def test_members_of_a_pool_are_planned_again_where_the_pool_costs_clearly_more(rate: int) -> None:
    bound, known = pooled(rate)
    streams, asked = tuple(bound.streams.values()), tuple(bound.queries.values())

    def plan(early: str, how: str) -> Plan:
        planner = planner_for(Config(early_aggregation=early, evaluate=how, sharing="all"), None, streams)
        return build(streams, asked, planner)

    plans = [plan(*way) for way in WAYS]
    assert all(len(p.joins) == 1 and p.joins[0].pool for p in plans)
    verdicts = set()
    for now, then in permutations(plans, 2):
        is_worth = predicted(now, known).millis > CLEAR_GAIN * predicted(then, known).millis
        assert worth_replanning(now, then, known) == (set(bound.queries) if is_worth else set())
        assert predicted_change(now, then, known) == (predicted(now, known), predicted(then, known))
        verdicts.add(is_worth)
    assert verdicts == {True, False}


def test_what_stays_as_it_is_costs_what_it_did() -> None:
    """Of two plans that follow each other the joins that differ are priced, and those that have come to be of other queries."""
    bound, known = pooled(2_000)
    streams, asked = tuple(bound.streams.values()), tuple(bound.queries.values())
    planner = planner_for(Config(sharing="all"), None, streams)
    whole = build(streams, asked, planner)
    for some in (asked[:-1], asked[1:], asked):
        next_plan = advance(whole, streams, some, planner, {}, {})
        assert predicted_change(whole, next_plan, known) == (
            predicted(whole, known),
            predicted(next_plan, known),
        )
