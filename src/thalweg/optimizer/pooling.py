"""The joins of a workload, those that are alone and those in pools: what is new, what goes, and what another plan takes over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from thalweg.model.query import Chosen, Query
from thalweg.optimizer.commons import gathered
from thalweg.optimizer.join_nodes import (
    Choices,
    handed_over,
    join_nodes,
    may_hand_over,
    starts_of,
    succeeded,
    successor,
)
from thalweg.optimizer.pools import (
    Begins,
    Pool,
    Prices,
    emission_of,
    nodes_of,
    placed,
    pool_of,
    possible,
    running_pools,
    sets_of,
)
from thalweg.plan.graph import united
from thalweg.plan.nodes import Emission, Join, Plan
from thalweg.plan.pool import pooled

Running = Mapping[str, list[Emission]]


class Sharing(Choices, Prices, Protocol):
    """Decides how joins are computed, and which of them as one."""

    @property
    def sharing(self) -> str:
        """best, all or off."""


@dataclass(frozen=True)
class Surroundings:
    """What joins are planned in: who decides, where streams are, all queries that run or come, and those that others take the place of."""

    planner: Sharing
    begins: Begins
    frontiers: Begins
    queries: Mapping[str, Query]
    replaced: frozenset[str]


def pooled_joins(
    old: Plan, fresh: Sequence[Query], again: Sequence[Query], running: Running, around: Surroundings
) -> tuple[tuple[Plan, ...], frozenset[str]]:
    """The plans of joins that are new or planned again, and the queries whose emissions are among these now."""
    leaving = [e for e in old.emissions if e.query in around.replaced]
    staying = [*(e for mine in running.values() for e in mine), *leaving]
    pools = running_pools(old, staying, around.begins, around.frontiers)
    planner, ids = around.planner, {p.id for p in pools.values()}
    apart = planner.sharing == "off"
    changes = (
        [] if apart else [_changed(old, id, pool, again, running, ids, around) for id, pool in pools.items()]
    )
    changed = {id: made for id, made in zip(pools, changes, strict=False) if made is not None}
    within = {q.name for q in again if old.join(running[q.name][-1].nodes[0]).pool}
    lone = {q.name for q in fresh if q.accumulates}
    coming = [
        *(q for q in fresh if q.name not in lone),
        *(q for q in again if q.name not in within and may_hand_over(q)),
    ]
    others = [
        around.queries[name]
        for name, mine in running.items()
        if mine[-1].bit is None and not around.queries[name].windows and not around.queries[name].accumulates
    ]
    steady = {id: pool for id, pool in pools.items() if id not in changed}
    placed_in, alone = placed(coming, steady, others, planner, around.begins, planner.sharing, ids)
    if not apart:
        placed_in, alone = gathered(placed_in, alone, steady, others, planner, around.begins, ids)
    made = [plan for plan, _ in changed.values()]
    left = {id: pool for id, pool in pools.items() if id in changed and not changed[id][1]}
    made += [
        _joined(old, id, pool, pools.get(id), fresh, running, around)
        for id, pool in {**left, **placed_in}.items()
    ]
    moved = {e.query for one in made for e in one.emissions}
    single = [q for q in again if q.name not in moved and (q.name not in within or apart)]
    made += [succeeded(q, planner.join(q), old, list(running[q.name]), around.begins, apart) for q in single]
    new, left_alone = {q.name for q in fresh}, {*lone, *(q.name for q in alone)}
    made.append(join_nodes([q for q in fresh if q.name in left_alone], planner, around.begins, apart))
    return tuple(made), frozenset(moved | {q.name for q in single}) - new


def _joined(
    old: Plan,
    id: str,
    pool: Pool,
    before: Pool | None,
    fresh: Sequence[Query],
    running: Running,
    around: Surroundings,
) -> Plan:
    """A pool with those who came into it; nothing where it is as it was."""
    new = pool.members[len(before.members) :] if before is not None else pool.members
    if not pool.members or (before is not None and not new and _is_as_before(old, id, pool)):
        return Plan()
    plan = nodes_of(pool)
    (join,), names = plan.joins, {q.name for q in fresh}
    emissions: list[Emission] = []
    for member in new:
        query = member.query
        if query.name in names:
            emissions.append(emission_of(pool, join.id, query, member.starts))
        else:
            emissions += _moved(query, pool, join.id, running)
    return replace(plan, emissions=tuple(emissions))


def _moved(query: Query, pool: Pool, join: str, running: Running) -> tuple[Emission, ...]:
    """The emissions of a query that a pool takes over."""
    mine = list(running[query.name])
    return handed_over(query, mine, emission_of(pool, join, query, mine[-1].born))


def _is_as_before(old: Plan, id: str, pool: Pool) -> bool:
    join = old.join(id)
    return {m.bit for m in pool.members} == {
        c.bit for c in _taken(old, join)
    } and pool.resting == join.resting


def _taken(old: Plan, join: Join) -> tuple[Chosen, ...]:
    """What members take of the first stream of a pool's join."""
    return next(sets_of(old, join, side) for side in join.sides if not old.fragment(side).static)


def _changed(
    old: Plan,
    id: str,
    pool: Pool,
    again: Sequence[Query],
    running: Running,
    ids: set[str],
    around: Surroundings,
) -> tuple[Plan, bool] | None:
    """Another plan of a pool, where one of its members is planned again, and whether it stands in the place of the old one at once. That is
    where the state gives all that it needs; else a new pool takes the members over. None where the plan is good."""
    members = [q for q in again if running[q.name][-1].nodes[0] == id]
    if not members or pool.shape.every is None:
        return None
    if len(possible([m.query for m in pool.members], around.planner)) == 1:
        choice = around.planner.join(pooled(pool.shape, pool.id, pool.members))
        if choice == pool.choice:
            return None
        other = replace(pool, choice=choice, takes_over=True)
        if (taken := _taken_over(old, id, other, running)) is not None:
            return taken, True
    movable = [q for q in members if may_hand_over(q)]
    if not movable:
        return None
    fresh = [_moved_out(some, running, ids, around) for some in possible(movable, around.planner)]
    nodes, joins = [n for p in fresh for n in p.nodes], [j for p in fresh for j in p.joins]
    return united(nodes, joins, [e for p in fresh for e in p.emissions]), False


def _moved_out(queries: Sequence[Query], running: Running, ids: set[str], around: Surroundings) -> Plan:
    """A new pool that takes queries over."""
    pool = pool_of(queries, around.planner, [starts_of(q, around.begins) for q in queries], ids)
    ids.add(pool.id)
    plan = nodes_of(pool)
    moved = (e for q in queries for e in _moved(q, pool, plan.joins[0].id, running))
    return replace(plan, emissions=tuple(moved))


def _taken_over(old: Plan, id: str, pool: Pool, running: Running) -> Plan | None:
    """A pool under another plan in the place of the one that runs, where none of its members is on the way to another one."""
    mine = [e for m in pool.members for e in running.get(m.query.name, ()) if e.nodes[0] == id]
    if len(mine) < len(pool.members) or any(e.until is not None for e in mine):
        return None
    made = nodes_of(pool)
    (join,), known = made.joins, {f.id for f in old.fragments}
    sides = [
        successor(before, made.fragment(side), known)
        for before, side in zip(old.join(id).sides, join.sides, strict=True)
    ]
    found = tuple(s for s in sides if s is not None)
    if len(found) < len(sides):
        return None
    ending = [e for m in pool.members for e in running[m.query.name][:-1]]
    return united(found, [join], [*ending, *(replace(e, nodes=(join.id,)) for e in mine)])
