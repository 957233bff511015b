"""What EXPLAIN says, as frozen values; text, JSON and pictures are drawn from these alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from thalweg.model.query import Query, QueryInput
from thalweg.model.windows import Window
from thalweg.once import cached_property
from thalweg.optimizer.join_plans import Considered, JoinChoice
from thalweg.optimizer.traits import Traits
from thalweg.optimizer.window_graph import WindowCoverageGraph
from thalweg.plan.groups import Group
from thalweg.plan.nodes import Derived, Emission, Fragment, Join
from thalweg.plan.sides import join_parts
from thalweg.statistics.known import Figure, GroupFigures, InputFigures
from thalweg.statistics.records import InputStatistics, JoinStatistics, WindowStatistics

Times = Mapping[str, tuple[int, float]]
"""Rows and milliseconds by the name of what was done: scan, lift, derive, merge, keep, emit, or the evaluation of a join."""


@dataclass(frozen=True)
class Measured:
    """What a node did in the last batch, and what it keeps since, over all partitions.

    A window that is computed inside a result step has no times of its own.
    """

    times: Times
    state_rows: int = 0
    state_bytes: int = 0

    @property
    def rows(self) -> int | None:
        """The rows made."""
        return next((self.times[k][0] for k in self.times if k not in ("merge", "keep")), None)

    @property
    def millis(self) -> float | None:
        """The time of all that was done, added over the tasks."""
        return sum(ms for _, ms in self.times.values()) if self.times else None


@dataclass(frozen=True)
class Expected:
    """What a node is expected to take: rows per batch, rows of state, and work.

    cost: of windows, in hash-table updates per batch. nanos: of joins, in nanoseconds per second of stream.
    """

    rows_in: float = 0.0
    rows_out: float = 0.0
    state_rows: float = 0.0
    cost: float = 0.0
    nanos: float = 0.0


@dataclass(frozen=True)
class NodeWords:
    """What a node keeps, in words: the columns of its rows, and its parts, for people and as the engine makes them."""

    columns: tuple[str, ...]
    parts: tuple[str, ...]
    parts_sql: tuple[str, ...]


@dataclass(frozen=True)
class RolledUp:
    """What partial aggregates are made of in the place of rows: those of another node, by which columns and of which window, how many of
    them a batch is expected to make, and how many rows there are."""

    id: str
    window: Window
    keys: tuple[str, ...]
    pieces: float
    rows: float


@dataclass(frozen=True)
class NodeView:
    """A node with state of its own: for whom it is there, by which SQL it is made, what that takes.

    words: what it keeps. queries: all that use it. given: those whose windows are given out from it. joined: those that join it.
    combined: instances of the source per instance. inside: it is computed inside the result step of its query.
    ending: only until another node takes over.
    """

    node: Fragment | Derived
    words: NodeWords
    queries: tuple[str, ...]
    given: tuple[str, ...]
    joined: tuple[str, ...]
    sql: str
    expected: Expected = Expected()
    combined: int = 0
    factor: bool = False
    inside: bool = False
    ending: bool = False
    measured: Measured | None = None
    rolled: RolledUp | None = None

    @property
    def id(self) -> str:
        """The node's name."""
        return self.node.id

    @property
    def window(self) -> Window:
        """The window whose instances it has."""
        return self.node.window

    @property
    def source(self) -> str | None:
        """The node that it is computed from, None for the rows."""
        return self.node.parent if isinstance(self.node, Derived) else None

    @property
    def how(self) -> str:
        """How instances of the source are combined; of what is made before the exchange, of what."""
        if isinstance(self.node, Derived):
            return self.node.how
        return "rows" if self.rolled is None else "rolled"

    @property
    def fragment(self) -> Fragment:
        """The node as the input of a join that it is."""
        assert isinstance(self.node, Fragment)
        return self.node


@dataclass(frozen=True)
class SqlStep:
    """A statement of the plan: what it does for which node or query, and in which stage of the job it runs."""

    stage: int
    action: str
    of: str
    about: str
    sql: str


