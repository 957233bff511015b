"""The levels of a plan: what is computed from the streams, then what is computed from the results of that, and so on.

Each level is worked on after an exchange. Groups of joins take one more to be finished, so that what reads their results is two levels up.
"""

from __future__ import annotations

from dataclasses import replace

from thalweg.model.query import Query
from thalweg.once import once
from thalweg.plan.nodes import Emission, Plan


def levels_of(plan: Plan) -> dict[str, int]:
    """The level of each query: that of the highest of the streams that it reads."""
    arrivals: dict[str, int] = {}
    found: dict[str, int] = {}
    for query in plan.asked:
        found[query.name] = max((arrivals.get(s, 0) for s in query.streams), default=0)
        arrivals[query.name] = found[query.name] + _later(query)
    return found


def _later(query: Query) -> int:
    """The levels that results take to arrive; rows of a union are there as soon as those that they are made of."""
    if query.unites:
        return 0
    return 1 if query.every is None else 2


@once
def last_stage(plan: Plan) -> int:
    """The number of exchanges after that of the rows: the highest level, and one more where groups of joins are to be finished after it."""
    levels = levels_of(plan)
    return max((levels[q.name] + (q.every is not None) for q in plan.asked), default=0)


def part_of(plan: Plan, level: int) -> Plan:
    """What of a plan is computed on a level, as a plan of its own."""
    levels = levels_of(plan)
    emissions = tuple(e for e in plan.emissions if levels[e.query] == level)
    used = _used(plan, emissions)
    return replace(
        plan,
        queries=tuple(q for q in plan.asked if levels[q.name] == level),
        nested=(),
        fragments=tuple(f for f in plan.fragments if f.id in used),
        derived=tuple(d for d in plan.derived if d.id in used),
        joins=tuple(j for j in plan.joins if j.id in used),
        emissions=emissions,
    )


def last_uses(plan: Plan) -> dict[str, int]:
    """The last level on which each node is read; what is to be kept of it is written then."""
    levels = levels_of(plan)
    found: dict[str, int] = {}
    for emission in plan.emissions:
        for id in _used(plan, (emission,)):
            found[id] = max(found.get(id, 0), levels[emission.query])
    return found


def _used(plan: Plan, emissions: tuple[Emission, ...]) -> set[str]:
    return {id for e in emissions for node in e.nodes for id in plan.reached(node)}
