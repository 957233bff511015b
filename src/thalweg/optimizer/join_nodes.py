"""Joins as nodes of a plan: what they read, how they are evaluated, what is emitted; and how one takes over from another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Protocol

from thalweg.compile.evaluations import EVALUATIONS
from thalweg.model.query import UNBOUNDED, Query
from thalweg.optimizer.join_plans import JoinChoice
from thalweg.plan.codec import dumps
from thalweg.plan.core import core
from thalweg.plan.graph import united
from thalweg.plan.nodes import Emission, Fragment, Join, Plan, fragment, named
from thalweg.plan.sides import sides_of

Starts = tuple[int | None, ...]


class Choices(Protocol):
    """Decides how a join is computed."""

    def join(self, query: Query) -> JoinChoice:
        """The plan of a join query."""


def join_nodes(
    queries: Iterable[Query], choices: Choices, begins: Mapping[str, int | None], apart: bool = False
) -> Plan:
    """Join queries that come into force together; `apart` they share nothing."""
    made = [
        planned(q, choices.join(q), starts_of(q, begins), q.name if apart else "")
        for q in queries
        if not q.windows
    ]
    sides = [s for plan in made for s in plan.fragments]
    return united(
        sides, [j for plan in made for j in plan.joins], [e for plan in made for e in plan.emissions]
    )


def starts_of(query: Query, begins: Mapping[str, int | None]) -> Starts:
    """Per input the event time from which on its rows count: a query that starts in mid-stream begins after the rows that were seen."""
    return tuple(begins.get(i.source) if i.is_stream else None for i in query.inputs)


def planned(query: Query, choice: JoinChoice, starts: Starts, owner: str = "") -> Plan:
    """The fragments, the join and the emission of a choice."""
    sides = tuple(
        _begun(query, n, side, starts[n]) for n, side in enumerate(sides_of(query, choice.early, owner))
    )
    evaluate = "rows" if query.every is None and query.running is None else choice.evaluate
    asked, ids = core(query), tuple(s.id for s in sides)
    join = Join(
        id=named(evaluate, dumps(asked), ids, evaluate, starts),
        asked=asked,
        sides=ids,
        evaluate=evaluate,
        method=choice.method,
        begins=starts,
        invalidate=choice.invalidate if evaluate == "rows" and not query.attached else "slot",
        order=choice.order,
    )
    return united(
        sides, [join], [Emission(query.name, (join.id,), begin=first_whole(query, starts), born=starts)]
    )


def _begun(query: Query, number: int, side: Fragment, start: int | None) -> Fragment:
    """A side as a window without end sees it: what came before its beginning can't be told apart within a slot, so it is left out."""
    if (
        start is None
        or query.every is None
        or query.inputs[number].kind != UNBOUNDED
        or start % side.slot == 0
    ):
        return side
    return fragment(replace(side, begin=start))


def first_whole(query: Query, starts: Starts) -> int | None:
    """The first instant whose windows lie wholly after the beginnings."""
    if query.every is None:
        return None
    ends = [
        s + (i.length if i.length is not None else 1)
        for i, s in zip(query.inputs, starts, strict=True)
        if s is not None
    ]
    return -(-max(ends) // query.every) if ends else None


def succeeded(
    query: Query,
    choice: JoinChoice,
    old: Plan,
    running: list[Emission],
    begins: Mapping[str, int | None],
    apart: bool = False,
) -> Plan:
    """Another plan of a query that runs: at once where the state gives all that it needs, else the old one goes on until then."""
    last, owner = running[-1], query.name if apart else ""
    before = old.join(last.nodes[0])
    taken = _taken_over(
        query, before, last, planned(query, choice, before.begins, owner), {f.id for f in old.fragments}
    )
    if taken is not None:
        return replace(taken, emissions=(*running[:-1], *taken.emissions))
    fresh = planned(query, choice, starts_of(query, begins), owner)
    return replace(fresh, emissions=handed_over(query, running, replace(fresh.emissions[0], born=last.born)))


def _taken_over(query: Query, before: Join, last: Emission, made: Plan, known: set[str]) -> Plan | None:
    """The new plan in the place of the old one at once, where the state of the old one can give all that it needs."""
    (new,) = made.joins
    if new.id == before.id:  # but for the order in which inputs meet, perhaps, which no state depends on
        return replace(made, joins=(replace(new, takes_over=before.takes_over),), emissions=(last,))
    sides = [
        successor(old, made.fragment(side), known) for old, side in zip(before.sides, new.sides, strict=True)
    ]
    found = tuple(s for s in sides if s is not None)
    is_other = EVALUATIONS[before.evaluate].stands != EVALUATIONS[new.evaluate].stands
    if query.every is None or len(found) < len(sides) or is_other:
        return None
    return united(found, [replace(new, takes_over=True)], [replace(last, nodes=(new.id,))])


def successor(before: str, side: Fragment, known: set[str]) -> Fragment | None:
    """A side that begins with all that another one holds: the same, or an aggregation set of its rows."""
    if side.id == before or side.static:
        return side
    equated = next(iter(side.counted), ())
    rows = fragment(replace(side, early=False, required=equated))
    return replace(side, origin=before) if rows.id == before and side.id not in known else None


def may_hand_over(query: Query) -> bool:
    """Whether another plan can take over a query at an instant: not where windows never end, or rows are the result."""
    return query.every is not None and all(i.kind != UNBOUNDED for i in query.inputs)


def handed_over(query: Query, running: list[Emission], new: Emission) -> tuple[Emission, ...]:
    """The old plan gives out the instants before the new one begins, where it can."""
    *ending, old = running
    if not may_hand_over(query):
        return tuple(running)
    if new.begin is None:
        return (*ending, new)
    begin = max(new.begin, old.begin if old.begin is not None else new.begin)
    if old.begin is not None and old.begin >= begin:  # it would give out nothing
        return (*ending, replace(new, begin=begin))
    return (*ending, replace(old, until=begin), replace(new, begin=begin))
