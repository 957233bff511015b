"""The windows of queries as nodes of a plan: fragments of rows, what is derived from them, and what is emitted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from thalweg.model.query import Query
from thalweg.model.windows import Window
from thalweg.optimizer.forest import Forest, Step, pieces
from thalweg.optimizer.groups import Costs, Kind, cheapest_kinds, grouped
from thalweg.optimizer.window_pools import Place
from thalweg.plan.graph import united
from thalweg.plan.groups import Group
from thalweg.plan.nodes import Derived, Emission, Fragment, Plan, derived_id, fragment

Sources = dict[tuple[str, Window], dict[str, tuple[str, ...]]]


def window_nodes(
    queries: Iterable[Query],
    costs: Costs,
    begins: Mapping[str, int | None],
    apart: bool = False,
    pools: Mapping[str, Place] | None = None,
) -> Plan:
    """The windows of some queries, planned together by group; `begins` is per stream where they start in mid-stream. `apart` each query is
    planned by itself and shares nothing; `pools` are the places of those that are in pools."""
    if apart:
        plans = [_planned((q,), costs, begins, q.name, {}) for q in queries]
        return united((n for p in plans for n in p.nodes), (), (e for p in plans for e in p.emissions))
    return _planned(queries, costs, begins, "", pools or {})


def _planned(
    queries: Iterable[Query],
    costs: Costs,
    begins: Mapping[str, int | None],
    owner: str,
    pools: Mapping[str, Place],
) -> Plan:
    queries = tuple(queries)
    sources: Sources = {}
    made: list[Fragment | Derived] = []
    for group, members in grouped(queries, {name: group for name, (group, _) in pools.items()}).items():
        for kind in cheapest_kinds(group, members, costs):
            nodes = _forest_nodes(group, costs.forest(group, kind.windows, kind.traits), kind, owner)
            made += nodes.values()
            _note(kind, nodes, sources)
    bits = {name: bit for name, (_, bit) in pools.items()}
    emissions = tuple(
        e for q in queries for e in _emissions(q, sources, begins.get(q.stream), bits.get(q.name))
    )
    return united(made, (), emissions)


def _note(kind: Kind, nodes: Mapping[Window, Fragment | Derived], sources: Sources) -> None:
    """From which node each window of each query takes which parts."""
    for query in kind.queries:
        parts = kind.parts_of(query)
        for window in {w.window for w in query.windows} & nodes.keys():
            given = sources.setdefault((query.name, window), {})
            id = nodes[window].id
            given[id] = given.get(id, ()) + parts


def _emissions(query: Query, sources: Sources, begin: int | None, bit: int | None) -> Iterable[Emission]:
    for named in query.windows:
        given = sources[query.name, named.window]
        yield Emission(
            query.name,
            tuple(given),
            named.id,
            named.window,
            tuple(given.values()),
            begin,
            born=(begin,),
            bit=bit,
        )


def _forest_nodes(group: Group, forest: Forest, kind: Kind, owner: str) -> dict[Window, Fragment | Derived]:
    made: dict[Window, Fragment | Derived] = {}
    for step in forest.steps:
        if step.source is None:
            made[step.window] = _lifted(group, step.window, kind, owner)
        else:
            made[step.window] = _derived(made[step.source], step, kind)
    return made


def _lifted(group: Group, window: Window, kind: Kind, owner: str) -> Fragment:
    lifted = Fragment(
        id="",
        source=group.stream,
        where=group.where,
        columns=group.keys,
        window=window,
        parts=kind.parts,
        route=(tuple(range(len(group.keys) - group.words)),),
        holistic=kind.traits.holistic,
        pool=group.pool,
        words=group.words,
        owner=owner,
    )
    return fragment(lifted)


def _derived(parent: Fragment | Derived, step: Step, kind: Kind) -> Derived:
    return Derived(
        id=derived_id(parent.id, step.window, step.how),
        base=parent.id if isinstance(parent, Fragment) else parent.base,
        parent=parent.id,
        names=parent.names,
        words=parent.words,
        window=step.window,
        parts=kind.parts,
        pieces=pieces(step),
        how=step.how,
        factor=step.factor,
    )
