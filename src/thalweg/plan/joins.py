"""Join queries become sides and joins, and are handed over from one plan to another while they run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Protocol

from thalweg.logical.join import UNBOUNDED, JoinQuery
from thalweg.optimizer.join_plans import JoinChoice
from thalweg.plan.instants import is_drained
from thalweg.plan.join_sides import sides_of
from thalweg.plan.nodes import Join, Plan, Side

Instants = Mapping[str, int | None]


class JoinPlanner(Protocol):
    """Decides how a join query is computed."""

    def join(self, query: JoinQuery) -> JoinChoice:
        """The plan of a join query."""


def planned(query: JoinQuery, choice: JoinChoice, begins: Instants) -> tuple[tuple[Side, ...], Join]:
    """The sides and the join of a choice; a query that starts in mid-stream begins after the rows that were seen."""
    sides = sides_of(query, choice.early)
    starts = tuple(begins.get(i.source) if i.is_stream else None for i in query.inputs)
    evaluate = "rows" if query.every is None else choice.evaluate
    invalidate = choice.invalidate if evaluate == "rows" else "slot"
    first = first_whole(query, starts)
    return sides, Join(query.name, tuple(s.id for s in sides), evaluate, choice.method, starts, invalidate, first)


def first_whole(query: JoinQuery, starts: tuple[int | None, ...]) -> int | None:
    """The first instant whose windows lie wholly after the beginnings."""
    if query.every is None:
        return None
    ends = [s + (i.length if i.length is not None else 1) for i, s in zip(query.inputs, starts, strict=True) if s is not None]
    return -(-max(ends) // query.every) if ends else None


def build_joins(queries: Iterable[JoinQuery], planner: JoinPlanner, begins: Instants) -> Plan:
    """Join queries that come into force together."""
    made = [planned(q, planner.join(q), begins) for q in queries]
    return Plan(sides=_together([s for sides, _ in made for s in sides]), joins=tuple(j for _, j in made))


def advance_joins(
    old: Plan, queries: Iterable[JoinQuery], continuing: set[str], planner: JoinPlanner, tops: Instants, frontiers: Instants, replan: bool
) -> Plan:
    """What continues goes on as it is; with `replan` it is handed over to another plan where that is better."""
    begins = {s: None if t is None else t + 1 for s, t in tops.items()}
    sides, joins = list(old.sides), []
    for query in queries:
        running = [j for j in old.joins if j.query == query.name and query.name in continuing]
        running = [j for j in running if not is_drained(old, j, frontiers)]
        if running and not replan:
            joins += running
            continue
        made, join = planned(query, planner.join(query), begins)
        sides += made
        joins += _handed_over(query, running, join) if running else [join]
    return _pruned(Plan(sides=_together(sides), joins=tuple(joins)))


def _handed_over(query: JoinQuery, running: list[Join], new: Join) -> list[Join]:
    """The old plan gives out the instants before the new one begins. Where windows never end, or rows are the result, only
    the way partners are found is changed."""
    *ending, old = running
    if new.sides == old.sides and new.evaluate == old.evaluate:
        return [*ending, replace(old, method=new.method, invalidate=new.invalidate)]
    if query.every is None or any(i.kind == UNBOUNDED for i in query.inputs):
        return running
    if new.begin is None:
        return [*ending, new]
    begin = max(new.begin, old.begin if old.begin is not None else new.begin)
    return [*ending, replace(old, until=begin), replace(new, begin=begin)]


def _together(sides: Iterable[Side]) -> tuple[Side, ...]:
    """Sides of the same meaning as one, with the parts of all."""
    found: dict[str, Side] = {}
    for side in sides:
        known = found.get(side.id, side)
        found[side.id] = replace(known, parts=tuple({p.name: p for p in (*known.parts, *side.parts)}.values()))
    return tuple(found.values())


def _pruned(plan: Plan) -> Plan:
    used = {s for j in plan.joins for s in j.sides}
    return replace(plan, sides=tuple(s for s in plan.sides if s.id in used))
