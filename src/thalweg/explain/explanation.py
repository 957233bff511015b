"""The front door of EXPLAIN: a plan in all the forms that it can be read in."""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from thalweg.compile.windows import bundled, emission_steps, inline, window_crews
from thalweg.explain.data import plan_data
from thalweg.explain.groups import window_groups
from thalweg.explain.joins import join_views
from thalweg.explain.measured import LastBatch
from thalweg.explain.mermaid import flowchart
from thalweg.explain.model import NestedView, PlanView, Result
from thalweg.explain.nodes import node_views
from thalweg.explain.pools import pool_views
from thalweg.explain.steps import plan_steps
from thalweg.explain.svg import picture
from thalweg.explain.text import plan_text
from thalweg.model.nesting import RESULT_TIME, all_nested, is_nested
from thalweg.model.query import Query
from thalweg.once import cached_property
from thalweg.optimizer.planner import WindowPlanner
from thalweg.plan.narrowed import of_groups
from thalweg.plan.nodes import Plan
from thalweg.state.manifest import Manifest


@dataclass(frozen=True)
class Explanation:
    """A plan for people (`str`), for programs (`data`, `json`) and as a picture (`svg`, `mermaid`)."""

    view: PlanView

    def __str__(self) -> str:
        return self.text

    @cached_property
    def text(self) -> str:
        """The plan for a terminal; of many queries a summary."""
        return plan_text(self.view)

    @cached_property
    def verbose(self) -> str:
        """The plan with all that is known of every query, and the SQL of every step."""
        return plan_text(self.view, verbose=True, papers=True)

    def say(self, verbose: bool = False, papers: bool = False) -> str:
        """The plan for a terminal; with `papers` what the papers' formulas say, too."""
        return plan_text(self.view, verbose, papers)

    @cached_property
    def data(self) -> dict[str, Any]:
        """The plan as plain values."""
        return plan_data(self.view)

    def json(self) -> str:
        """The plan as JSON."""
        return json.dumps(self.data, indent=2)

    def _repr_html_(self) -> str:
        return html_of(self.svg(), self.text)

    def svg(self, papers: bool = False) -> str:
        """The plan as a picture."""
        return picture(self.view, papers)

    def mermaid(self) -> str:
        """The plan as a Mermaid flowchart."""
        return flowchart(self.view)


def html_of(svg: str, text: str) -> str:
    """A plan for notebooks: drawn, as an image whose style stays its own, and in words."""
    image = b64encode(svg.encode()).decode()
    words = f"<details><summary>in words</summary><pre>{escape(text)}</pre></details>"
    return f'<img alt="the plan, drawn" src="data:image/svg+xml;base64,{image}">{words}'


def explain(
    plan: Plan, planner: WindowPlanner, query: str | None = None, measured: Manifest | None = None
) -> Explanation:
    """Explain a plan, or the part of it that one query uses, by what the planner knows.

    With the manifest of the last batch, what it measured stands beside what was expected.
    """
    return Explanation(plan_view(plan, planner, query, measured))


def plan_view(
    plan: Plan, planner: WindowPlanner, query: str | None = None, measured: Manifest | None = None
) -> PlanView:
    """What is to be said of a plan: of all its queries and those nested in them, or of one with these."""
    asked = plan.asked if query is None else (*all_nested((plan.query(query),)), plan.query(query))
    wanted, nested = {q.name for q in asked}, tuple(_nested(q, asked) for q in asked if is_nested(q.name))
    queries, last = tuple(of_groups(plan, q.name) for q in plan.asked), LastBatch(measured)
    plan = replace(plan, queries=queries, nested=())
    views = node_views(plan, planner, last)
    groups = window_groups(plan, planner, views, wanted)
    joins = join_views(plan, planner, views, last, wanted)
    results = tuple(r for r in _results(plan) if r.emission.query in wanted)
    for step in sorted((s for g in groups for s in g.steps), key=lambda s: s.expected.cost):
        views[step.id] = step
    if query is not None:
        views = {id: v for id, v in views.items() if not wanted.isdisjoint(v.queries)}
    return PlanView(
        mode=planner.config.windows,
        nodes=tuple(views.values()),
        groups=groups,
        joins=joins,
        results=results,
        steps=plan_steps(views.values(), results, joins),
        alike=tuple(names for names in plan.alike.values() if not wanted.isdisjoint(names)),
        batch=measured.batch if measured is not None else None,
        emitted=last.all("emit"),
        scanned=last.all("scan"),
        pools=pool_views(plan, planner, query),
        nested=nested,
    )


def _nested(query: Query, asked: Iterable[Query]) -> NestedView:
    """A nested query, and who reads its results."""
    readers = tuple(q.name for q in asked if query.name in q.streams)
    shown = tuple(o.name for o in query.outputs if o.name != RESULT_TIME)
    return NestedView(query.name, shown, readers, query.streams if query.unites else ())


def _results(plan: Plan) -> tuple[Result, ...]:
    """What is emitted, and what of it runs in one pass over a common source."""
    passes = bundled(plan, inline(plan))
    sizes = Counter(passes.values())
    together = {i: source for i, (query, source) in passes.items() if sizes[query, source] > 1}
    statements = {i: step.sql for i, step in emission_steps(plan).items()}
    statements |= {i: crew.sql for crew in window_crews(plan) for i in crew.emissions}
    leaders = {name: first for first, names in plan.alike.items() for name in names}
    numbers = {(e.query, e.window_id, e.begin, e.until): i for i, e in enumerate(plan.emissions)}
    found = [
        (e, numbers[leaders[e.query], e.window_id, e.begin, e.until])
        for e in plan.emissions
        if e.window is not None
    ]
    return tuple(Result(e, statements[i], together.get(i)) for e, i in found)
