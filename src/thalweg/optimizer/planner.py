"""The planner that settings ask for and statistics inform, and when to plan again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import cast

from thalweg.compile.evaluations import EVALUATIONS
from thalweg.errors import UsageError
from thalweg.model.nesting import all_nested
from thalweg.model.query import Query
from thalweg.model.settings import EVALUATIONS as NAMES
from thalweg.model.settings import FEATURES, Config
from thalweg.model.stream import Relation, Stream
from thalweg.model.windows import Window
from thalweg.optimizer.cost.calibration import Constants
from thalweg.optimizer.cost.join_engine import Estimate
from thalweg.optimizer.cost.steps import engine_cost
from thalweg.optimizer.estimate import estimate
from thalweg.optimizer.forest import Forest, Step
from thalweg.optimizer.join_plans import (
    Considered,
    JoinChoice,
    Wish,
    choices,
    consider,
    fitting,
    may_evaluate,
    may_hash,
)
from thalweg.optimizer.join_search import cheapest
from thalweg.optimizer.plan_windows import Mode, plan_windows
from thalweg.optimizer.pool_costs import (
    alone_cost,
    gathering_pays,
    join_statistics,
    pool_cost,
    pool_statistics,
    rounded,
    widest,
    windows_alone_cost,
    windows_pool_cost,
)
from thalweg.optimizer.traits import Features, Traits
from thalweg.plan.groups import Group
from thalweg.plan.nodes import Derived, Fragment, Join, Plan
from thalweg.state.manifest import Manifest, Seen
from thalweg.statistics.constants import join_constants, window_constants
from thalweg.statistics.known import Known, Sampled
from thalweg.statistics.records import FEW_ROWS, JoinStatistics, WindowStatistics

CLEAR_GAIN = 1.25
PARTITIONS = 2


@dataclass(frozen=True)
class WindowPlanner:
    """Plans windows and joins as settings say, by what is known of the streams and tables."""

    config: Config
    known: Known = field(default_factory=Known)

    def statistics(self, group: Group) -> WindowStatistics:
        """What is known of a group, or what is assumed."""
        return statistics_of(self.known, group)

    def forest(self, group: Group, windows: Collection[Window], traits: Traits) -> Forest:
        """The plan of the windows of a group; sessions are made of the rows."""
        if any(w.session for w in windows):
            return Forest(tuple(Step(w) for w in sorted(windows)))
        return _forest(
            tuple(sorted(windows)),
            traits,
            cast(Mode, self.config.windows),
            self.statistics(group),
            features_of(self.config),
            window_constants(),
        )

    def join(self, query: Query) -> JoinChoice:
        """The plan of a join query."""
        return self.least(query).choice

    def least(self, query: Query) -> Considered:
        """The plan of a join query with what it is expected to cost: the first of all that are considered."""
        found = self._cheapest(query, join_statistics(self.known, query))
        return found or self.considered(query)[0]

    def considered(self, query: Query) -> tuple[Considered, ...]:
        """The plans of a join query that the settings leave open, cheapest first."""
        c = self.config
        found = consider(query, join_statistics(self.known, query), self._wish, join_constants())
        if not found:
            raise UsageError(f"query {query.name} has no plan {_wished(c)}", _no_plan_hint(query, c))
        return fitting(found, c.memory)

    @property
    def _wish(self) -> Wish:
        c = self.config
        return Wish(c.early_aggregation, c.evaluate, c.join, c.invalidate, c.order)

    def check(self, query: Query) -> None:
        """Refuse a join query that has no plan, or none that keeps as little state as settings allow."""
        allowed = self.config.memory
        if allowed is None and any(True for _ in choices(query, self._wish)):
            return
        least = self.least(query)
        if allowed is not None and least.estimate.state_bytes > allowed:
            raise UsageError(
                f"query {query.name} has no plan with plan.memory = {size_text(allowed)}: "
                f"{least.choice.name}, which keeps least, is expected to keep {size_text(least.estimate.state_bytes)}",
                "allow more, make windows shorter, or declare the rates of streams if they are lower",
            )

    def cost(self, group: Group, forest: Forest, traits: Traits) -> float:
        """What a plan costs per batch, in hash-aggregate updates."""
        return engine_cost(forest, traits, self.statistics(group), window_constants())

    @property
    def sharing(self) -> str:
        """Whether queries are computed together."""
        return self.config.sharing

    @property
    def splitting(self) -> str:
        """Whether frequent values are split over partitions."""
        return self.config.split

    @property
    def rolling(self) -> str:
        """Whether groups by fewer keys begin with those by more."""
        return self.config.rollup

    def apart(self, query: Query) -> float:
        """The cost of a join query alone, per second of stream."""
        return self._nanos(query, join_statistics(self.known, query)) + alone_cost(self.known, query)

    def together(self, queries: Sequence[Query]) -> float:
        """The cost of join queries of one pattern as one, per second of stream."""
        return self._nanos(widest(queries), pool_statistics(self.known, queries)) + pool_cost(
            self.known, queries
        )

    def gathers(self, pools: Sequence[Sequence[Query]]) -> bool:
        """Whether joined rows of many pools cost less if partitions have pools than if they have hash ranges."""
        if self.sharing == "all":
            return len(pools) > 1
        return gathering_pays(
            self.known,
            pools,
            lambda some: self.together(some) if len(some) > 1 else self.apart(some[0]),
            self.partitions,
            self.config.stays_one,
        )

    @property
    def partitions(self) -> int:
        """How many parts of the work are done at the same time; as many as a small machine has, where nobody says."""
        return self.config.partitions or PARTITIONS

    def windows_apart(self, query: Query) -> float:
        """The cost of a windowed query alone, per second of stream."""
        return windows_alone_cost(self.known, query)

    def windows_together(self, queries: Sequence[Query]) -> float:
        """The cost of windowed queries over one stream and keys as one, per second of stream."""
        return windows_pool_cost(self.known, queries)

    def _nanos(self, query: Query, statistics: JoinStatistics) -> float:
        if (found := self._cheapest(query, statistics)) is None:
            every = consider(query, statistics, self._wish, join_constants())
            found = next(iter(fitting(every, self.config.memory)), None)
        return found.estimate.nanos if found is not None else float("inf")

    def _cheapest(self, query: Query, statistics: JoinStatistics) -> Considered | None:
        return cheapest(query, statistics, self._wish, join_constants(), self.config.memory)


def size_text(size: float) -> str:
    """A number of bytes for people.

    >>> size_text(2_000_000_000), size_text(1_234_567), size_text(12)
    ('2 GB', '1.23 MB', '12 bytes')
    """
    for unit, name in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "KB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size:.0f} bytes"


def planner_for(
    config: Config,
    manifest: Manifest | None = None,
    streams: Iterable[Stream] = (),
    relations: Iterable[Relation] = (),
    sampled: Sampled | None = None,
    queries: Iterable[Query] = (),
) -> WindowPlanner:
    """The planner of a configuration with what a manifest knows, what is declared, and what was sampled. Of the queries those that are
    nested in others tell how many results there are to be read."""
    seen = manifest.seen if manifest is not None else Seen()
    known = Known(
        seen,
        tuple(streams),
        tuple(relations),
        sampled or Sampled(),
        all_nested(queries),
        config.partitions or PARTITIONS,
        0 if config.exchange == "always" else FEW_ROWS,
    )
    return WindowPlanner(config, known)


@lru_cache(1024)
def _forest(
    windows: tuple[Window, ...],
    traits: Traits,
    mode: Mode,
    statistics: WindowStatistics,
    features: Features,
    constants: Constants,
) -> Forest:
    return plan_windows(windows, traits, mode, statistics, features, constants)


def features_of(config: Config) -> Features:
    """What the mode `best` may use."""
    return Features(**{f: f not in config.features_off for f in FEATURES})


def statistics_of(known: Known, group: Group) -> WindowStatistics:
    """Rows chosen per second and batch length of the group's stream, and its number of keys."""
    f = known.group(group)
    rate, keys, batch = max(f.rate.value * f.share.value, 1e-6), max(f.keys.value, 1), max(f.batch.value, 1)
    return WindowStatistics(rate=rounded(rate), keys=rounded(keys), batch=int(rounded(batch)))


