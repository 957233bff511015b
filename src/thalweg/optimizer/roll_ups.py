"""Which partial aggregates are made of those by more columns, where that costs less than to make them of the rows."""

from __future__ import annotations

from dataclasses import replace

from thalweg.compile.roll_up import rolls_up
from thalweg.model.windows import SECOND
from thalweg.optimizer.cost.steps import StepEstimate, distinct_keys
from thalweg.plan.nodes import Fragment, Plan
from thalweg.statistics.constants import window_constants
from thalweg.statistics.known import Known
from thalweg.statistics.records import WindowStatistics


def rolled_up(plan: Plan, known: Known, wish: str) -> Plan:
    """A plan in which fragments begin with others: where that is expected to cost less (`best`), wherever they can (`all`), or nowhere (`off`).

    What one is made of has more columns than it, so there are no circles; it may itself be made of a third.
    """
    found = tuple(replace(f, rolled=_source(f, plan, known, wish)) for f in plan.fragments)
    return plan if found == plan.fragments else replace(plan, fragments=found)


def _source(coarse: Fragment, plan: Plan, known: Known, wish: str) -> str:
    if wish == "off":
        return ""
    fine = [(made_rows(f, known), f.id) for f in plan.fragments if rolls_up(f, coarse)]
    if wish == "best":
        fine = [(rows, id) for rows, id in fine if pays(rows, coarse, known)]
    return min(fine, default=(0.0, ""))[1]


def made_rows(fine: Fragment, known: Known) -> float:
    """The rows of partial aggregates that a batch is expected to make: keys and instances."""
    statistics, w = _statistics(fine, known), fine.window
    each = distinct_keys(statistics, min(statistics.batch, w.range))
    return min(taken_rows(fine, known) * w.range / w.slide, (statistics.batch + w.range) / w.slide * each)


def taken_rows(fragment: Fragment, known: Known) -> float:
    """The rows of a batch that a fragment is made of."""
    statistics = _statistics(fragment, known)
    return statistics.rate * statistics.batch / SECOND


def pays(rows: float, coarse: Fragment, known: Known) -> bool:
    """Whether so many rows of partial aggregates are combined at less than what the rows cost that they stand for. Values that an aggregate
    keeps are moved once more for nothing."""
    constants = window_constants()
    return not coarse.holistic and constants.combine * rows < constants.row * taken_rows(coarse, known)


def rolled_estimate(estimate: StepEstimate, fine: Fragment, known: Known) -> StepEstimate:
    """What a step that would read rows is expected to do where it begins with what was made of them."""
    constants, rows = window_constants(), made_rows(fine, known)
    cost = estimate.cost - constants.row * estimate.rows_in + constants.combine * rows
    return replace(estimate, rows_in=rows, cost=max(cost, 0.0))


def _statistics(fragment: Fragment, known: Known) -> WindowStatistics:
    found = known.group(fragment.group)
    return WindowStatistics(
        rate=max(found.rate.value * found.share.value, 1e-6),
        keys=max(found.keys.value, 1),
        batch=int(max(found.batch.value, 1)),
    )
