"""What the modes would cost for a group of windows, to the engine and by the paper, and a join by the early-aggregation paper."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from thalweg.explain.model import KnownStatistics, ModeCosts
from thalweg.model.query import Query, QueryInput
from thalweg.model.windows import Window
from thalweg.optimizer.cost.early_aggregation import HASH, NESTED_LOOP, Stream
from thalweg.optimizer.cost.early_aggregation import costs as early_costs
from thalweg.optimizer.cost.steps import StepEstimate
from thalweg.optimizer.cost.windows import period
from thalweg.optimizer.forest import Forest, Step
from thalweg.optimizer.groups import Kind
from thalweg.optimizer.plan_windows import COSTED, MODES, costs, factors, paper_cost, unit_cost
from thalweg.optimizer.planner import WindowPlanner, features_of
from thalweg.optimizer.units import Scale, counting_unit
from thalweg.plan.groups import Group
from thalweg.statistics.records import InputStatistics, JoinStatistics

SECOND = 1e6
ENDLESS = 3_600.0
"""The least seconds that a window without end is taken for; it is at least a hundred instants."""


def mode_costs(
    group: Group, kind: Kind, planner: WindowPlanner, expected: Collection[StepEstimate]
) -> ModeCosts:
    """The costs of all modes beside that of the steps in force. Sessions are made in one way, of which the paper says nothing."""
    unit, size = _counted_in(kind)
    if kind.sessions:
        cost = sum(e.cost for e in expected)
        every: dict[str, float] = dict.fromkeys(MODES, cost)
        none: dict[str, int | float] = dict.fromkeys(MODES, 0)
        return ModeCosts(unit, size, 0, dict.fromkeys(COSTED, 0), every, (), cost, MODES, none, none, 0, 0)
    known, current = planner.statistics(group), Forest(tuple(e.step for e in expected))
    forests = {mode: forest_of(mode, group, kind, planner) for mode in MODES}
    return ModeCosts(
        unit=unit,
        size=size,
        period=period(map(Scale(size).down, kind.windows)),
        paper={str(m): c for m, c in costs(kind.windows, kind.traits, features_of(planner.config)).items()},
        engine={mode: planner.cost(group, forest, kind.traits) for mode, forest in forests.items()},
        factors=factors(kind.windows, kind.traits),
        current=sum(e.cost for e in expected),
        same=tuple(
            mode for mode, forest in forests.items() if _meaning(forest) == _meaning(e.step for e in expected)
        ),
        made={mode: unit_cost(forest, kind.windows) for mode, forest in forests.items()},
        rated={mode: paper_cost(forest, kind.windows, known) for mode, forest in forests.items()},
        current_made=unit_cost(current, kind.windows),
        current_rated=paper_cost(current, kind.windows, known),
    )


def _counted_in(kind: Kind) -> tuple[str, int]:
    if kind.sessions:
        return counting_unit(Window(w.range, w.range) for w in kind.windows)
    return counting_unit(kind.windows)


def forest_of(mode: str, group: Group, kind: Kind, planner: WindowPlanner) -> Forest:
    """The plan that a mode makes under the planner's statistics."""
    return replace(planner, config=replace(planner.config, windows=mode)).forest(
        group, kind.windows, kind.traits
    )


def known_statistics(group: Group, planner: WindowPlanner) -> KnownStatistics:
    """The planner's statistics of a group, and where they come from."""
    return KnownStatistics(planner.statistics(group), planner.known.group(group))


def _meaning(steps: Iterable[Step]) -> frozenset[Step]:
    """Steps but for who asks for them."""
    return frozenset(replace(s, factor=False) for s in steps)


def paper_costs(query: Query, statistics: JoinStatistics, method: str) -> dict[str, float]:
    """The cost of LAP and of each EAP by the paper's formulas, cheapest first; nothing where the joined rows are the result."""
    if query.every is None:
        return {}
    equated = {t.inputs[0] for e in query.equalities for t in (e.left, e.right)}
    endless, pairs = (
        max(ENDLESS, 100 * query.every / SECOND),
        zip(query.inputs, statistics.inputs, strict=True),
    )
    streams = [_stream(given, known, n in equated, endless) for n, (given, known) in enumerate(pairs)]
    found = early_costs(streams, join=NESTED_LOOP if method == "loop" else HASH)
    return dict(sorted(found.items(), key=lambda c: c[1]))


def _stream(given: QueryInput, known: InputStatistics, equated: bool, endless: float) -> Stream:
    """Table 2 of the paper: sigma is one in the values of what is equated, and g so that g / sigma are the distinct sets."""
    keys = max(known.keys, 1.0) if equated else 1.0
    length = endless if given.length is None else given.length / SECOND
    w = known.rate * length if given.is_stream else known.rows
    return Stream(known.rate, w, max(known.sets / keys, 1.0), 1 / keys)