def worth_replanning(plan: Plan, candidate: Plan, known: Known) -> frozenset[str]:
    """The queries for which another plan is clearly better by what plans are chosen by: each join by itself, those over windows together,
    since they share fragments."""
    now, then = (_join_costs(p, known) for p in (plan, candidate))
    joins = {name for name, nanos in now.items() if name in then and nanos > CLEAR_GAIN * then[name]}
    windowed = plan_cost(plan, known) > CLEAR_GAIN * plan_cost(candidate, known)
    return frozenset(joins | ({q.name for q in plan.windowed} if windowed else set()))


def _join_costs(plan: Plan, known: Known) -> dict[str, float]:
    """The predicted work of each join query, per second of stream: that of a pool in equal parts."""
    found: dict[str, float] = {}
    for join in (j for j in plan.joins if plan.users(j.id)):
        names = plan.queries_of(join.id)
        beside, made = join_estimate(plan, join, known)
        parts = len(names) if join.pool else 1
        found |= {name: found.get(name, 0.0) + (beside + made.nanos) / parts for name in names}
    return found


def join_estimate(plan: Plan, join: Join, known: Known) -> tuple[float, Estimate]:
    """What a join of a plan is expected to cost beside itself, in a pool, and by itself: by what it was planned by."""
    queries = [plan.query(name) for name in plan.queries_of(join.id)]
    early = tuple(plan.fragment(side).early for side in join.sides)
    if not join.pool:
        statistics, asked, beside = join_statistics(known, queries[0]), queries[0], 0.0
    else:
        statistics, asked, beside = (
            pool_statistics(known, queries),
            replace(widest(queries), every=join.asked.every),
            pool_cost(known, queries),
        )
    return beside, estimate(
        asked, early, join.evaluate, join.method, statistics, join_constants(), join.order
    )


