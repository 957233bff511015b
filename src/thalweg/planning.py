"""The planner that settings and statistics ask for."""

from __future__ import annotations

from collections.abc import Collection

from thalweg.config import FEATURES, Config
from thalweg.logical.windows import Window
from thalweg.optimizer.forest import Forest
from thalweg.optimizer.plan_windows import plan_windows
from thalweg.optimizer.statistics import WindowStatistics
from thalweg.optimizer.traits import Features, Traits
from thalweg.plan.build import Group, Planner
from thalweg.state.manifest import Manifest

# What a stream is taken for before anything of it was seen.
ASSUMED = WindowStatistics(rate=1_000, keys=100, batch=60_000_000)


def planner_for(config: Config, manifest: Manifest | None) -> Planner:
    """Plan each group's windows in the mode that is set."""

    def plan(group: Group, windows: Collection[Window], traits: Traits) -> Forest:
        return plan_windows(windows, traits, config.windows, ASSUMED, features_of(config))

    return plan


def features_of(config: Config) -> Features:
    """What the mode `best` may use."""
    return Features(**{f: f not in config.features_off for f in FEATURES})