@dataclass(frozen=True)
class ModeCosts:
    """What the plan of each mode costs: by the paper, in events per period of whole time units, and to the engine per batch.

    paper: of the plans that modes make by the paper's cost alone. made: of those that they make by what is known of the stream, at one event
    a unit; rated: at the rate of the stream. factors: (range, slide) of the paper's factor windows in the time unit. current: what the
    plan in force costs the engine, current_made and current_rated: by the paper. same: the modes that make the very plan in force.
    """

    unit: str
    size: int
    period: int
    paper: Mapping[str, int | float]
    engine: Mapping[str, float]
    factors: tuple[tuple[int | float, int | float], ...]
    current: float
    same: tuple[str, ...]
    made: Mapping[str, int | float]
    rated: Mapping[str, int | float]
    current_made: int | float
    current_rated: int | float


@dataclass(frozen=True)
class KnownStatistics:
    """What the engine's cost is reckoned from, and where it comes from."""

    values: WindowStatistics
    figures: GroupFigures


@dataclass(frozen=True)
class WindowGroup:
    """The windows of queries over one (stream, predicate, keys) for one kind of aggregates, which are planned together.

    keys, where: those of the group in words. graph: which window can be computed from which, before any choice. steps: what the plan
    chose, or the part that the explained query uses. left_out: steps of other queries of the group.
    """

    group: Group
    keys: tuple[str, ...]
    where: tuple[str, ...]
    queries: tuple[str, ...]
    aggregates: tuple[str, ...]
    traits: Traits
    graph: WindowCoverageGraph
    steps: tuple[NodeView, ...]
    costs: ModeCosts
    statistics: KnownStatistics
    left_out: int = 0

    def children(self, id: str | None) -> tuple[NodeView, ...]:
        """The nodes that read a node, or the rows."""
        return tuple(sorted((s for s in self.steps if s.source == id), key=lambda s: (s.window, s.how)))


@dataclass(frozen=True)
class InputView:
    """An input of a join with what is known of it, and where that comes from."""

    given: QueryInput
    statistics: InputStatistics
    figures: InputFigures


@dataclass(frozen=True)
class JoinRun:
    """One way in which a join is being computed: a query has two while one plan hands over to another.

    emission: which instants of it the query is given. queries: all that are given results of it. expected: of the join without its
    inputs. steps: as for some example instants, as the SQL depends on them.
    """

    join: Join
    emission: Emission
    queries: tuple[str, ...]
    sides: tuple[NodeView, ...]
    cost: Considered
    expected: Expected
    steps: tuple[SqlStep, ...]
    measured: Measured | None = None

    @property
    def choice(self) -> JoinChoice:
        """The plan."""
        return self.cost.choice

    @property
    def ending(self) -> bool:
        """Whether it is there only until another takes over."""
        return self.emission.until is not None


@dataclass(frozen=True)
class JoinView:
    """A join query: what it joins, what computes it, and all the plans that it could have.

    runs: the newest last. plans: those that the settings leave open, cheapest first. settings: those that leave less than all
    plans open. freely: the cheapest plan if they did not. paper: costs of LAP and the EAPs by the early-aggregation paper.
    finished: what was measured of making results; changes: of what EMIT CHANGES remembers. listed: plans that are taken only if they are
    asked for. idle: settings that have no effect on the query, each with the reason.
    """

    query: Query
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
    changes: Measured | None = None
    listed: tuple[Considered, ...] = ()
    idle: tuple[str, ...] = ()

    @property
    def run(self) -> JoinRun:
        """The plan in force, or the one that is coming into force."""
        return self.runs[-1]

    @property
    def sides(self) -> tuple[NodeView, ...]:
        """What is kept of the inputs of all runs, each once."""
        return tuple({s.id: s for r in self.runs for s in r.sides}.values())

    @property
    def is_measured(self) -> bool:
        """Whether there is something of the last batch to say."""
        return any(r.measured is not None for r in self.runs)


