"""Plans made ready beside the batches: what takes long is to choose, and that needs no batch to end."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from thalweg.engine.beside import Beside
from thalweg.engine.runner import Runner
from thalweg.engine.workload import PlannerOf, Workload
from thalweg.model.query import Query
from thalweg.model.windows import Window
from thalweg.optimizer.forest import Forest
from thalweg.optimizer.join_plans import JoinChoice
from thalweg.optimizer.traits import Traits
from thalweg.optimizer.workload import Planner
from thalweg.plan.groups import Group
from thalweg.state.manifest import Manifest
from thalweg.statistics.known import Known


@dataclass(frozen=True)
class Remembering:
    """A planner that chooses once, and then says the same again."""

    planner: Planner
    chosen: dict[Hashable, Any] = field(default_factory=dict)

    @property
    def known(self) -> Known:
        """What it chooses by."""
        return self.planner.known

    def forest(self, group: Group, windows: Collection[Window], traits: Traits) -> Forest:
        """The plan of the windows."""
        found: Forest = self._once(
            (group, frozenset(windows), traits), lambda: self.planner.forest(group, windows, traits)
        )
        return found

    def cost(self, group: Group, forest: Forest, traits: Traits) -> float:
        """What a plan costs per batch."""
        found: float = self._once((group, forest, traits), lambda: self.planner.cost(group, forest, traits))
        return found

    def join(self, query: Query) -> JoinChoice:
        """The plan of a join query."""
        found: JoinChoice = self._once(query, lambda: self.planner.join(query))
        return found

    @property
    def sharing(self) -> str:
        """Whether queries are computed together."""
        return self.planner.sharing

    @property
    def splitting(self) -> str:
        """Whether frequent values are split over partitions."""
        return self.planner.splitting

    def apart(self, query: Query) -> float:
        """The cost of a join query alone."""
        found: float = self._once(("apart", query), lambda: self.planner.apart(query))
        return found

    def windows_apart(self, query: Query) -> float:
        """The cost of a windowed query alone."""
        return self.planner.windows_apart(query)

    def windows_together(self, queries: Sequence[Query]) -> float:
        """The cost of windowed queries as one."""
        found: float = self._once(("windows", tuple(queries)), lambda: self.planner.windows_together(queries))
        return found

    def together(self, queries: Sequence[Query]) -> float:
        """The cost of join queries as one."""
        found: float = self._once(("together", tuple(queries)), lambda: self.planner.together(queries))
        return found

    def gathers(self, pools: Sequence[Sequence[Query]]) -> bool:
        """Whether many pools are spread over partitions."""
        found: bool = self._once(("gathers", tuple(map(tuple, pools))), lambda: self.planner.gathers(pools))
        return found

    @property
    def rolling(self) -> str:
        """As the planner says."""
        return self.planner.rolling

    @property
    def partitions(self) -> int:
        """How many parts of the work are done at the same time."""
        return self.planner.partitions

    def _once(self, key: Hashable, choose: Callable[[], Any]) -> Any:
        if key not in self.chosen:
            self.chosen[key] = choose()
        return self.chosen[key]


REST = 4.0
"""How many times as long as a workload takes to be prepared nothing is prepared while a batch runs: what comes meanwhile is one change."""
WAIT = 0.25
"""What part of the time that the last batch took the next one waits for a workload that is being prepared, if none is ready."""
BEFORE = 2.0
"""How many times as long as it takes to be prepared a workload is begun before the batch that runs is expected to end."""
PAUSE = 0.1
"""Seconds without a batch after which the next workload is prepared though no batch has begun with the last one yet."""


class Ahead:
    """Gives a runner its workloads once their plans are chosen. A batch under way is not waited for; the next one waits a little.

    Of several workloads that come one after another only the last is planned.
    """

    def __init__(self, runner: Runner, planner_of: PlannerOf) -> None:
        self._runner, self._planner_of = runner, planner_of
        self._asked = runner.workload
        self._ready: tuple[Workload, Planner] | None = None
        self._preparing = Beside(self._prepare, "thalweg-planning")
        self._looking = Beside(lambda: self._look(), "thalweg-looking")
        self._look: Callable[[], None] = lambda: None
        self._rested, self._took, self._set_at = 0.0, 0.0, -1
        self._last: Remembering | None = None
        runner.planning.planner_of, runner.planning.beside = self.planner_of, self.look
        runner.ready = self._wait

    def offer(self, workload: Workload) -> None:
        """Have a workload run, from the first batch on that begins when its plan is ready."""
        self._asked = workload
        self._preparing.ask()

    def settle(self) -> None:
        """Wait until all that was asked for is ready."""
        with self._runner.turns.hurry():
            self._preparing.settle()

    @property
    def _is_fresh(self) -> bool:
        """Whether no batch has begun since a workload was prepared last."""
        return self._set_at == self._runner.turns.begun

    def _wait(self) -> None:
        if not self._is_fresh:
            self._preparing.settle(WAIT * self._runner.turns.last)

    def look(self, work: Callable[[], None]) -> None:
        """Do something else beside the batches; of several things only the last."""
        self._look = work
        self._looking.ask()

    def planner_of(self, workload: Workload, manifest: Manifest) -> Planner:
        """The planner of a workload: the one that has chosen already, if there is one."""
        ready = self._ready
        return (
            ready[1] if ready is not None and ready[0] == workload else self._planner_of(workload, manifest)
        )

    def _prepare(self) -> None:
        turns = self._runner.turns
        if self._is_fresh:
            turns.follow(self._set_at, PAUSE)
        turns.rest(max(self._rested, turns.due - BEFORE * self._took))
        started, workload = time.monotonic(), self._asked
        try:
            ahead = self._runner.next_workload(workload)
            self._ready = ahead, self._chosen(ahead)
        except Exception:  # the batch will meet it too, and tell it
            self._ready = None
        with turns.turned:
            self._runner.workload, self._set_at = workload, turns.begun
        self._took = time.monotonic() - started
        self._rested = time.monotonic() + REST * self._took

    def _chosen(self, workload: Workload) -> Planner:
        """A planner that has chosen all that the next plan takes; where no batch ends meanwhile, it is that plan."""
        at = self._runner.before
        planner = self._remembering(self._planner_of(workload, at.manifest))
        is_set = workload.settings != at.plan.settings
        again = frozenset(q.name for q in workload.queries if is_set)
        self._runner.planning.successor(workload, at, planner, again)
        return planner

    def _remembering(self, planner: Planner) -> Remembering:
        """A planner that goes on with what the last one has chosen, where it knows no more than that one."""
        if self._last is None or self._last.planner != planner:
            self._last = Remembering(planner)
        return self._last
