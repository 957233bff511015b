"""From a window set to a forest: the window optimizer's front door."""

from __future__ import annotations

from collections.abc import Callable, Collection
from fractions import Fraction
from typing import Literal, get_args

from thalweg.model.windows import SECOND, Window
from thalweg.optimizer.cost.calibration import Constants
from thalweg.optimizer.cost.edges import Edges, priced
from thalweg.optimizer.cost.steps import beside_steps, compresses, engine_weights, keeping
from thalweg.optimizer.cost.windows import forest_cost, paper_weights, period
from thalweg.optimizer.coverage import covered_by, partitioned_by
from thalweg.optimizer.forest import Forest, Step, in_time
from thalweg.optimizer.rules.best_forest import best_forest
from thalweg.optimizer.rules.flatten import flatten
from thalweg.optimizer.rules.min_cost_graph import min_cost_graph
from thalweg.optimizer.rules.min_cost_graph_with_factors import min_cost_graph_with_factors
from thalweg.optimizer.slices import sliced
from thalweg.optimizer.traits import Features, Traits
from thalweg.optimizer.units import Scale, counting_unit, scale_of
from thalweg.optimizer.window_graph import window_coverage_graph
from thalweg.statistics.records import WindowStatistics

Mode = Literal["naive", "shared", "paper", "best", "slices"]
MODES: tuple[Mode, ...] = get_args(Mode)
COSTED: tuple[Mode, ...] = ("naive", "shared", "paper", "best")
"""The modes of which each costs no more than the one before it, by the paper."""


def plan_windows(
    windows: Collection[Window],
    traits: Traits,
    mode: Mode = "best",
    statistics: WindowStatistics | None = None,
    enabled: Features | None = None,
    constants: Constants | None = None,
) -> Forest:
    """How to compute a set of windows: `naive` from the rows, `shared` by algorithm 1, `paper` by algorithm 3, `slices` from what lies between
    all edges, or `best`, the least of all plans that are known: by what the engine pays per batch, or with no statistics by the paper's cost.

    The event rate of the paper is that of the statistics, or with none one event in a unit.

    >>> minutes = [Window(m * 60_000_000, m * 60_000_000) for m in (20, 30, 40)]
    >>> [f"{s.window} from {s.source or 'rows'}" for s in plan_windows(minutes, Traits(overlap_safe=True), "paper")]
    ['10 minutes from rows', '20 minutes from 10 minutes', '30 minutes from 10 minutes', '40 minutes from 20 minutes']
    """
    if mode not in MODES:
        raise ValueError(f"no mode {mode!r} among {', '.join(MODES)}")
    scale = scale_of(windows)
    asked = frozenset(map(scale.down, windows))
    if mode == "best":
        return in_time(
            _best(asked, traits, scale, statistics, enabled or Features(), constants or Constants()), scale
        )
    if mode == "slices":
        return sliced(windows)
    return in_time(_PLANS[mode](asked, traits, event_rate(scale, statistics)), scale)


def event_rate(scale: Scale, statistics: WindowStatistics | None) -> Fraction:
    """The paper's eta: events in a unit, as they are known to come, or one in the unit that ranges and slides have in common."""
    if statistics is None:
        return scale.rate
    return Fraction(statistics.rate).limit_denominator(1_000_000) * scale.size / SECOND


def unit_cost(forest: Forest, windows: Collection[Window]) -> int | float:
    """What the paper says a plan of some windows costs in a period R, at one event in the unit that ranges and slides have in common."""
    return _number(forest_cost(forest, Fraction(1, counting_unit(windows)[1]), period(windows)))


def paper_cost(forest: Forest, windows: Collection[Window], statistics: WindowStatistics) -> int | float:
    """What the paper says a plan of some windows costs in a period R, at the rate at which events are known to come.

    >>> minutes = [Window(m * 60_000_000, m * 60_000_000) for m in (1, 5)]
    >>> known = WindowStatistics(rate=10, keys=1, batch=60_000_000)
    >>> [paper_cost(plan_windows(minutes, Traits(), mode, known), minutes, known) for mode in ("naive", "shared")]
    [6000, 3005]
    """
    return _number(forest_cost(forest, event_rate(Scale(1), statistics), period(windows)))


