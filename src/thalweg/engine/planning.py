"""Which plan a batch runs: the one in force, its successor, or one that was found to be better."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

from thalweg.compile.retention import is_over
from thalweg.engine.attention import Attention
from thalweg.engine.chronicle import Reason, reason_of
from thalweg.engine.commit import controls_of
from thalweg.engine.task import Report
from thalweg.engine.workload import PlannerOf, Workload
from thalweg.model.nesting import with_frontiers
from thalweg.optimizer.planner import worth_replanning
from thalweg.optimizer.splitting import split
from thalweg.optimizer.workload import Planner, advance, build
from thalweg.plan.nodes import Plan
from thalweg.state.lives import Lives
from thalweg.state.manifest import Manifest
from thalweg.statistics.known import Known

# Batches after which it is asked whether another plan would be better: two early ones, and every so many.
REPLAN_AFTER, REPLAN_EVERY = (1, 4), 32


@dataclass(frozen=True)
class Before:
    """What the last batch left: the workload that was planned for it (None before the first), its plan and manifest, and the lives of
    queries; `ground` is the plan with those of the queries that have arrived."""

    planned: Workload | None
    plan: Plan
    ground: Plan
    manifest: Manifest
    lives: Lives


@dataclass(frozen=True)
class Successor:
    """A plan, and what it was made of."""

    workload: Workload
    at: Before
    replan: frozenset[str]
    plan: Plan

    def is_of(self, w: Workload, at: Before, replan: frozenset[str]) -> bool:
        """Whether it is what would be planned now."""
        same = (at.ground, self.at.ground), (at.manifest, self.at.manifest), (at.lives, self.at.lives)
        return all(a is b for a, b in same) and self.replan == replan and self.workload == w


class Planning:
    """Chooses plans. What takes long, whether another plan would be better, is found out by `beside`: at once unless that is told otherwise.

    `planner_of` plans what was asked for, `fresh_planner_of` by what is known now. `reason` says why the last plan was made. Where it is
    not `looking`, a workload is planned once.
    """

    def __init__(self, planner_of: PlannerOf, looking: bool = True) -> None:
        self.planner_of, self.fresh_planner_of = planner_of, planner_of
        self.beside: Callable[[Callable[[], None]], None] = lambda work: work()
        self.attention, self.reason = Attention(), Reason()
        self._looking = looking
        self._better: tuple[Plan, frozenset[str], Planner] | None = None
        self._split: tuple[Plan, Plan] | None = None
        self._successor: Successor | None = None
        self._has_counted = False

    def plan_for(self, w: Workload, at: Before) -> Plan:
        """The plan in force, or its successor where the workload changed or a handed-over plan has drained."""
        frontiers = at.manifest.frontiers
        reached = with_frontiers(at.plan.nested, frontiers)
        done = any(e.until is not None and is_over(at.plan, e, reached) for e in at.plan.emissions)
        changed = w != at.planned
        is_time = self._is_time(at)
        if not changed and (is_time or self._has_counted):
            self.beside(partial(self._look, w, at.plan, at.manifest, is_time))
        better, planner = self._seen_better(at.plan, changed)
        if not changed and not done and not better:
            self.reason = Reason()
            return self._seen_split(at.plan)
        asked = w.settings != at.plan.settings or (at.planned is not None and w.replan != at.planned.replan)
        replan = frozenset(q.name for q in w.queries) if asked else better
        planner = planner or self.planner_of(w, at.manifest)
        plan = self.successor(w, at, planner, replan)
        self.reason = reason_of(at.plan, w, better, asked and bool(at.plan.queries), planner.known)
        return plan

    def successor(self, w: Workload, at: Before, planner: Planner, replan: frozenset[str]) -> Plan:
        """The plan of a workload after that of the last batch. Whoever plans it ahead of the next batch does it for that, too."""
        found = self._successor
        if found is None or not found.is_of(w, at, replan):
            places = {life.name: life.directory for life in at.lives if life.ended is None}
            tops, frontiers = at.manifest.tops, at.manifest.frontiers
            plan = advance(
                at.ground, w.streams, w.queries, planner, tops, frontiers, replan, w.relations, places
            )
            found = Successor(w, at, replan, replace(plan, settings=w.settings))
            self._successor = found
        return found.plan

    def notice(
        self, plan: Plan, made: Manifest, w: Workload, before: Manifest, reports: Iterable[Report]
    ) -> None:
        """Pay attention to what a batch made, by what was known before it."""
        counted = any(f.sides for c in controls_of(reports) for f in c.streams.values())
        self._has_counted = self._looking and counted
        self.attention.pay(plan, made, partial(self._expecting, w, before))

    def _expecting(self, w: Workload, manifest: Manifest) -> Known:
        return self.fresh_planner_of(w, manifest).known

    def _is_time(self, at: Before) -> bool:
        """Soon after the start, when the first statistics are there, now and then, and when a join is far off what was expected."""
        batch = at.manifest.batch
        due = batch in REPLAN_AFTER or batch % REPLAN_EVERY == REPLAN_EVERY - 1 or self.attention.left > 0
        return self._looking and at.planned is not None and due

    def _look(self, w: Workload, plan: Plan, manifest: Manifest, for_better: bool) -> None:
        """Find out which frequent values are to be split, and the queries that would clearly be better off with another plan. While an
        earlier switch is still going on, these wait."""
        planner = self.fresh_planner_of(w, manifest)
        self._split = plan, split(plan, planner.known, planner.partitions, planner.splitting)
        if for_better and all(e.until is None for e in plan.emissions):
            candidate = build(w.streams, w.queries, planner, relations=w.relations)
            self._better = plan, worth_replanning(plan, candidate, planner.known), planner

    def _seen_better(self, plan: Plan, changed: bool) -> tuple[frozenset[str], Planner | None]:
        """What the last look found, if nothing has changed since."""
        found, self._better = self._better, None
        if found is None or changed or found[0] is not plan or not found[1]:
            return frozenset(), None
        return found[1], found[2]

    def _seen_split(self, plan: Plan) -> Plan:
        """A plan, with the values split that the last look found frequent."""
        seen, self._split = self._split, None
        return seen[1] if seen is not None and seen[0] is plan else plan
