"""The planner that settings ask for and statistics inform, and when to plan again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

from thalweg.calibrated import join_constants
from thalweg.config import FEATURES, Config
from thalweg.errors import UsageError
from thalweg.known import InputFigures, Known, Sampled
from thalweg.known import group_name as group_name
from thalweg.known import side_name as side_name
from thalweg.logical.join import JoinQuery
from thalweg.logical.stream import Relation, Stream
from thalweg.logical.windows import Window
from thalweg.optimizer.cost.join_engine import distinct, estimate
from thalweg.optimizer.cost.steps import engine_cost
from thalweg.optimizer.forest import Forest, Step
from thalweg.optimizer.join_plans import Considered, JoinChoice, Wish, consider, may_evaluate, may_hash
from thalweg.optimizer.plan_windows import Mode, plan_windows
from thalweg.optimizer.statistics import InputStatistics, JoinStatistics, WindowStatistics
from thalweg.optimizer.traits import Features, Traits
from thalweg.plan.build import Group
from thalweg.plan.join_sides import sides_of
from thalweg.plan.nodes import Fragment, Plan
from thalweg.state.manifest import Manifest, Seen

CLEAR_GAIN = 1.25
Counts = Sequence[tuple[float, ...]]


@dataclass(frozen=True)
class WindowPlanner:
    """Plans each group's windows in the mode that is set, by what is known of the streams and tables."""

    config: Config
    seen: Seen | None = None
    streams: tuple[Stream, ...] = ()
    relations: tuple[Relation, ...] = ()
    sampled: Sampled = field(default_factory=Sampled)

    @property
    def known(self) -> Known:
        """What plans are chosen by."""
        return Known(self.seen or Seen(), self.streams, self.relations, self.sampled)

    def statistics(self, group: Group) -> WindowStatistics:
        """What is known of a group, or what is assumed."""
        return statistics_of(self.known, group)

    def forest(self, group: Group, windows: Collection[Window], traits: Traits) -> Forest:
        """The plan of the windows of a group."""
        return _forest(tuple(sorted(windows)), traits, cast(Mode, self.config.windows), self.statistics(group), features_of(self.config))

    def join(self, query: JoinQuery) -> JoinChoice:
        """The plan of a join query."""
        return self.considered(query)[0].choice

    def considered(self, query: JoinQuery) -> tuple[Considered, ...]:
        """The plans of a join query that the settings leave open, cheapest first."""
        c = self.config
        found = consider(
            query, join_statistics(self.known, query), Wish(c.early_aggregation, c.evaluate, c.join, c.invalidate), join_constants()
        )
        if not found:
            raise UsageError(f"query {query.name} has no plan {_wished(c)}", _no_plan_hint(query, c))
        return found

    def cost(self, group: Group, forest: Forest, traits: Traits) -> float:
        """What a plan costs per batch, in hash-aggregate updates."""
        return engine_cost(forest, traits, self.statistics(group))


class LatePlanner:
    """The planner of the moment: settings and statistics change while the runner lives."""

    def __init__(self, current: Callable[[], WindowPlanner]) -> None:
        self._current = current

    def forest(self, *args: Any) -> Any:
        """Plan as things are now."""
        return self._current().forest(*args)

    def cost(self, *args: Any) -> float:
        """Cost as things are now."""
        return self._current().cost(*args)

    def join(self, query: Any) -> Any:
        """Plan a join as things are now."""
        return self._current().join(query)


def planner_for(
    config: Config,
    manifest: Manifest | None = None,
    streams: Iterable[Stream] = (),
    relations: Iterable[Relation] = (),
    sampled: Sampled | None = None,
) -> WindowPlanner:
    """The planner of a configuration with what a manifest knows, what is declared, and what was sampled."""
    return WindowPlanner(config, manifest.seen if manifest is not None else None, tuple(streams), tuple(relations), sampled or Sampled())


@cache
def _forest(windows: tuple[Window, ...], traits: Traits, mode: Mode, statistics: WindowStatistics, features: Features) -> Forest:
    return plan_windows(windows, traits, mode, statistics, features)


def features_of(config: Config) -> Features:
    """What the mode `best` may use."""
    return Features(**{f: f not in config.features_off for f in FEATURES})


def statistics_of(known: Known, group: Group) -> WindowStatistics:
    """Rows chosen per second and batch length of the group's stream, and its number of keys."""
    f = known.group(group)
    rate, keys, batch = max(f.rate.value * f.share.value, 1e-6), max(f.keys.value, 1), max(f.batch.value, 1)
    return WindowStatistics(rate=_rounded(rate), keys=_rounded(keys), batch=int(_rounded(batch)))


def _rounded(value: float) -> float:
    """To two digits, so that small changes make no other plan."""
    return float(f"{value:.1e}")


