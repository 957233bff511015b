"""What EXPLAIN says, as frozen values; text, JSON and pictures are drawn from these alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from thalweg.explain.join_model import JoinView
from thalweg.explain.times import Times
from thalweg.known import GroupFigures
from thalweg.logical.windows import Window
from thalweg.optimizer.cost.steps import StepEstimate
from thalweg.optimizer.statistics import WindowStatistics
from thalweg.optimizer.traits import Traits
from thalweg.optimizer.window_graph import WindowCoverageGraph
from thalweg.plan.build import Group
from thalweg.plan.nodes import Emission


@dataclass(frozen=True)
class Measured:
    """What a window did in the last batch, and the rows it keeps since.

    A window that is computed inside a result step has no times of its own.
    """

    times: Times
    state_rows: int

    @property
    def rows(self) -> int | None:
        """The (key, instance) rows made."""
        return next((self.times[k][0] for k in ("lift", "derive") if k in self.times), None)

    @property
    def millis(self) -> float | None:
        """The time of all that was done, added over the tasks."""
        return sum(ms for _, ms in self.times.values()) if self.times else None


@dataclass(frozen=True)
class WindowStep:
    """A window as the plan computes it: from what, how, for whom, and what that takes.

    source: the id of the step that it reads, None for the rows. combined: instances of the source per instance.
    inside: it is computed inside the result step of its query. ending: only until another step takes over.
    """

    id: str
    window: Window
    source: str | None
    how: str
    combined: int
    factor: bool
    queries: tuple[str, ...]
    parts: tuple[str, ...]
    inside: bool
    ending: bool
    sql: str
    expected: StepEstimate
    measured: Measured | None = None


@dataclass(frozen=True)
class ModeCosts:
    """What the plan of each mode costs: by the paper, in events per period of whole time units, and to the engine per batch.

    factors: (range, slide) of the paper's factor windows in the time unit. current: what the plan in force costs the engine.
    same: the modes that make the very plan in force.
    """

    unit: str
    size: int
    period: int
    paper: Mapping[str, int | float]
    engine: Mapping[str, float]
    factors: tuple[tuple[int | float, int | float], ...]
    current: float
    same: tuple[str, ...]


@dataclass(frozen=True)
class KnownStatistics:
    """What the engine's cost is reckoned from, and where it comes from."""

    values: WindowStatistics
    figures: GroupFigures


@dataclass(frozen=True)
class WindowGroup:
    """The windows of queries over one (stream, predicate, keys) for one kind of aggregates, which are planned together.

    graph: which window can be computed from which, before any choice. steps: what the plan chose, or the part that the
    explained query uses. left_out: steps of other queries of the group.
    """

    group: Group
    queries: tuple[str, ...]
    aggregates: tuple[str, ...]
    traits: Traits
    graph: WindowCoverageGraph
    steps: tuple[WindowStep, ...]
    costs: ModeCosts
    statistics: KnownStatistics
    left_out: int = 0

    def children(self, id: str | None) -> tuple[WindowStep, ...]:
        """The steps that read a step, or the rows."""
        return tuple(sorted((s for s in self.steps if s.source == id), key=lambda s: (s.window, s.how)))


@dataclass(frozen=True)
class Result:
    """What one window of one query is emitted from, and by which SQL.

    together: the id of the step that it is computed from in one pass with other windows of its query.
    """

    emission: Emission
    sql: str
    together: str | None = None


@dataclass(frozen=True)
class PlanView:
    """A plan as EXPLAIN shows it: groups of windows, and joins. `emitted` and `scanned` are measured, by query and by stream."""

    mode: str
    groups: tuple[WindowGroup, ...]
    results: tuple[Result, ...]
    batch: int | None = None
    emitted: Times | None = None
    scanned: Times | None = None
    joins: tuple[JoinView, ...] = ()

    @property
    def queries(self) -> tuple[str, ...]:
        """The windowed queries explained."""
        return tuple(dict.fromkeys(r.emission.query for r in self.results))

    @property
    def ending(self) -> tuple[Result, ...]:
        """Results that another plan takes over from: a switch is in progress."""
        return tuple(r for r in self.results if r.emission.until is not None)
