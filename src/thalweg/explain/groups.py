"""From a plan to the groups of windows that EXPLAIN shows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from thalweg.explain.costs import known_statistics, mode_costs
from thalweg.explain.model import Expected, NodeView, WindowGroup
from thalweg.explain.nodes import Node, window_estimates
from thalweg.explain.words import call_text
from thalweg.expr.wording import conjunct, worded
from thalweg.model.aggregates import part_columns
from thalweg.model.query import Query
from thalweg.once import cached_property
from thalweg.optimizer.cost.steps import StepEstimate
from thalweg.optimizer.coverage import covered_by, partitioned_by
from thalweg.optimizer.groups import Kind, cheapest_kinds, grouped
from thalweg.optimizer.planner import WindowPlanner
from thalweg.optimizer.window_graph import WindowCoverageGraph, window_coverage_graph
from thalweg.optimizer.window_pools import places_of
from thalweg.plan.groups import Group
from thalweg.plan.nodes import Fragment, Plan


def window_groups(
    plan: Plan, planner: WindowPlanner, views: Mapping[str, NodeView], wanted: Collection[str]
) -> tuple[WindowGroup, ...]:
    """The windows of a plan by (stream, predicate, keys) and kind of aggregates, of those that the wanted queries use."""
    reader = _Reader(plan, planner, views)
    pools = {name: group for name, (group, _) in places_of(plan, plan.emissions).items()}
    groups = {
        g: queries
        for g, queries in grouped(plan.queries, pools).items()
        if any(q.name in wanted for q in queries)
    }
    found = [view for group, queries in groups.items() for view in reader.views(group, queries)]
    return tuple(_part_of(g, wanted) for g in found if any(q in wanted for q in g.queries))


def _part_of(group: WindowGroup, wanted: Collection[str]) -> WindowGroup:
    """The group with the nodes that the wanted queries use."""
    kept = tuple(s for s in group.steps if any(q in wanted for q in s.queries))
    return replace(group, steps=kept, left_out=len(group.steps) - len(kept))


def coverage(kind: Kind) -> WindowCoverageGraph:
    """Which windows of a kind can be computed from which, before any choice."""
    if kind.sessions:
        return WindowCoverageGraph(kind.windows, ())
    return window_coverage_graph(kind.windows, covered_by if kind.traits.may_overlap else partitioned_by)


@dataclass(frozen=True)
class _Reader:
    """Reads the windows of a plan, with what is expected of them."""

    plan: Plan
    planner: WindowPlanner
    known: Mapping[str, NodeView]

    @cached_property
    def nodes(self) -> dict[Group, list[Node]]:
        """What has windows, by group."""
        found: dict[Group, list[Node]] = {}
        for node in filter(self.plan.has_windows, self.plan.nodes):
            lifted = node if isinstance(node, Fragment) else self.plan.fragment(node.base)
            found.setdefault(lifted.group, []).append(node)
        return found

    def views(self, group: Group, queries: list[Query]) -> Iterable[WindowGroup]:
        """One view per kind of aggregates."""
        kinds = cheapest_kinds(group, queries, self.planner)
        mine = self.nodes.get(group, [])
        return [self._view(group, kind, [n for n in mine if _is_of(n, kind, kinds)]) for kind in kinds]

    def _view(self, group: Group, kind: Kind, nodes: list[Node]) -> WindowGroup:
        expected = window_estimates(self.plan, self.planner, group, kind.traits, nodes)
        return WindowGroup(
            group=group,
            keys=tuple(
                worded(k) for k in sorted({k.expr for k in kind.queries[0].keys}, key=lambda k: k.sql)
            ),
            where=_conditions(kind) if group.pool else tuple(map(conjunct, kind.queries[0].where)),
            queries=tuple(q.name for q in kind.queries),
            aggregates=_calls(kind),
            traits=kind.traits,
            graph=coverage(kind),
            steps=tuple(_with(self.known[n.id], expected[n.id]) for n in nodes),
            costs=mode_costs(group, kind, self.planner, expected.values()),
            statistics=known_statistics(group, self.planner),
        )


def _conditions(kind: Kind) -> tuple[str, ...]:
    """The conditions of a pool: too many to be said, but for how many there are."""
    return (f"any of {len({q.where for q in kind.queries})} filters holds, told apart by query-set",)


def _with(view: NodeView, e: StepEstimate) -> NodeView:
    """A node with what windows make of it; a join may need its state for longer."""
    kept = max(e.state_rows, view.expected.state_rows)
    return replace(
        view,
        combined=e.step.combined,
        expected=Expected(e.rows_in, e.rows_out, kept, e.cost, view.expected.nanos),
    )


def _is_of(node: Node, kind: Kind, kinds: tuple[Kind, ...]) -> bool:
    """Whether a node holds parts of a kind; one without parts belongs to a kind that bears overlap, as DISTINCT does."""
    if node.window.session or kind.sessions:
        return node.window.session == kind.sessions
    if not node.parts:
        return kind == next((k for k in kinds if k.traits.overlap_safe), kinds[0])
    return not {p.name for p in node.parts}.isdisjoint(p.name for p in kind.parts)


def _calls(kind: Kind) -> tuple[str, ...]:
    """The aggregates of a kind as SQL."""
    names = {p.name for p in kind.parts}
    calls = (a for q in kind.queries for a in q.calls if names.issuperset(p.name for p in part_columns(a)))
    return tuple(dict.fromkeys(map(call_text, calls)))
