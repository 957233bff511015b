"""The plan of a catalog as it would be now, explained; and what plans are chosen by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from thalweg.api.checks import check_files
from thalweg.api.past import Past
from thalweg.api.running import Running
from thalweg.engine.workload import Workload
from thalweg.explain import Explanation, explain
from thalweg.explain.data import share_data
from thalweg.explain.model import Share
from thalweg.explain.summary import shares
from thalweg.model.catalog import Catalog
from thalweg.model.query import Query
from thalweg.optimizer.planner import WindowPlanner, planner_for
from thalweg.optimizer.workload import advance, build
from thalweg.plan.nodes import Plan
from thalweg.state.manifest import Manifest
from thalweg.statistics.known import Sampled
from thalweg.statistics.sampling import sample


class Explaining:
    """Explains the workload of a session, with what its last batch left behind."""

    def __init__(
        self,
        running: Running,
        past: Past,
        catalog: Callable[[], Catalog],
        partitions: Callable[[], int | None],
    ) -> None:
        self._running, self._past, self._catalog, self._partitions = running, past, catalog, partitions

    def explanation(self, query: Query | None, analyze: bool, marginal: bool = True) -> Explanation:
        """How the workload (with this query) is computed; with `analyze` beside what the last batch measured, with `marginal` what this
        query adds to the others.

        Where nothing runs yet, declared columns that the files have not are refused, as they would be at the start.
        """
        if self._running.runner is None:
            check_files(self._catalog())
        found = explained(self._placed(), *self._ran(analyze), query, analyze)
        if query is None or not marginal:
            return found
        others = set(self._catalog().queries) - {query.name}
        return Explanation(replace(found.view, added=(len(others), self._added(query))))

    def marginal(self, query: Query) -> dict[str, float]:
        """What a query adds to the predicted cost of all others, as plain values."""
        return share_data(self._added(query))

    def _added(self, query: Query) -> Share:
        """The cost of the plan with a query, less that of the plan without it."""
        catalog, ran = self._placed(), self._ran(False)
        others = {name: q for name, q in catalog.queries.items() if name != query.name}
        whole, rest = (
            total_cost(explained(replace(catalog, queries=queries), *ran, None, analyze=False))
            for queries in ({**others, query.name: query}, others)
        )
        return whole - rest

    def _ran(self, analyze: bool) -> tuple[Manifest, Plan]:
        """The last batch and its plan, from which another plan would go on."""
        return self._past.last() if analyze or self._running.runner is not None else (Manifest(), Plan())

    def _placed(self) -> Catalog:
        catalog = self._catalog()
        config = replace(catalog.config, partitions=self._partitions() or catalog.config.partitions)
        return replace(catalog, config=config)


def explained(
    catalog: Catalog, manifest: Manifest, ran: Plan, query: Query | None, analyze: bool
) -> Explanation:
    """How the workload (with this query) goes on from what ran last; with `analyze` beside what the last batch measured."""
    streams, queries = (
        catalog.streams.values(),
        {**catalog.queries, **({query.name: query} if query else {})}.values(),
    )
    relations = tuple(catalog.relations.values())
    sampled = sample(streams, relations, queries)
    planner = planner_for(catalog.config, manifest, streams, relations, sampled, queries)
    if ran.queries:
        plan = advance(ran, streams, queries, planner, manifest.tops, manifest.frontiers, relations=relations)
    else:
        plan = build(streams, queries, planner, relations=relations)
    return explain(
        plan, planner, query.name if query else None, manifest if analyze and manifest.batch >= 0 else None
    )


def total_cost(found: Explanation) -> Share:
    """The predicted cost of a plan as a whole."""
    return sum(shares(found.view).values(), Share())


class SampledPlanners:
    """Planners of workloads: by what files said when a workload was first planned, and by what batches saw since."""

    def __init__(self, partitions: Callable[[], int | None] = lambda: None) -> None:
        self._partitions = partitions
        self._last: tuple[Workload | None, Sampled] = (None, Sampled())

    def of(self, workload: Workload, manifest: Manifest) -> WindowPlanner:
        """The planner of a workload after a batch."""
        known, sampled = self._last
        if known is not workload:
            sampled = sample(workload.streams, workload.relations, workload.queries)
            self._last = workload, sampled
        config = replace(workload.config, partitions=self._partitions() or workload.config.partitions)
        return planner_for(config, manifest, workload.streams, workload.relations, sampled, workload.queries)