def worth_replanning(plan: Plan, candidate: Plan, seen: Seen) -> frozenset[str]:
    """The queries for which another plan is clearly better by what was seen of the streams, and what is declared: each join by itself,
    those over windows together, since they share fragments."""
    known = Known(seen, plan.streams, plan.relations)
    joins = {j.query for j in plan.joins if _join_cost(plan, j.query, known) > CLEAR_GAIN * _join_cost(candidate, j.query, known)}
    windowed = plan_cost(plan, known) > CLEAR_GAIN * plan_cost(candidate, known)
    return frozenset(joins | ({q.name for q in plan.windowed} if windowed else set()))


def _join_cost(plan: Plan, name: str, known: Known) -> float:
    """The predicted work of a join query, per second of stream."""
    query, statistics = plan.join_query(name), join_statistics(known, plan.join_query(name))
    running = [j for j in plan.joins if j.query == name]
    early = [tuple(plan.side(s).early for s in j.sides) for j in running]
    return sum(estimate(query, e, j.evaluate, j.method, statistics, join_constants()).nanos for j, e in zip(running, early, strict=True))


def plan_cost(plan: Plan, known: Known) -> float:
    """The predicted cost per batch of all fragments of a plan."""
    return sum(fragment_cost(plan, f, statistics_of(known, Group(f.stream, f.where, f.keys))) for f in plan.fragments)


def fragment_cost(plan: Plan, fragment: Fragment, statistics: WindowStatistics) -> float:
    """The predicted cost of one fragment."""
    step = step_of(plan, fragment)
    return engine_cost(Forest((step,)), Traits(holistic=fragment.holistic), statistics)


def step_of(plan: Plan, fragment: Fragment) -> Step:
    """The step of a forest that a fragment stands for."""
    source = plan.fragment(fragment.source).window if fragment.source else None
    return Step(fragment.window, source, fragment.how, 2 if fragment.how == "prefix" else len(fragment.pieces), fragment.factor)


def learned(
    before: Seen, spans: Iterable[tuple[str, int, int]], keys: Iterable[tuple[str, float]], sides: Mapping[str, Counts] | None = None
) -> Seen:
    """What is known after a batch: (stream, rows, microseconds of event time) and (group, keys per slot), half old, half new.

    `sides` are counts of distinct values, of which the last are the best known.
    """
    streams, groups = dict(before.streams), dict(before.keys)
    for stream, rows, micros in spans:
        if rows > 0 and micros > 0:
            rate, batch = rows * 1e6 / micros, float(micros)
            old = streams.get(stream, (rate, batch))
            streams[stream] = ((old[0] + rate) / 2, (old[1] + batch) / 2)
    for group, count in keys:
        groups[group] = (groups.get(group, count) + count) / 2
    looked = {name: counted(counts) for name, counts in (sides or {}).items()}
    return Seen(streams, groups, {**before.sides, **looked})


def counted(counts: Counts) -> tuple[float, float, float]:
    """The share of rows that were chosen, and the distinct values there are, from (rows, chosen, values, keys) of each task."""
    rows, chosen = sum(c[0] for c in counts), sum(c[1] for c in counts)
    largest = max(counts, key=lambda c: c[1])
    share = chosen / rows if rows else 1.0
    return share, population(largest[1], largest[2]), population(largest[1], largest[3])


def population(rows: float, values: float) -> float:
    """How many values there are, if so many rows had so many distinct ones: the inverse of `distinct`.

    >>> round(population(1000, distinct(1000, 500)))
    500
    """
    if rows <= 0 or values <= 1:
        return 1.0
    low, high = values, rows * 1e3
    if distinct(rows, high) <= values:
        return high
    for _ in range(60):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if distinct(rows, middle) < values else (low, middle)
    return low


def join_statistics(known: Known, query: JoinQuery) -> JoinStatistics:
    """What is known of a join's inputs, or what is assumed of them."""
    inputs = tuple(input_statistics(known.input(side), side.static) for side in sides_of(query, (True,) * len(query.inputs)))
    groups, batch = known.groups(query).value, known.batch(query.streams).value
    return JoinStatistics(inputs, _rounded(max(groups, 1)), _rounded(batch))


def input_statistics(figures: InputFigures, static: bool) -> InputStatistics:
    """An input of a join after its conditions."""
    sets, keys, chosen = _rounded(figures.sets.value), _rounded(figures.keys.value), figures.rows.value * figures.share.value
    if static:
        return InputStatistics(0.0, sets, keys, _rounded(max(chosen, 1)))
    return InputStatistics(_rounded(max(chosen, 1e-6)), sets, keys)


def _wished(config: Config) -> str:
    wishes = {"plan.early_aggregation": config.early_aggregation, "plan.evaluate": config.evaluate, "plan.join": config.join}
    return " and ".join(f"with {k} = {v}" for k, v in wishes.items() if v != "best")


def _no_plan_hint(query: JoinQuery, config: Config) -> str:
    if not may_evaluate(query, config.evaluate):
        return "delta takes COUNT, SUM and AVG of exact numbers; use snapshot or expiry"
    if config.join == "hash" and not may_hash(query):
        return "no column of one input is equated with one of another; use loop"
    return f"it has {len(query.inputs)} inputs: use LAP, or EAP with {len(query.inputs)} digits"