@dataclass(frozen=True)
class Result:
    """What one window of one query is emitted from, and by which SQL.

    together: the id of the node that it is computed from in one pass with other windows of its query.
    """

    emission: Emission
    sql: str
    together: str | None = None


@dataclass(frozen=True)
class PoolView:
    """A pool: its queries, and nanoseconds per second of stream that they are expected to cost as one and apart. `marginal`: what would be
    saved without the one query that is explained. `commons`: where the rows of its streams are kept with those of others, and how many
    pools read them. `every`: the distance of its instants, where that of some member's is another."""

    id: str
    queries: tuple[str, ...]
    together: float
    apart: float
    marginal: float | None = None
    commons: tuple[str, int] | None = None
    every: int | None = None


@dataclass(frozen=True)
class NestedView:
    """A query whose results others read within the batch: its name, the columns of its results, who reads them, and what it `unites`."""

    name: str
    columns: tuple[str, ...]
    readers: tuple[str, ...]
    unites: tuple[str, ...] = ()


@dataclass(frozen=True)
class Share:
    """What a query takes of the plan, where what several use is split evenly: hash-table updates, nanoseconds, rows of state."""

    cost: float = 0.0
    nanos: float = 0.0
    state_rows: float = 0.0

    def __add__(self, other: Share) -> Share:
        return Share(self.cost + other.cost, self.nanos + other.nanos, self.state_rows + other.state_rows)

    def __sub__(self, other: Share) -> Share:
        return Share(self.cost - other.cost, self.nanos - other.nanos, self.state_rows - other.state_rows)


@dataclass(frozen=True)
class PlanView:
    """A plan as EXPLAIN shows it: groups of windows, and joins, over nodes that they share.

    nodes: all that is kept, in the order of computation. steps: every statement in the order of running. alike: the queries that
    ask the same, explained or not. pools: the queries that are computed as one. added: how many others there are, and what the one that is
    explained adds to them.
    `emitted` and `scanned` are measured, by query and by stream.
    """

    mode: str
    nodes: tuple[NodeView, ...]
    groups: tuple[WindowGroup, ...]
    joins: tuple[JoinView, ...]
    results: tuple[Result, ...]
    steps: tuple[SqlStep, ...]
    alike: tuple[tuple[str, ...], ...]
    batch: int | None = None
    emitted: Times | None = None
    scanned: Times | None = None
    pools: tuple[PoolView, ...] = ()
    added: tuple[int, Share] | None = None
    nested: tuple[NestedView, ...] = ()

    @property
    def windowed(self) -> tuple[str, ...]:
        """The windowed queries explained."""
        return tuple(dict.fromkeys(r.emission.query for r in self.results))

    @property
    def queries(self) -> tuple[str, ...]:
        """All queries explained."""
        return (*self.windowed, *(j.query.name for j in self.joins))

    @property
    def runs(self) -> tuple[JoinRun, ...]:
        """The joins that are computed, each once whoever asks."""
        return tuple({r.join.id: r for j in self.joins for r in j.runs}.values())

    @property
    def ending(self) -> tuple[Result, ...]:
        """Results that another plan takes over from: a switch is in progress."""
        return tuple(r for r in self.results if r.emission.until is not None)

    @cached_property
    def leaders(self) -> Mapping[str, str]:
        """The query that stands for each explained one: the first explained one of those that ask the same."""
        explained = set(self.queries)
        alike = ([q for q in names if q in explained] for names in self.alike)
        return {q: names[0] for names in alike for q in names}

    @cached_property
    def digits(self) -> frozenset[str]:
        """What the names of all nodes and of their parts end in, which is their meaning."""
        parts = [p.name for n in self.nodes for p in n.node.parts] + [
            p.column.name for r in self.runs for p in join_parts(r.join.asked)
        ]
        names = [*(n.id for n in self.nodes), *(r.join.id for r in self.runs), *parts]
        return frozenset(name.rpartition("_")[2] for name in names)

    @property
    def distinct_joins(self) -> tuple[JoinView, ...]:
        """The joins without those that another one stands for."""
        return tuple(j for j in self.joins if self.leaders[j.query.name] == j.query.name)
