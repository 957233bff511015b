"""From a plan to the groups of windows that EXPLAIN shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from thalweg.explain.costs import known_statistics, mode_costs
from thalweg.explain.measured import measured_step
from thalweg.explain.model import WindowGroup, WindowStep
from thalweg.explain.words import call_text
from thalweg.logical.aggregates import part_columns
from thalweg.optimizer.cost.steps import StepEstimate, estimates
from thalweg.optimizer.coverage import covered_by, partitioned_by
from thalweg.optimizer.forest import Forest
from thalweg.optimizer.traits import Traits
from thalweg.optimizer.window_graph import WindowCoverageGraph, window_coverage_graph
from thalweg.plan.build import Group, Kind, cheapest_kinds, group_of
from thalweg.plan.compile import derive_sql, inline, lift_sql
from thalweg.plan.nodes import TIME, Fragment, Plan
from thalweg.planning import WindowPlanner, step_of
from thalweg.state.manifest import Manifest


def window_groups(plan: Plan, planner: WindowPlanner, measured: Manifest | None = None) -> tuple[WindowGroup, ...]:
    """The windows of a plan by (stream, predicate, keys) and kind of aggregates."""
    reader = _Reader(plan, planner, measured)
    groups = dict.fromkeys(map(group_of, plan.windowed))
    return tuple(view for group in groups for view in reader.views(group))


def part_of(group: WindowGroup, query: str) -> WindowGroup:
    """The group with the steps that one query uses."""
    by_id = {s.id: s for s in group.steps}
    wanted: set[str] = set()
    for step in group.steps:
        at: str | None = step.id if query in step.queries else None
        while at is not None and at not in wanted:
            wanted.add(at)
            at = by_id[at].source
    kept = tuple(s for s in group.steps if s.id in wanted)
    return replace(group, steps=kept, left_out=len(group.steps) - len(kept))


def coverage(kind: Kind) -> WindowCoverageGraph:
    """Which windows of a kind can be computed from which, before any choice."""
    return window_coverage_graph(kind.windows, covered_by if kind.traits.may_overlap else partitioned_by)


@dataclass(frozen=True)
class _Reader:
    """Reads a plan, with what is expected of it and what was measured."""

    plan: Plan
    planner: WindowPlanner
    measured: Manifest | None

    @cached_property
    def fragments(self) -> dict[str, Fragment]:
        return {f.id: f for f in self.plan.fragments}

    @cached_property
    def inside(self) -> frozenset[str]:
        return inline(self.plan)

    def views(self, group: Group) -> Iterable[WindowGroup]:
        """One view per kind of aggregates."""
        kinds = cheapest_kinds(group, [q for q in self.plan.windowed if group_of(q) == group], self.planner)
        mine = [f for f in self.plan.fragments if Group(f.stream, f.where, f.keys) == group]
        return [self._view(group, kind, [f for f in mine if _is_of(f, kind, kinds)]) for kind in kinds]

    def _view(self, group: Group, kind: Kind, fragments: list[Fragment]) -> WindowGroup:
        expected = self._expected(group, kind.traits, fragments)
        return WindowGroup(
            group=group,
            queries=tuple(q.name for q in kind.queries),
            aggregates=_calls(kind),
            traits=kind.traits,
            graph=coverage(kind),
            steps=tuple(self._step(f, expected[f.id]) for f in fragments),
            costs=mode_costs(group, kind, self.planner, expected.values()),
            statistics=known_statistics(group, self.planner),
        )

    def _expected(self, group: Group, traits: Traits, fragments: list[Fragment]) -> dict[str, StepEstimate]:
        """What each step is expected to do; trees apart, since two of them may hold the same window while one replaces the other."""
        trees: dict[str, list[Fragment]] = {}
        for f in fragments:
            trees.setdefault(self._root(f), []).append(f)
        found = {}
        for tree in trees.values():
            forest = Forest(tuple(step_of(self.plan, f) for f in tree))
            for f, estimate in zip(tree, estimates(forest, traits, self.planner.statistics(group)), strict=True):
                found[f.id] = estimate
        return found

    def _root(self, fragment: Fragment) -> str:
        return fragment.id if fragment.source is None else self._root(self.fragments[fragment.source])

    def _step(self, fragment: Fragment, expected: StepEstimate) -> WindowStep:
        source = self.fragments[fragment.source] if fragment.source else None
        users = [e for e in self.plan.emissions if fragment.id in e.fragments]
        return WindowStep(
            id=fragment.id,
            window=fragment.window,
            source=fragment.source,
            how=fragment.how,
            combined=expected.step.combined,
            factor=fragment.factor,
            queries=tuple(dict.fromkeys(e.query for e in users)),
            parts=tuple(p.lift.replace(TIME, "event time") for p in fragment.parts),
            inside=fragment.id in self.inside,
            ending=bool(users) and all(e.until is not None for e in users),
            sql=derive_sql(fragment, source.window) if source else lift_sql(fragment),
            expected=expected,
            measured=measured_step(self.measured, fragment.id),
        )


def _is_of(fragment: Fragment, kind: Kind, kinds: tuple[Kind, ...]) -> bool:
    """Whether a fragment holds parts of a kind; one without parts belongs to a kind that bears overlap, as DISTINCT does."""
    if not fragment.parts:
        return kind == next((k for k in kinds if k.traits.overlap_safe), kinds[0])
    return not {p.name for p in fragment.parts}.isdisjoint(p.name for p in kind.parts)


def _calls(kind: Kind) -> tuple[str, ...]:
    """The aggregates of a kind as SQL."""
    names = {p.name for p in kind.parts}
    calls = (a for q in kind.queries for a in q.aggregates if names.issuperset(p.name for p in part_columns(a, TIME)))
    return tuple(dict.fromkeys(map(call_text, calls)))
