"""The planner that settings ask for and statistics inform, and when to plan again."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache
from typing import cast

from thalweg.config import FEATURES, Config
from thalweg.logical.windows import Window
from thalweg.optimizer.cost.steps import engine_cost
from thalweg.optimizer.forest import Forest, Step
from thalweg.optimizer.plan_windows import Mode, plan_windows
from thalweg.optimizer.statistics import WindowStatistics
from thalweg.optimizer.traits import Features, Traits
from thalweg.plan.build import Group
from thalweg.plan.nodes import Fragment, Plan
from thalweg.state.manifest import Manifest, Seen

# What a stream is taken for before anything of it was seen.
ASSUMED = WindowStatistics(rate=1_000, keys=100, batch=60_000_000)
CLEAR_GAIN = 1.25


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
    return plan_cost(plan, seen) > CLEAR_GAIN * plan_cost(candidate, seen)


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


def learned(before: Seen, spans: Iterable[tuple[str, int, int]], keys: Iterable[tuple[str, float]]) -> Seen:
    """What is known after a batch: (stream, rows, microseconds of event time) and (group, keys per slot), half old, half new."""
    streams, groups = dict(before.streams), dict(before.keys)
    for stream, rows, micros in spans:
        if rows > 0 and micros > 0:
            rate, batch = rows * 1e6 / micros, float(micros)
            old = streams.get(stream, (rate, batch))
            streams[stream] = ((old[0] + rate) / 2, (old[1] + batch) / 2)
    for group, count in keys:
        groups[group] = (groups.get(group, count) + count) / 2
    return Seen(streams, groups)