def plan_cost(plan: Plan, known: Known) -> float:
    """The predicted cost per batch of all windows of a plan: together of what is made of the same rows, some of it kept for the rest."""
    forests: dict[str, list[Step]] = {}
    for node in plan.nodes:
        if plan.has_windows(node) and not node.window.session:
            forests.setdefault(node.id if isinstance(node, Fragment) else node.base, []).append(
                step_of(plan, node)
            )
    return sum(
        _forest_cost(plan.fragment(base), Forest(tuple(steps)), known) for base, steps in forests.items()
    )


def _forest_cost(lifted: Fragment, forest: Forest, known: Known) -> float:
    traits, statistics = Traits(holistic=lifted.holistic), statistics_of(known, lifted.group)
    return engine_cost(forest, traits, statistics, window_constants())


def step_of(plan: Plan, node: Fragment | Derived) -> Step:
    """The step of a forest that a node stands for."""
    if isinstance(node, Fragment):
        return Step(node.window)
    return Step(node.window, plan.node(node.parent).window, node.how, len(node.pieces), node.factor)


def _wished(config: Config) -> str:
    wishes = {
        "plan.early_aggregation": config.early_aggregation,
        "plan.evaluate": config.evaluate,
        "plan.join": config.join,
    }
    return " and ".join(f"with {k} = {v}" for k, v in wishes.items() if v != "best")


def _no_plan_hint(query: Query, config: Config) -> str:
    if query.attached and query.every is not None:
        return "outer, semi and anti joins are evaluated from rows at every instant: LAP and snapshot"
    if not may_evaluate(query, config.evaluate):
        others = [name for name in NAMES if may_evaluate(query, name)]
        return f"{config.evaluate} takes {EVALUATIONS[config.evaluate].takes}; use {' or '.join(others)}"
    if config.evaluate in EVALUATIONS and EVALUATIONS[config.evaluate].of_sets:
        sets = "".join("1" if i.is_stream else "0" for i in query.inputs)
        return f"{config.evaluate} is of windows that are aggregated early: use EAP{sets}"
    if config.join == "hash" and not may_hash(query):
        return "no column of one input is equated with one of another; use loop"
    return f"it has {len(query.inputs)} inputs: use LAP, or EAP with {len(query.inputs)} digits"
