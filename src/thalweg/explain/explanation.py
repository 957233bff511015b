"""The front door of EXPLAIN: a plan in all the forms that it can be read in."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from thalweg.explain.data import plan_data
from thalweg.explain.groups import part_of, window_groups
from thalweg.explain.join_sources import join_views
from thalweg.explain.measured import times_of
from thalweg.explain.mermaid import flowchart
from thalweg.explain.model import PlanView, Result
from thalweg.explain.svg import picture
from thalweg.explain.text import plan_text
from thalweg.plan.compile import bundled, emission_steps, inline
from thalweg.plan.nodes import Plan
from thalweg.planning import WindowPlanner
from thalweg.state.manifest import Manifest


@dataclass(frozen=True)
class Explanation:
    """A plan for people (`str`), for programs (`data`, `json`) and as a picture (`svg`, `mermaid`)."""

    view: PlanView

    def __str__(self) -> str:
        return self.text

    @cached_property
    def text(self) -> str:
        """The plan for a terminal."""
        return plan_text(self.view)

    @cached_property
    def verbose(self) -> str:
        """The plan with the SQL of every step."""
        return plan_text(self.view, verbose=True)

    @cached_property
    def data(self) -> dict[str, Any]:
        """The plan as plain values."""
        return plan_data(self.view)

    def json(self) -> str:
        """The plan as JSON."""
        return json.dumps(self.data, indent=2)

    def svg(self) -> str:
        """The plan as a picture."""
        return picture(self.view)

    def mermaid(self) -> str:
        """The plan as a Mermaid flowchart."""
        return flowchart(self.view)


def explain(plan: Plan, planner: WindowPlanner, query: str | None = None, measured: Manifest | None = None) -> Explanation:
    """Explain a plan, or the part of it that one query uses, by what the planner knows.

    With the manifest of the last batch, what it measured stands beside what was expected.
    """
    return Explanation(plan_view(plan, planner, query, measured))


def plan_view(plan: Plan, planner: WindowPlanner, query: str | None = None, measured: Manifest | None = None) -> PlanView:
    """What is to be said of a plan."""
    groups = window_groups(plan, planner, measured)
    results, joins = _results(plan), join_views(plan, planner, measured)
    if query is not None:
        groups = tuple(part_of(g, query) for g in groups if query in g.queries)
        results = tuple(r for r in results if r.emission.query == query)
        joins = tuple(j for j in joins if j.query.name == query)
    return PlanView(
        mode=planner.config.windows,
        groups=groups,
        results=results,
        batch=measured.batch if measured is not None else None,
        emitted=times_of(measured, "emit"),
        scanned=times_of(measured, "scan"),
        joins=joins,
    )


def _results(plan: Plan) -> tuple[Result, ...]:
    """What is emitted, and what of it runs in one pass over a common source."""
    passes = bundled(plan, inline(plan))
    sizes = Counter(passes.values())
    together = {i: source for i, (query, source) in passes.items() if sizes[query, source] > 1}
    return tuple(Result(e, s.sql, together.get(i)) for i, (e, s) in enumerate(zip(plan.emissions, emission_steps(plan), strict=True)))
