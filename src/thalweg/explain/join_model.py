"""What EXPLAIN says of joins, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from thalweg.explain.times import Times
from thalweg.known import Figure, InputFigures
from thalweg.logical.join import JoinInput, JoinQuery
from thalweg.optimizer.join_plans import Considered, JoinChoice
from thalweg.optimizer.statistics import InputStatistics, JoinStatistics
from thalweg.plan.nodes import Join, Side


@dataclass(frozen=True)
class KeptState:
    """What was measured of something that is kept: its steps in the last batch, and what it holds since, over all partitions."""

    times: Times
    rows: int
    bytes: int


@dataclass(frozen=True)
class SideView:
    """A side, the queries that use it, its SQL, and what was measured of it."""

    side: Side
    queries: tuple[str, ...]
    sql: str
    measured: KeptState | None = None


@dataclass(frozen=True)
class InputView:
    """An input of a join with what is known of it, and where that comes from."""

    given: JoinInput
    statistics: InputStatistics
    figures: InputFigures


@dataclass(frozen=True)
class SqlStep:
    """A named statement."""

    name: str
    sql: str


@dataclass(frozen=True)
class JoinRun:
    """One way in which a join is being computed: a query has two while one plan hands over to another.

    kept: what the evaluation itself keeps. instants: those that `steps` are written for, as the SQL depends on them.
    """

    join: Join
    sides: tuple[SideView, ...]
    cost: Considered
    steps: tuple[SqlStep, ...]
    instants: tuple[int, int] | None
    measured: KeptState | None = None

    @property
    def choice(self) -> JoinChoice:
        """The plan."""
        return self.cost.choice


@dataclass(frozen=True)
class JoinView:
    """A join query: what it joins, what computes it, and all the plans that it could have.

    runs: the newest last. plans: those that the settings leave open, cheapest first. settings: those that leave less than all
    plans open. freely: the cheapest plan if they did not. paper: costs of LAP and the EAPs by the early-aggregation paper.
    finished: what was measured of making results; changes: of what EMIT CHANGES remembers.
    """

    query: JoinQuery
    inputs: tuple[InputView, ...]
    statistics: JoinStatistics
    groups: Figure
    batch: Figure
    runs: tuple[JoinRun, ...]
    plans: tuple[Considered, ...]
    settings: tuple[str, ...]
    freely: Considered
    paper: Mapping[str, float]
    finished: tuple[int, float] | None = None
    changes: KeptState | None = None

    @property
    def run(self) -> JoinRun:
        """The plan in force, or the one that is coming into force."""
        return self.runs[-1]

    @property
    def sides(self) -> tuple[SideView, ...]:
        """The sides of all runs, each once."""
        return tuple({s.side.id: s for r in self.runs for s in r.sides}.values())

    @property
    def is_measured(self) -> bool:
        """Whether there is something of the last batch to say."""
        return any(r.measured is not None for r in self.runs)
