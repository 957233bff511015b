"""Join queries become sides and joins, and are handed over from one plan to another while they run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Protocol

from thalweg.logical.join import UNBOUNDED, JoinQuery
from thalweg.optimizer.join_plans import JoinChoice
from thalweg.plan.instants import is_drained
from thalweg.plan.join_sides import sides_of
from thalweg.plan.nodes import Join, Plan, Side, side_id

Instants = Mapping[str, int | None]
Starts = tuple[int | None, ...]


class JoinPlanner(Protocol):
    """Decides how a join query is computed."""

    def join(self, query: JoinQuery) -> JoinChoice:
        """The plan of a join query."""


def starts_of(query: JoinQuery, begins: Instants) -> Starts:
    """Per input the event time from which on its rows count: a query that starts in mid-stream begins after the rows that were seen."""
    return tuple(begins.get(i.source) if i.is_stream else None for i in query.inputs)


def planned(query: JoinQuery, choice: JoinChoice, starts: Starts) -> tuple[tuple[Side, ...], Join]:
    """The sides and the join of a choice."""
    sides = tuple(_begun(query, n, side, starts[n]) for n, side in enumerate(sides_of(query, choice.early)))
    evaluate = "rows" if query.every is None else choice.evaluate
    invalidate = choice.invalidate if evaluate == "rows" else "slot"
    first = first_whole(query, starts)
    return sides, Join(query.name, tuple(s.id for s in sides), evaluate, choice.method, starts, invalidate, first)


def _begun(query: JoinQuery, number: int, side: Side, start: int | None) -> Side:
    """A side as a window without end sees it: what came before its beginning can't be told apart within a slot, so it is left out."""
    if start is None or query.every is None or query.inputs[number].kind != UNBOUNDED or start % side.slot == 0:
        return side
    begun = replace(side, begin=start)
    return replace(begun, id=side_id(begun))


def first_whole(query: JoinQuery, starts: Starts) -> int | None:
    """The first instant whose windows lie wholly after the beginnings."""
    if query.every is None:
        return None
    ends = [s + (i.length if i.length is not None else 1) for i, s in zip(query.inputs, starts, strict=True) if s is not None]
    return -(-max(ends) // query.every) if ends else None


def build_joins(queries: Iterable[JoinQuery], planner: JoinPlanner, begins: Instants) -> Plan:
    """Join queries that come into force together."""
    made = [planned(q, planner.join(q), starts_of(q, begins)) for q in queries]
    return Plan(sides=_together([s for sides, _ in made for s in sides]), joins=tuple(j for _, j in made))


def advance_joins(
    old: Plan,
    queries: Iterable[JoinQuery],
    continuing: set[str],
    planner: JoinPlanner,
    tops: Instants,
    frontiers: Instants,
    replan: Collection[str],
) -> Plan:
    """What continues goes on as it is; the queries of `replan` are handed over to another plan where that is better."""
    begins = {s: None if t is None else t + 1 for s, t in tops.items()}
    sides: list[tuple[str | None, Side]] = [(None, s) for s in old.sides]
    joins: list[Join] = []
    for query in queries:
        running = [j for j in old.joins if j.query == query.name and query.name in continuing]
        running = [j for j in running if not is_drained(old, j, frontiers)]
        if running and query.name not in replan:
            joins += running
            continue
        choice = planner.join(query)
        made, join = planned(query, choice, starts_of(query, begins))
        if running and (taken := _taken_over(query, running[-1], *planned(query, choice, running[-1].begins), {s.id for s in old.sides})):
            made, join = taken
            joins += [*running[:-1], join]
        else:
            joins += _handed_over(query, running, join) if running else [join]
        sides += [(query.name, s) for s in made]
    used = {(j.query, s) for j in joins for s in j.sides}
    return _pruned(Plan(sides=_together(s for owner, s in sides if owner is None or (owner, s.id) in used), joins=tuple(joins)))


def _taken_over(query: JoinQuery, old: Join, made: tuple[Side, ...], new: Join, known: set[str]) -> tuple[tuple[Side, ...], Join] | None:
    """The new plan in the place of the old one at once, where the state of the old one can give all that it needs."""
    if new.sides == old.sides and new.evaluate == old.evaluate:
        return made, replace(old, method=new.method, invalidate=new.invalidate)
    sides = [_successor(before, side, known) for before, side in zip(old.sides, made, strict=True)]
    found = tuple(s for s in sides if s is not None)
    if query.every is None or len(found) < len(sides):
        return None
    return found, replace(new, begins=old.begins, begin=old.begin, takes_over=True)


def _successor(before: str, side: Side, known: set[str]) -> Side | None:
    """A side that begins with all that another one holds: the same, or an aggregation set of its rows."""
    if side.id == before or side.static:
        return side
    rows = side_id(replace(side, early=False))
    return replace(side, origin=before) if rows == before and side.id not in known else None


def _handed_over(query: JoinQuery, running: list[Join], new: Join) -> list[Join]:
    """The old plan gives out the instants before the new one begins. Where windows never end, or rows are the result, it stays."""
    *ending, old = running
    if query.every is None or any(i.kind == UNBOUNDED for i in query.inputs):
        return running
    if new.begin is None:
        return [*ending, new]
    begin = max(new.begin, old.begin if old.begin is not None else new.begin)
    if old.begin is not None and old.begin >= begin:  # it would give out nothing
        return [*ending, replace(new, begin=begin)]
    return [*ending, replace(old, until=begin), replace(new, begin=begin)]


def _together(sides: Iterable[Side]) -> tuple[Side, ...]:
    """Sides of the same meaning as one, with the parts of all."""
    found: dict[str, Side] = {}
    for side in sides:
        known = found.get(side.id, side)
        parts = tuple({p.name: p for p in (*known.parts, *side.parts)}.values())
        found[side.id] = replace(known, parts=parts, origin=known.origin or side.origin)
    return tuple(found.values())


def _pruned(plan: Plan) -> Plan:
    used = {s for j in plan.joins for s in j.sides}
    return replace(plan, sides=tuple(s for s in plan.sides if s.id in used))
