"""Queries that were replayed beside the batches, when they become part of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from thalweg.engine.workload import Workload
from thalweg.model.nesting import all_nested
from thalweg.model.query import Query
from thalweg.plan.graph import united
from thalweg.plan.nodes import Plan
from thalweg.state.manifest import Counts, Manifest, StateFile


@dataclass(frozen=True)
class Arrival:
    """A query that was replayed up to the last batch: its plan and its state go on with the next one. `install` gives the state files their
    names in the session's directory."""

    query: Query
    begins: Mapping[str, int | None]
    plan: Plan
    files: tuple[StateFile, ...]
    counts: Counts
    install: Callable[[], None]


class Coming:
    """The queries that are not in force yet, though they are asked for: none, unless there are replays."""

    def pending(self, workload: Workload) -> frozenset[str]:
        """The queries of a workload that the next batch is without."""
        return frozenset()

    def arrived(self, workload: Workload) -> tuple[Arrival, ...]:
        """Those of a workload that the next batch goes on with."""
        return ()

    def passed(self, adopted: Collection[str]) -> None:
        """A batch was committed; some queries are part of the batches from it on."""


@dataclass(frozen=True)
class Ground:
    """What a batch goes on from: the last manifest and plan, with those of the queries that have arrived."""

    manifest: Manifest
    plan: Plan
    arrivals: tuple[Arrival, ...] = ()

    @property
    def files(self) -> tuple[StateFile, ...]:
        """The state files that the last manifest does not name."""
        return tuple(f for a in self.arrivals for f in a.files)


def ground_of(manifest: Manifest, plan: Plan, arrivals: Iterable[Arrival], workload: Workload) -> Ground:
    """What a batch goes on from. A query that takes the place of one that still runs comes a batch later."""
    asked, there = {q.name: q for q in workload.queries}, {q.name for q in plan.queries}
    coming = [a for a in arrivals if asked.get(a.query.name) is a.query and a.query.name not in there]
    if not coming:
        return Ground(manifest, plan)
    for arrival in coming:
        arrival.install()
    kept = {f.fragment for f in manifest.files}
    coming = [replace(a, files=tuple(f for f in a.files if f.fragment not in kept)) for a in coming]
    counts = {**manifest.queries, **{a.query.name: a.counts for a in coming}}
    files = (*manifest.files, *(f for a in coming for f in a.files))
    return Ground(replace(manifest, files=files, queries=counts), _with(plan, coming), tuple(coming))


def _with(plan: Plan, coming: Collection[Arrival]) -> Plan:
    """A plan with the nodes of queries that arrive."""
    plans = (plan, *(a.plan for a in coming))
    whole = united(
        (n for p in plans for n in p.nodes),
        (j for p in plans for j in p.joins),
        (e for p in plans for e in p.emissions),
    )
    return replace(
        whole,
        streams=plan.streams,
        relations=plan.relations,
        queries=(*plan.queries, *(a.query for a in coming)),
        settings=plan.settings,
        subs=plan.subs,
        nested=all_nested((*plan.queries, *(a.query for a in coming))),
    )
