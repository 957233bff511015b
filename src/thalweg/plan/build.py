"""A workload becomes a plan: queries over the same stream, predicate and keys are planned together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from thalweg.logical.aggregates import AGGREGATES, PartColumn, part_columns
from thalweg.logical.join import JoinQuery
from thalweg.logical.query import Aggregate, Query
from thalweg.logical.stream import Relation, Stream
from thalweg.logical.windows import NamedWindow, Window
from thalweg.optimizer.forest import Forest, pieces
from thalweg.optimizer.traits import Traits
from thalweg.plan.joins import JoinPlanner, advance_joins, build_joins
from thalweg.plan.nodes import TIME, Emission, Fragment, Plan, fragment_id
from thalweg.plan.ranges import drained

Sources = dict[tuple[str, Window], dict[str, tuple[str, ...]]]


@dataclass(frozen=True)
class Group:
    """What queries must have in common to share slots."""

    stream: str
    where: tuple[str, ...]
    keys: tuple[str, ...]


class Planner(JoinPlanner, Protocol):
    """Decides how the windows of a group are computed for aggregates of a kind, what that costs, and how joins are."""

    def forest(self, group: Group, windows: Collection[Window], traits: Traits) -> Forest:
        """The plan of the windows."""

    def cost(self, group: Group, forest: Forest, traits: Traits) -> float:
        """What a plan costs per batch."""


def group_of(query: Query) -> Group:
    """The sharing group of a query."""
    return Group(query.stream, tuple(e.sql for e in query.where), tuple(sorted({k.sql for k in query.keys})))


def traits_of(aggregate: Aggregate) -> Traits:
    """What an aggregate lets the planner do."""
    f = AGGREGATES[aggregate.function]
    exact = not any(a.type in ("FLOAT", "DOUBLE") for a in aggregate.args)
    return Traits(overlap_safe=f.overlap_safe, invertible=f.invertible and exact, holistic=f.holistic)


AnyQuery = Query | JoinQuery


def build(
    streams: Iterable[Stream],
    queries: Iterable[AnyQuery],
    planner: Planner,
    begins: Mapping[str, int | None] | None = None,
    relations: Iterable[Relation] = (),
) -> Plan:
    """The plan of queries that come into force together; `begins` is per stream where they start in mid-stream."""
    queries = tuple(queries)
    windowed = _build_windowed(streams, [q for q in queries if isinstance(q, Query)], planner, begins)
    joined = build_joins([q for q in queries if isinstance(q, JoinQuery)], planner, begins or {})
    return replace(windowed, queries=queries, relations=tuple(relations), sides=joined.sides, joins=joined.joins)


def _build_windowed(streams: Iterable[Stream], queries: list[Query], planner: Planner, begins: Mapping[str, int | None] | None) -> Plan:
    fragments: dict[str, Fragment] = {}
    sources: Sources = {}
    for group in dict.fromkeys(map(group_of, queries)):
        _plan_group(group, [q for q in queries if group_of(q) == group], planner, fragments, sources)
    emissions = tuple(
        _emission(q, w, sources[q.name, w.window], begins.get(q.stream) if begins else None) for q in queries for w in q.windows
    )
    return _pruned(Plan(tuple(streams), tuple(queries), tuple(fragments.values()), emissions))


def _emission(query: Query, named: NamedWindow, given: dict[str, tuple[str, ...]], begin: int | None) -> Emission:
    return Emission(query.name, named.id, named.window, tuple(given), tuple(given.values()), begin)


def _plan_group(group: Group, queries: list[Query], planner: Planner, fragments: dict[str, Fragment], sources: Sources) -> None:
    """Plan the windows of a group once per kind of aggregate, or for several kinds together where that costs less."""
    for kind in cheapest_kinds(group, queries, planner):
        made = _forest_fragments(group, planner.forest(group, kind.windows, kind.traits), kind)
        for fragment in made.values():
            known = fragments.get(fragment.id)
            fragments[fragment.id] = fragment if known is None else _with_parts(known, fragment)
        for query in kind.queries:
            for window in {w.window for w in query.windows}:
                given = sources.setdefault((query.name, window), {})
                id = made[window].id
                given[id] = given.get(id, ()) + tuple(p.name for p in kind.parts_of(query))


@dataclass(frozen=True)
class Kind:
    """Aggregates of a group that are planned together: what they allow, who asks for them, what they keep."""

    traits: Traits
    queries: tuple[Query, ...]
    parts: tuple[PartColumn, ...]

    def parts_of(self, query: Query) -> tuple[PartColumn, ...]:
        """The parts that one of the queries needs."""
        own = {p.name for parts in _parts_by_traits(query).values() for p in parts}
        return tuple(p for p in self.parts if p.name in own)

    @property
    def windows(self) -> tuple[Window, ...]:
        """The windows that are asked for."""
        return tuple(sorted({w.window for q in self.queries for w in q.windows}))


def cheapest_kinds(group: Group, queries: Iterable[Query], planner: Planner) -> tuple[Kind, ...]:
    """Each kind of aggregate by itself, or all that keep no values as one kind that allows only what each of them does."""
    apart = _kinds(queries)
    bounded = [k for k in apart if not k.traits.holistic]
    if len(bounded) < 2:
        return apart
    traits = Traits(all(k.traits.overlap_safe for k in bounded), all(k.traits.invertible for k in bounded), False)
    parts = {p.name: p for k in bounded for p in k.parts}
    users = {q.name: q for k in bounded for q in k.queries}
    one = Kind(traits, tuple(users.values()), tuple(parts.values()))
    if _kind_cost(group, one, planner) > sum(_kind_cost(group, k, planner) for k in bounded):
        return apart
    return (one, *(k for k in apart if k.traits.holistic))


def _kind_cost(group: Group, kind: Kind, planner: Planner) -> float:
    return planner.cost(group, planner.forest(group, kind.windows, kind.traits), kind.traits)


def _kinds(queries: Iterable[Query]) -> tuple[Kind, ...]:
    found: dict[Traits, list[tuple[Query, tuple[PartColumn, ...]]]] = {}
    for query in queries:
        for traits, parts in _parts_by_traits(query).items():
            found.setdefault(traits, []).append((query, parts))
    return tuple(
        Kind(traits, tuple(q for q, _ in users), tuple({p.name: p for _, parts in users for p in parts}.values()))
        for traits, users in found.items()
    )


def _parts_by_traits(query: Query) -> dict[Traits, tuple[PartColumn, ...]]:
    if not query.aggregates:
        return {Traits(overlap_safe=True, invertible=False, holistic=False): ()}
    found: dict[Traits, dict[str, PartColumn]] = {}
    for aggregate in query.aggregates:
        found.setdefault(traits_of(aggregate), {}).update({p.name: p for p in part_columns(aggregate, TIME)})
    return {t: tuple(p.values()) for t, p in found.items()}


def _forest_fragments(group: Group, forest: Forest, kind: Kind) -> dict[Window, Fragment]:
    made: dict[Window, Fragment] = {}
    for step in forest.steps:
        source = made[step.source].id if step.source is not None else None
        made[step.window] = Fragment(
            id=fragment_id(group.stream, group.where, group.keys, step.window, source, step.how),
            stream=group.stream,
            where=group.where,
            keys=group.keys,
            window=step.window,
            parts=kind.parts,
            holistic=kind.traits.holistic,
            source=source,
            pieces=pieces(step) if step.source is not None else (),
            how=step.how,
            factor=step.factor,
        )
    return made


def _with_parts(known: Fragment, other: Fragment) -> Fragment:
    parts = {p.name: p for p in (*known.parts, *other.parts)}
    return replace(known, parts=tuple(parts.values()), factor=known.factor and other.factor, holistic=known.holistic or other.holistic)


def merge(old: Plan, new: Plan) -> Plan:
    """Both plans as one: fragments with the same id are computed once, with the parts of both."""
    fragments = {f.id: f for f in old.fragments}
    for f in new.fragments:
        fragments[f.id] = _with_parts(fragments[f.id], f) if f.id in fragments else f
    queries = {q.name: q for q in (*old.queries, *new.queries)}
    return _pruned(Plan(new.streams, tuple(queries.values()), tuple(fragments.values()), (*old.emissions, *new.emissions)))


def _pruned(plan: Plan) -> Plan:
    """Without the fragments that no emission needs, sources before their users."""
    by_id = {f.id: f for f in plan.fragments}
    ordered: dict[str, Fragment] = {}

    def visit(id: str) -> None:
        fragment = by_id[id]
        if id in ordered:
            return
        if fragment.source is not None:
            visit(fragment.source)
        ordered[id] = fragment

    for emission in plan.emissions:
        for id in emission.fragments:
            visit(id)
    return replace(plan, fragments=tuple(ordered.values()))


def advance(
    old: Plan,
    streams: Iterable[Stream],
    queries: Iterable[AnyQuery],
    planner: Planner,
    tops: Mapping[str, int | None],
    frontiers: Mapping[str, int | None],
    replan: Collection[str] = (),
    relations: Iterable[Relation] = (),
) -> Plan:
    """The plan after a change of the workload: what continues keeps its fragments, what is new begins after all rows seen.

    The queries of `replan` are planned again, those over windows all together; where that gives other fragments, the old ones go on for
    the instances that start at or before the highest event time seen, and the new ones take over from there: no row can be missed.
    """
    queries = tuple(queries)
    live = {q.name: q for q in queries}
    continuing = {q.name for q in old.queries if q.name in live and _same(q, live[q.name])}
    windowed = [q for q in queries if isinstance(q, Query)]
    again = any(q.name in replan for q in windowed)
    merged = _advance_windowed(old, tuple(streams), windowed, continuing, planner, tops, frontiers, again)
    asked = [q for q in queries if isinstance(q, JoinQuery)]
    joined = advance_joins(old, asked, continuing, planner, tops, frontiers, replan)
    return replace(merged, queries=queries, relations=tuple(relations), sides=joined.sides, joins=joined.joins)


def _advance_windowed(
    old: Plan,
    streams: tuple[Stream, ...],
    queries: list[Query],
    continuing: set[str],
    planner: Planner,
    tops: Mapping[str, int | None],
    frontiers: Mapping[str, int | None],
    replan: bool,
) -> Plan:
    begins = {s: None if t is None else t + 1 for s, t in tops.items()}
    kept = [e for e in old.emissions if e.query in continuing and not drained(e, frontiers.get(_stream(old, e)))]
    if not replan:
        fresh = _build_windowed(streams, [q for q in queries if q.name not in continuing], planner, begins)
    else:
        fresh = _build_windowed(streams, queries, planner, begins)
        kept, fresh = _handed_over(kept, fresh, continuing, begins)
    base = Plan(streams, tuple(q for q in queries if q.name in continuing), old.fragments, tuple(kept))
    return merge(base, fresh)


def _handed_over(kept: list[Emission], fresh: Plan, continuing: set[str], begins: Mapping[str, int | None]) -> tuple[list[Emission], Plan]:
    """Where a continuing emission has the same fragments, it stays; else the old one ends where the new one begins."""
    old_by_place = {(e.query, e.window_id): e for e in kept if e.until is None}
    ending = [e for e in kept if e.until is not None]
    staying, starting = [], []
    for e in fresh.emissions:
        before = old_by_place.get((e.query, e.window_id)) if e.query in continuing else None
        if before is not None and before.fragments == e.fragments:
            staying.append(before)
        elif before is None:
            starting.append(e)
        elif e.begin is None:
            starting.append(replace(e, begin=before.begin))
        else:
            ending.append(replace(before, until=e.begin))
            starting.append(e if before.begin is None else replace(e, begin=max(before.begin, e.begin)))
    return [*ending, *staying], replace(fresh, emissions=tuple(starting))


def _stream(plan: Plan, emission: Emission) -> str:
    return plan.query(emission.query).stream


def _same(a: AnyQuery, b: AnyQuery) -> bool:
    return replace(a, text="", into=None) == replace(b, text="", into=None)
