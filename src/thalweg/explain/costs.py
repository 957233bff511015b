"""What the four modes would cost for a group of windows, by the paper and to the engine."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from thalweg.explain.model import KnownStatistics, ModeCosts
from thalweg.optimizer.cost.steps import StepEstimate
from thalweg.optimizer.cost.windows import period
from thalweg.optimizer.forest import Forest, Step
from thalweg.optimizer.plan_windows import MODES, costs, factors
from thalweg.optimizer.units import counting_unit, in_units
from thalweg.plan.build import Group, Kind
from thalweg.planning import WindowPlanner, features_of


def mode_costs(group: Group, kind: Kind, planner: WindowPlanner, expected: Collection[StepEstimate]) -> ModeCosts:
    """The costs of all modes beside that of the steps in force."""
    unit, size = counting_unit(kind.windows)
    forests = {mode: forest_of(mode, group, kind, planner) for mode in MODES}
    return ModeCosts(
        unit=unit,
        size=size,
        period=period(in_units(w, size) for w in kind.windows),
        paper={str(m): c for m, c in costs(kind.windows, kind.traits, features_of(planner.config)).items()},
        engine={mode: planner.cost(group, forest, kind.traits) for mode, forest in forests.items()},
        factors=factors(kind.windows, kind.traits),
        current=sum(e.cost for e in expected),
        same=tuple(mode for mode, forest in forests.items() if _meaning(forest) == _meaning(e.step for e in expected)),
    )


def forest_of(mode: str, group: Group, kind: Kind, planner: WindowPlanner) -> Forest:
    """The plan that a mode makes under the planner's statistics."""
    return replace(planner, config=replace(planner.config, windows=mode)).forest(group, kind.windows, kind.traits)


def known_statistics(group: Group, planner: WindowPlanner) -> KnownStatistics:
    """The planner's statistics of a group, and where they come from."""
    return KnownStatistics(planner.statistics(group), planner.known.group(group))


def _meaning(steps: Iterable[Step]) -> frozenset[Step]:
    """Steps but for who asks for them."""
    return frozenset(replace(s, factor=False) for s in steps)
