"""A workload and the plan that runs become the next plan: an ordered list of stages, each a function of a draft."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from thalweg.compile.retention import is_over
from thalweg.model.nesting import all_nested, complete_from, is_nested, with_frontiers
from thalweg.model.query import Query
from thalweg.model.stream import Relation, Stream
from thalweg.optimizer.groups import Costs
from thalweg.optimizer.join_nodes import Choices, starts_of
from thalweg.optimizer.pooling import Surroundings, pooled_joins
from thalweg.optimizer.pools import Prices
from thalweg.optimizer.retiring import goes_on, retire, retired_names
from thalweg.optimizer.roll_ups import rolled_up
from thalweg.optimizer.splitting import split
from thalweg.optimizer.sub_joins import Facts, shared
from thalweg.optimizer.window_nodes import window_nodes
from thalweg.optimizer.window_pools import WindowPrices, placed_windows
from thalweg.plan.graph import pruned, united
from thalweg.plan.members import with_sets
from thalweg.plan.nodes import Emission, Plan
from thalweg.plan.ranges import window_of
from thalweg.statistics.known import Known

Instants = Mapping[str, int | None]


class Planner(Costs, Choices, Prices, WindowPrices, Protocol):
    """Decides how windows and joins are computed, by what is known of streams and tables."""

    @property
    def known(self) -> Known:
        """What plans are chosen by."""

    @property
    def sharing(self) -> str:
        """Whether queries are computed together: by cost (`best`), wherever they can be (`all`), or never (`off`)."""

    @property
    def splitting(self) -> str:
        """Whether frequent values of joins are split over partitions: by cost (`best`), all of them (`all`), or none (`off`)."""

    @property
    def rolling(self) -> str:
        """Whether groups by fewer keys begin with those by more: by cost (`best`), wherever they can (`all`), or never (`off`)."""


@dataclass(frozen=True)
class Draft:
    """A plan in the making.

    old: the plan that runs. begins: per stream, the event time after all rows seen. again: the queries to be planned anew though they
    go on. staying: emissions of the old plan that go on as they are. made: the plans of what is new or planned anew, with the emissions
    that take the place of those of the old one. places: per query that runs, where its results go. retired: queries that others took the
    place of, while they have results still to give.
    """

    streams: tuple[Stream, ...]
    relations: tuple[Relation, ...]
    queries: tuple[Query, ...]
    planner: Planner
    old: Plan = field(default_factory=Plan)
    begins: Instants = field(default_factory=dict)
    frontiers: Instants = field(default_factory=dict)
    again: frozenset[str] = frozenset()
    places: Mapping[str, str] = field(default_factory=dict)
    retired: tuple[Query, ...] = ()
    continuing: frozenset[str] = frozenset()
    staying: tuple[Emission, ...] = ()
    made: tuple[Plan, ...] = ()
    plan: Plan = field(default_factory=Plan)


def continued(draft: Draft) -> Draft:
    """What the same query was given before, or one that it follows, it is given on, unless that has come to its end."""
    before = {q.name: q for q in draft.old.asked}
    same = frozenset(q.name for q in draft.queries if goes_on(draft.old, q))
    sources = [*(s.name for s in draft.streams), *(r.name for r in draft.relations)]
    leaving = retired_names(draft.old, draft.queries, sources)
    kept = tuple(
        e
        for e in draft.old.emissions
        if e.query in same | leaving and not is_over(draft.old, e, draft.frontiers)
    )
    retired = tuple(before[name] for name in sorted(leaving & {e.query for e in kept}))
    return replace(draft, continuing=same, staying=kept, retired=retired)


def windows(draft: Draft) -> Draft:
    """Windows are planned by group; if one query is planned again, all are, since they share fragments."""
    asked = [q for q in draft.queries if q.windows]
    again = any(q.name in draft.again for q in asked)
    wanted = [q for q in asked if again or q.name not in draft.continuing]
    mine = {q.name for q in asked}
    replaced = _replaced(draft)
    going_on = [*draft.staying, *(e for e in draft.old.emissions if e.query in replaced)]
    poolable = [q for q in wanted if not any(w.window.session for w in q.windows)]
    pools = placed_windows(draft.old, poolable, going_on, draft.planner, draft.planner.sharing)
    fresh = window_nodes(wanted, draft.planner, draft.begins, draft.planner.sharing == "off", pools)
    if not again:
        return replace(draft, made=(*draft.made, fresh))
    kept = [e for e in draft.staying if e.query in mine]
    others = tuple(e for e in draft.staying if e.query not in mine)
    handed = replace(fresh, emissions=_handed_over(kept, fresh.emissions))
    return replace(draft, staying=others, made=(*draft.made, handed))


def joins(draft: Draft) -> Draft:
    """New joins, alone or in pools, and those that are handed over to another plan."""
    asked = [q for q in draft.queries if not q.windows]
    running: dict[str, list[Emission]] = {}
    for e in draft.staying:
        running.setdefault(e.query, []).append(e)
    again = [q for q in asked if q.name in draft.again and q.name in draft.continuing and running.get(q.name)]
    going_on = {q.name for q in asked if q.name in draft.continuing and running.get(q.name)}
    made, moved = pooled_joins(
        draft.old,
        [q for q in asked if q.name not in going_on],
        again,
        running,
        Surroundings(
            draft.planner,
            draft.begins,
            draft.frontiers,
            {q.name: q for q in (*draft.old.asked, *asked)},
            _replaced(draft),
        ),
    )
    staying = tuple(e for e in draft.staying if e.query not in moved)
    return replace(draft, staying=staying, made=(*draft.made, *made))


def _replaced(draft: Draft) -> frozenset[str]:
    """The queries that others take the place of. One that was created after the one of its name was dropped has only that in common with it."""
    other = (q for q in draft.queries if q.name in draft.places and q.name not in draft.continuing)
    return frozenset(
        q.name for q in other if (old := draft.old.find(q.name)) is not None and old.line == q.line
    )


def retiring(draft: Draft) -> Draft:
    """Where a query takes the place of another, the old one gives out what begins before the new one does."""
    before, replaced = {q.name: q for q in draft.old.queries}, _replaced(draft)
    for query in draft.queries:
        if query.name in replaced & before.keys():
            new = [e for p in draft.made for e in p.emissions if e.query == query.name]
            old, left = retire(
                draft.old, before[query.name], new, query, draft.begins, draft.places[query.name]
            )
            draft = replace(
                draft, staying=(*draft.staying, *left), retired=(*draft.retired, *([old] if left else []))
            )
    return draft


def merged(draft: Draft) -> Draft:
    """Nodes of one meaning become one, those of the old plan first, so that what runs keeps its place."""
    plans = (draft.old, *draft.made)
    nodes = [n for p in plans for n in p.nodes]
    queries = (*(q for q in draft.queries if not is_nested(q.name)), *draft.retired)
    nested = all_nested(queries)
    there = {q.name for q in (*nested, *queries)}
    emissions = [*draft.staying, *(e for p in draft.made for e in p.emissions)]
    plan = united(nodes, [j for p in plans for j in p.joins], [e for e in emissions if e.query in there])
    return replace(
        draft,
        plan=replace(plan, streams=draft.streams, relations=draft.relations, queries=queries, nested=nested),
    )


def without_unused(draft: Draft) -> Draft:
    """Nodes that nothing is emitted from any more are gone."""
    return replace(draft, plan=pruned(draft.plan))


def chosen_rows(draft: Draft) -> Draft:
    """Pools of windows take the rows of those who are in them now."""
    return replace(draft, plan=with_sets(draft.plan))


def sub_joins(draft: Draft) -> Draft:
    """Joins over the same rows share how some of their inputs meet."""
    known = draft.planner.known
    facts = Facts(
        lambda stream: known.rate(stream).value, lambda stream, where: known.share_of(stream, where).value
    )
    return replace(draft, plan=shared(draft.plan, facts))


def splits(draft: Draft) -> Draft:
    """Rows of frequent values are spread over all partitions."""
    planner = draft.planner
    return replace(draft, plan=split(draft.plan, planner.known, planner.partitions, planner.splitting))


def roll_ups(draft: Draft) -> Draft:
    """Partial aggregates by few columns are made of those by more."""
    planner = draft.planner
    return replace(draft, plan=rolled_up(draft.plan, planner.known, planner.rolling))


STAGES: tuple[tuple[str, Callable[[Draft], Draft]], ...] = (
    ("continue", continued),  # first: what goes on is not planned
    ("windows", windows),  # before joins: a join may use what windows lift anyway
    ("joins", joins),
    ("retire", retiring),  # after planning: what is replaced ends where its successor begins
    ("merge", merged),  # after all planning: nodes of any origin may be the same
    ("prune", without_unused),  # only now is it known what is used
    ("sets", chosen_rows),  # only now: who is in a pool is who is given something of it
    ("sub-joins", sub_joins),  # they follow from the joins that are there
    ("roll-ups", roll_ups),  # only now: who makes partial aggregates of rows is known
    ("split", splits),  # last: how rows are spread changes nothing of what is kept and computed
)


def advance(
    old: Plan,
    streams: Iterable[Stream],
    queries: Iterable[Query],
    planner: Planner,
    tops: Instants,
    frontiers: Instants,
    replan: Collection[str] = (),
    relations: Iterable[Relation] = (),
    places: Mapping[str, str] | None = None,
) -> Plan:
    """The plan after a change of the workload: what continues keeps its nodes, what is new begins after all rows seen.

    The queries of `replan` are planned again, those over windows all together; where that gives other nodes, the old ones go on for
    the instances that start at or before the highest event time seen, and the new ones take over from there: no row can be missed.
    So it is with a query that takes the place of the one of its name, where `places` says where the results of that one go.
    """
    queries = tuple(queries)
    nested = all_nested((*queries, *old.queries))
    frontiers = with_frontiers(nested, frontiers)
    begins = _begins(nested, tops)
    again = frozenset((*replan, *(i.name for q in queries if q.name in replan for i in all_nested((q,)))))
    asked = (tuple(streams), tuple(relations), (*(q for q in nested if not q.unites), *queries))
    draft = Draft(*asked, planner, old, begins, frontiers, again, places or {})
    for _, stage in STAGES:
        draft = stage(draft)
    return draft.plan


def _begins(nested: Iterable[Query], tops: Instants) -> dict[str, int | None]:
    """Per stream the event time after all rows seen; of results, from which on none is missing of an inner query that begins so, whether
    others have it running or not."""
    begins = {s: None if t is None else t + 1 for s, t in tops.items()}
    for query in nested:
        begins[query.name] = complete_from(query, starts_of(query, begins))
    return begins


def build(
    streams: Iterable[Stream],
    queries: Iterable[Query],
    planner: Planner,
    begins: Instants | None = None,
    relations: Iterable[Relation] = (),
) -> Plan:
    """The plan of queries that come into force together; `begins` is per stream where they start in mid-stream."""
    tops = {s: None if b is None else b - 1 for s, b in (begins or {}).items()}
    return advance(Plan(), streams, queries, planner, tops, {}, (), relations)


def _handed_over(kept: list[Emission], fresh: Iterable[Emission]) -> tuple[Emission, ...]:
    """Where an emission that goes on has the same nodes, it stays; else the old one ends where the new one begins."""
    old_by_place = {(e.query, e.window_id): e for e in kept if e.until is None}
    found = [e for e in kept if e.until is not None]
    for e in fresh:
        before = old_by_place.get((e.query, e.window_id))
        if before is None:
            found.append(e)
        elif before.nodes == e.nodes or window_of(e).session:
            found.append(before)  # one session has no end that another plan could begin at
        elif e.begin is None:
            found.append(replace(e, begin=before.begin, born=before.born))
        else:
            begin = e.begin if before.begin is None else max(before.begin, e.begin)
            found += [replace(before, until=e.begin), replace(e, begin=begin, born=before.born)]
    return tuple(found)
