"""The plan of a catalog as it would be now, explained; and what plans are chosen by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from thalweg.engine.workload import Workload
from thalweg.explain import Explanation, explain
from thalweg.model.catalog import Catalog
from thalweg.model.query import Query
from thalweg.optimizer.planner import WindowPlanner, planner_for
from thalweg.optimizer.workload import advance, build
from thalweg.plan.nodes import Plan
from thalweg.state.manifest import Manifest
from thalweg.statistics.known import Sampled
from thalweg.statistics.sampling import sample


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


def marginal(catalog: Catalog, manifest: Manifest, ran: Plan, query: Query) -> dict[str, float]:
    """What a query adds to the predicted cost of all others: the plan with it less the plan without it."""
    others = {name: q for name, q in catalog.queries.items() if name != query.name}
    whole = explained(
        replace(catalog, queries={**others, query.name: query}), manifest, ran, None, analyze=False
    )
    rest = explained(replace(catalog, queries=others), manifest, ran, None, analyze=False)
    less = total_cost(rest)
    return {key: round(value - less.get(key, 0.0), 6) for key, value in total_cost(whole).items()}


def total_cost(found: Explanation) -> dict[str, float]:
    """The predicted cost of a plan as a whole: hash-table updates, milliseconds of work a second of stream, rows of state."""
    total: Counter[str] = Counter()
    for share in found.data["shares"].values():
        total.update(share)
    return dict(total)


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
