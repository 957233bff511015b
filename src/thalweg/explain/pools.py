"""Queries that are computed as one, as EXPLAIN shows them: who they are, what they cost together and apart, and what one of them adds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from thalweg.explain.join_costs_text import millis
from thalweg.explain.model import PoolView
from thalweg.explain.words import counted, labelled, listed, short_id
from thalweg.model.query import Query
from thalweg.model.windows import duration_text
from thalweg.optimizer.planner import WindowPlanner
from thalweg.plan.members import base_of
from thalweg.plan.nodes import Plan

MOST = 6
"""Pools that are listed."""


def pool_views(plan: Plan, planner: WindowPlanner, one: str | None) -> tuple[PoolView, ...]:
    """The pools of a plan, or those of one query."""
    members: dict[str, dict[str, None]] = {}
    for e in plan.emissions:
        if e.bit is not None:
            pool = base_of(plan, e).pool if e.window is not None else plan.join(e.nodes[0]).pool
            members.setdefault(pool, {})[e.query] = None
    return tuple(
        _view(plan, planner, pool, tuple(names), one)
        for pool, names in members.items()
        if one is None or one in names
    )


def _view(plan: Plan, planner: WindowPlanner, pool: str, names: tuple[str, ...], one: str | None) -> PoolView:
    asked = [plan.query(name) for name in names]
    together: Callable[[Sequence[Query]], float] = (
        planner.windows_together if asked[0].windows else planner.together
    )
    apart: Callable[[Query], float] = planner.windows_apart if asked[0].windows else planner.apart
    whole = together(asked)
    rest = [q for q in asked if q.name != one]
    marginal = None if one is None else whole - (together(rest) if rest else 0.0)
    return PoolView(
        pool, names, whole, sum(map(apart, asked)), marginal, _commons(plan, pool), _every(plan, pool, asked)
    )


def _every(plan: Plan, pool: str, queries: Sequence[Query]) -> int | None:
    """The distance of a pool's instants, where some of its members have others."""
    every = next((j.asked.every for j in plan.joins if j.pool == pool), None)
    return None if all(q.every == every for q in queries) else every


def _commons(plan: Plan, pool: str) -> tuple[str, int] | None:
    """The commons that a pool reads, and how many pools do."""
    homes = {
        j.pool: next(f.pool for f in map(plan.fragment, j.sides) if f.common)
        for j in plan.joins
        if j.room is not None
    }
    return (homes[pool], list(homes.values()).count(homes[pool])) if pool in homes else None


def pool_lines(pools: Sequence[PoolView]) -> Iterator[str]:
    """A line a pool."""
    for i, p in enumerate(pools[:MOST]):
        costs = f"{millis(p.together)} ms/s as one, {millis(p.apart)} apart"
        saved = (
            f"; without this one {millis(max(p.marginal, 0.0))} ms/s less" if p.marginal is not None else ""
        )
        common = (
            f"; rows in {short_id(p.commons[0])}, which {counted(p.commons[1], 'pool')} read"
            if p.commons is not None
            else ""
        )
        often = f"; instants every {duration_text(p.every)}" if p.every is not None else ""
        yield from labelled(
            "" if i else "pools", f"{short_id(p.id)} of {_members(p)}: {costs}{saved}{often}{common}"
        )
    if len(pools) > MOST:
        yield from labelled("", f"... and {counted(len(pools) - MOST, 'more pool')}")


def _members(pool: PoolView) -> str:
    return f"{counted(len(pool.queries), 'query', 'queries')} ({listed(pool.queries, 40)})"
