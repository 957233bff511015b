"""What windows are planned together: groups over one (stream, predicates, keys), and in them kinds of aggregates."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from thalweg.model.aggregates import AGGREGATES, PartColumn, part_columns
from thalweg.model.query import Aggregate, Query
from thalweg.model.windows import Window
from thalweg.once import cached_property
from thalweg.optimizer.forest import Forest, Step
from thalweg.optimizer.traits import Traits
from thalweg.plan.groups import Group, group_of
from thalweg.plan.nodes import BEGUN


class Costs(Protocol):
    """Decides how the windows of a group are computed for aggregates of a kind, and what that costs."""

    def forest(self, group: Group, windows: Collection[Window], traits: Traits) -> Forest:
        """The plan of the windows."""

    def cost(self, group: Group, forest: Forest, traits: Traits) -> float:
        """What a plan costs per batch."""


def grouped(queries: Iterable[Query], pools: Mapping[str, Group] | None = None) -> dict[Group, list[Query]]:
    """The windowed queries of each group; `pools` are the groups of those that are in pools."""
    found: dict[Group, list[Query]] = {}
    for query in queries:
        if query.windows:
            found.setdefault((pools or {}).get(query.name) or group_of(query), []).append(query)
    return found


def traits_of(aggregate: Aggregate) -> Traits:
    """What an aggregate lets the planner do."""
    f = AGGREGATES[aggregate.function]
    exact = not any(a.type in ("FLOAT", "DOUBLE") for a in aggregate.args)
    return Traits(overlap_safe=f.overlap_safe, invertible=f.invertible and exact, holistic=f.holistic)


@dataclass(frozen=True)
class Kind:
    """Aggregates of a group that are planned together: what they allow, who asks for them, what they keep. All of those over session
    windows are one kind."""

    traits: Traits
    queries: tuple[Query, ...]
    parts: tuple[PartColumn, ...]
    sessions: bool = False

    def parts_of(self, query: Query) -> tuple[str, ...]:
        """The parts that one of the queries needs."""
        own = {p.name for parts in _parts_by_traits(query).values() for p in parts}
        own |= {BEGUN.name} if self.sessions else set()
        return tuple(p.name for p in self.parts if p.name in own)

    @cached_property
    def windows(self) -> tuple[Window, ...]:
        """The windows that are asked for."""
        asked = {w.window for q in self.queries for w in q.windows}
        return tuple(sorted(w for w in asked if w.session == self.sessions))


def cheapest_kinds(group: Group, queries: Iterable[Query], costs: Costs) -> tuple[Kind, ...]:
    """Each kind of aggregate by itself, or all that keep no values as one kind that allows only what each of them does; and sessions."""
    queries = tuple(queries)
    fixed = tuple(q for q in queries if not all(w.window.session for w in q.windows))
    return (*_cheapest_kinds(group, fixed, costs), *_session_kinds(queries))


def _session_kinds(queries: Iterable[Query]) -> tuple[Kind, ...]:
    """All aggregates over sessions, whatever they allow: a session is one row of state."""
    asking = tuple(q for q in queries if any(w.window.session for w in q.windows))
    if not asking:
        return ()
    found = [p for q in asking for parts in _parts_by_traits(q).values() for p in parts]
    holistic = any(AGGREGATES[a.function].holistic for q in asking for a in q.calls)
    parts = {p.name: p for p in (BEGUN, *found)}
    return (Kind(Traits(False, False, holistic), asking, tuple(parts.values()), sessions=True),)


def _cheapest_kinds(group: Group, queries: tuple[Query, ...], costs: Costs) -> tuple[Kind, ...]:
    """Those of windows of fixed length."""
    apart = _kinds(queries)
    bounded = [k for k in apart if not k.traits.holistic]
    if len(bounded) < 2:
        return apart
    traits = Traits(
        all(k.traits.overlap_safe for k in bounded), all(k.traits.invertible for k in bounded), False
    )
    parts = {p.name: p for k in bounded for p in k.parts}
    users = {q.name: q for k in bounded for q in k.queries}
    one = Kind(traits, tuple(users.values()), tuple(parts.values()))
    if kinds_cost(group, [one], costs) > kinds_cost(group, bounded, costs):
        return apart
    return (one, *(k for k in apart if k.traits.holistic))


def kinds_cost(group: Group, kinds: Iterable[Kind], costs: Costs) -> float:
    """What kinds cost that are planned each by itself: steps that several of them have, down to the rows, are one node and cost once."""
    total, known = 0.0, set[tuple[Step, ...]]()
    for kind in kinds:
        forest = costs.forest(group, kind.windows, kind.traits)
        lines = {_line(forest, step) for step in forest}
        twice = sum(costs.cost(group, Forest((line[0],)), kind.traits) for line in lines & known)
        total += costs.cost(group, forest, kind.traits) - twice
        known |= lines
    return total


def _line(forest: Forest, step: Step) -> tuple[Step, ...]:
    """A step and those that it is computed from, down to the rows, whoever asks for them."""
    own = replace(step, factor=False)
    return (own,) if step.source is None else (own, *_line(forest, forest.of[step.source]))


def _kinds(queries: Iterable[Query]) -> tuple[Kind, ...]:
    found: dict[Traits, list[tuple[Query, tuple[PartColumn, ...]]]] = {}
    for query in queries:
        for traits, parts in _parts_by_traits(query).items():
            found.setdefault(traits, []).append((query, parts))
    return tuple(
        Kind(
            traits,
            tuple(q for q, _ in users),
            tuple({p.name: p for _, parts in users for p in parts}.values()),
        )
        for traits, users in found.items()
    )


def _parts_by_traits(query: Query) -> dict[Traits, tuple[PartColumn, ...]]:
    if not query.aggregates:
        return {Traits(overlap_safe=True, invertible=False, holistic=False): ()}
    found: dict[Traits, dict[str, PartColumn]] = {}
    for aggregate in query.calls:
        found.setdefault(traits_of(aggregate), {}).update({p.name: p for p in part_columns(aggregate)})
    return {t: tuple(p.values()) for t, p in found.items()}
