"""The planner that settings ask for and statistics inform, and when to plan again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import cast

from thalweg.calibrated import join_constants
from thalweg.config import FEATURES, Config
from thalweg.errors import UsageError
from thalweg.logical.join import JoinQuery
from thalweg.logical.windows import Window
from thalweg.optimizer.cost.join_engine import distinct, estimate
from thalweg.optimizer.cost.steps import engine_cost
from thalweg.optimizer.forest import Forest, Step
from thalweg.optimizer.join_plans import Considered, JoinChoice, Wish, consider, may_evaluate
from thalweg.optimizer.plan_windows import Mode, plan_windows
from thalweg.optimizer.statistics import InputStatistics, JoinStatistics, WindowStatistics
from thalweg.optimizer.traits import Features, Traits
from thalweg.plan.build import Group
from thalweg.plan.join_sides import sides_of
from thalweg.plan.nodes import Fragment, Plan, Side
from thalweg.state.manifest import Manifest, Seen

# What a stream is taken for before anything of it was seen.
ASSUMED = WindowStatistics(rate=1_000, keys=100, batch=60_000_000)
ASSUMED_SETS = 1_000.0
ASSUMED_GROUPS = 50.0
CLEAR_GAIN = 1.25
Counts = Sequence[tuple[float, ...]]


@dataclass(frozen=True)
class WindowPlanner:
    """Plans each group's windows in the mode that is set, by the statistics of the running stream."""

    config: Config
    seen: Seen | None = None

    def statistics(self, group: Group) -> WindowStatistics:
        """What is known of a group, or what is assumed."""
        return statistics_of(self.seen, group)

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
            query, join_statistics(self.seen, query), Wish(c.early_aggregation, c.evaluate, c.join, c.invalidate), join_constants()
        )
        if not found:
            raise UsageError(f"query {query.name} has no plan {_wished(c)}", _no_plan_hint(query, c))
        return found

    def cost(self, group: Group, forest: Forest, traits: Traits) -> float:
        """What a plan costs per batch, in hash-aggregate updates."""
        return engine_cost(forest, traits, self.statistics(group))


def planner_for(config: Config, manifest: Manifest | None = None) -> WindowPlanner:
    """The planner of a configuration with what a manifest knows."""
    return WindowPlanner(config, manifest.seen if manifest is not None else None)


@cache
def _forest(windows: tuple[Window, ...], traits: Traits, mode: Mode, statistics: WindowStatistics, features: Features) -> Forest:
    return plan_windows(windows, traits, mode, statistics, features)


def features_of(config: Config) -> Features:
    """What the mode `best` may use."""
    return Features(**{f: f not in config.features_off for f in FEATURES})


def statistics_of(seen: Seen | None, group: Group) -> WindowStatistics:
    """Rate and batch length of the group's stream, and its number of keys, as far as they were seen."""
    if seen is None:
        return ASSUMED
    rate, batch = seen.streams.get(group.stream, (ASSUMED.rate, ASSUMED.batch))
    keys = seen.keys.get(group_name(group), ASSUMED.keys)
    return WindowStatistics(rate=_rounded(max(rate, 1e-6)), keys=_rounded(max(keys, 1)), batch=int(_rounded(max(batch, 1))))


def _rounded(value: float) -> float:
    """To two digits, so that small changes make no other plan."""
    return float(f"{value:.1e}")


def group_name(group: Group) -> str:
    """A group as a key of statistics."""
    return "|".join([group.stream, " AND ".join(group.where), ", ".join(group.keys)])


def worth_replanning(plan: Plan, candidate: Plan, seen: Seen) -> bool:
    """Whether another plan is clearly better by what was seen of the stream."""
    return plan_cost(plan, seen) > CLEAR_GAIN * plan_cost(candidate, seen) or _joins_cost(plan, seen) > CLEAR_GAIN * _joins_cost(
        candidate, seen
    )


def _joins_cost(plan: Plan, seen: Seen) -> float:
    """The predicted work of all joins of a plan, per second of stream."""
    total = 0.0
    for join in plan.joins:
        query = plan.join_query(join.query)
        early = tuple(plan.side(s).early for s in join.sides)
        total += estimate(query, early, join.evaluate, join.method, join_statistics(seen, query), join_constants()).nanos
    return total


def plan_cost(plan: Plan, seen: Seen) -> float:
    """The predicted cost per batch of all fragments of a plan."""
    return sum(fragment_cost(plan, f, statistics_of(seen, Group(f.stream, f.where, f.keys))) for f in plan.fragments)


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
    counted = {name: _counted(counts) for name, counts in (sides or {}).items()}
    return Seen(streams, groups, {**before.sides, **counted})


def _counted(counts: Counts) -> tuple[float, float, float]:
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
    if rows <= 0 or values <= 0:
        return 1.0
    low, high = values, rows * 1e3
    if distinct(rows, high) <= values:
        return high
    for _ in range(60):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if distinct(rows, middle) < values else (low, middle)
    return low


def join_statistics(seen: Seen | None, query: JoinQuery) -> JoinStatistics:
    """What is known of a join's inputs, or what is assumed of them."""
    known = seen or Seen()
    sides = sides_of(query, (True,) * len(query.inputs))
    inputs = tuple(_input_statistics(known, side) for side in sides)
    spans = [known.streams[s][1] for s in query.streams if s in known.streams]
    groups = known.keys.get(f"join|{query.name}", ASSUMED_GROUPS if query.keys else 1.0)
    return JoinStatistics(inputs, _rounded(max(groups, 1)), _rounded(max(spans, default=float(ASSUMED.batch))))


def _input_statistics(seen: Seen, side: Side) -> InputStatistics:
    rows, sets, keys = seen.sides.get(side_name(side), (None, ASSUMED_SETS, ASSUMED_SETS))
    if side.static:
        return InputStatistics(0.0, _rounded(sets), _rounded(keys), _rounded(rows or ASSUMED_SETS))
    rate = seen.streams.get(side.source, (float(ASSUMED.rate), 0.0))[0]
    return InputStatistics(_rounded(max(rate * (1.0 if rows is None else rows), 1e-6)), _rounded(sets), _rounded(keys))


def side_name(side: Side) -> str:
    """A side as a key of statistics, whatever plan it is of."""
    return "|".join([side.source, " AND ".join(side.where), ", ".join(side.columns), str(side.required)])


def _wished(config: Config) -> str:
    wishes = {"plan.early_aggregation": config.early_aggregation, "plan.evaluate": config.evaluate, "plan.join": config.join}
    return " and ".join(f"with {k} = {v}" for k, v in wishes.items() if v != "best")


def _no_plan_hint(query: JoinQuery, config: Config) -> str:
    if not may_evaluate(query, config.evaluate):
        return "delta takes COUNT, SUM and AVG of exact numbers; use snapshot or expiry"
    return f"it has {len(query.inputs)} inputs: use LAP, or EAP with {len(query.inputs)} digits"