def costs(
    windows: Collection[Window], traits: Traits, enabled: Features | None = None
) -> dict[Mode, int | float]:
    """The paper's cost of the plan of each mode: events per period R at one event per time unit.

    >>> seconds = [Window(s * 1_000_000, s * 1_000_000) for s in (10, 20, 30, 40)]
    >>> costs(seconds, Traits(overlap_safe=True))
    {'naive': 480, 'shared': 150, 'paper': 150, 'best': 150}
    """
    scale = scale_of(windows)
    asked = frozenset(map(scale.down, windows))
    plans = {mode: plan(asked, traits, scale.rate) for mode, plan in _PLANS.items()}
    plans["best"] = _best(asked, traits, scale, None, enabled or Features(), Constants())
    return {mode: _number(forest_cost(plan, scale.rate)) for mode, plan in plans.items()}


def factors(windows: Collection[Window], traits: Traits) -> tuple[tuple[int | float, int | float], ...]:
    """The factor windows of the paper's plan as (range, slide) in the time unit.

    >>> factors([Window(s * 1_000_000, s * 1_000_000) for s in (20, 30, 40)], Traits(overlap_safe=True))
    ((10, 10),)
    """
    scale = scale_of(windows)
    found = _paper(frozenset(map(scale.down, windows)), traits, scale.rate).factors
    return tuple((_number(w.range * scale.rate), _number(w.slide * scale.rate)) for w in found)


def _naive(asked: frozenset[Window], traits: Traits, rate: Fraction) -> Forest:
    return Forest(tuple(Step(w) for w in sorted(asked)))


def _shared(asked: frozenset[Window], traits: Traits, rate: Fraction) -> Forest:
    """Algorithm 1; a holistic aggregate is computed from the rows, as in the paper.

    With offsets so much finer than windows that there is less than one event in a unit, rows may be fewer than what is shared.
    """
    naive = _naive(asked, traits, rate)
    if traits.holistic:
        return naive
    shared = min_cost_graph(
        window_coverage_graph(asked, covered_by if traits.overlap_safe else partitioned_by), asked, rate
    )
    return min(shared, naive, key=lambda plan: forest_cost(plan, rate))


def _paper(asked: frozenset[Window], traits: Traits, rate: Fraction) -> Forest:
    """Algorithm 3, or algorithm 1 where that is cheaper.

    A factor window is inserted for what all its downstream windows would save. Where most of them then find a better source
    still, it costs more than it saves (1 % and less on sets of RandomGen).
    """
    shared = _shared(asked, traits, rate)
    if traits.holistic:
        return shared
    found = min_cost_graph_with_factors(
        asked, covered_by if traits.overlap_safe else partitioned_by, max(rate, Fraction(1))
    )
    return min(found, shared, key=lambda plan: forest_cost(plan, rate))


_PLANS: dict[Mode, Callable[[frozenset[Window], Traits, Fraction], Forest]] = {
    "naive": _naive,
    "shared": _shared,
    "paper": _paper,
}


def _best(
    asked: frozenset[Window],
    traits: Traits,
    scale: Scale,
    statistics: WindowStatistics | None,
    enabled: Features,
    constants: Constants,
) -> Forest:
    if not asked:
        return Forest(())
    edges, size = Edges(traits, enabled), scale.size
    plans = [plan(asked, traits, event_rate(scale, statistics)) for plan in _PLANS.values()]
    seed = plans[-1].factors
    if statistics is None:
        finest = min(constants.finest * min(w.slide for w in asked), constants.narrowest / size)
        weights = paper_weights(period(asked), traits, float(scale.rate))
        plans.append(best_forest(asked, weights, lambda f: f.slide >= finest, edges, seed))
        return min(plans, key=lambda plan: forest_cost(plan, scale.rate))
    weigh = engine_weights(statistics, constants, traits, size)
    plans.append(best_forest(asked, weigh, lambda f: compresses(f, statistics, constants, size), edges, seed))
    keep = keeping(statistics, constants, size)
    plans = [*plans, *(flatten(plan, weigh, edges, constants.opened, keep) for plan in plans)]
    plans += [sliced(asked)] if enabled.slots else []
    return min(
        plans,
        key=lambda plan: (
            sum(priced(step, weigh) for step in plan) + beside_steps(plan, statistics, constants, size)
        ),
    )


def _number(cost: Fraction) -> int | float:
    """A cost as JSON holds it; beyond the precision of a float, as the nearest whole number."""
    return round(cost) if cost.denominator == 1 or cost > 1 << 53 else float(cost)
