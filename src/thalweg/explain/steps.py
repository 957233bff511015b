"""The SQL of every step of a plan in the order in which they run, as it runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from thalweg.compile.evaluations import EVALUATIONS
from thalweg.compile.evaluations.base import Moment
from thalweg.compile.landmarks import told_sql, totals_sql
from thalweg.compile.pieces import merge_sql
from thalweg.compile.results import changes_sql, final_sql, groups_sql, shown
from thalweg.explain.model import JoinView, NodeView, Result, SqlStep
from thalweg.explain.words import short_id
from thalweg.model.query import Query
from thalweg.model.windows import SECOND
from thalweg.plan.nodes import Derived, Fragment
from thalweg.plan.shape import Shape

STAGES = {
    1: "before the shuffle, per file",
    2: "after the shuffle, per partition",
    3: "after the shuffle of partial results, per group",
}

MOST_INSTANTS = 10_000
"""Of a window of millions of instants an example with these says the same."""


def plan_steps(
    nodes: Iterable[NodeView], results: Iterable[Result], joins: Iterable[JoinView]
) -> tuple[SqlStep, ...]:
    """What is kept of rows, then what is merged, derived and given out of windows, then joins, and what makes results of them."""
    nodes, joins = list(nodes), list(joins)
    lifted = [n for n in nodes if isinstance(n.node, Fragment)]
    steps = [_made(n) for n in lifted]
    steps += [_merged(n) for n in lifted if n.fragment.early and not n.fragment.static]
    steps += [_made(n) for n in nodes if isinstance(n.node, Derived) and not n.inside]
    steps += [_emitted(r) for r in results]
    steps += [s for stage in (2, 3) for j in joins for r in j.runs for s in r.steps if s.stage == stage]
    return tuple({s.sql: s for s in reversed(steps)}.values())[::-1]


def _made(view: NodeView) -> SqlStep:
    if isinstance(view.node, Derived):
        return SqlStep(2, "derive", view.id, str(view.window), view.sql)
    about = "table" if view.node.static else str(view.window) if view.node.early else "rows"
    return SqlStep(1, "lift", view.id, about, view.sql)


def _merged(view: NodeView) -> SqlStep:
    return SqlStep(2, "merge", view.id, "what came and what is kept", merge_sql(view.node, f'"in_{view.id}"'))


def _emitted(result: Result) -> SqlStep:
    together = (
        f" (in one pass with other windows from {short_id(result.together)})" if result.together else ""
    )
    return SqlStep(2, "emit", result.emission.query, f"{result.emission.window_id}{together}", result.sql)


def join_steps(shape: Shape, query: Query) -> tuple[SqlStep, ...]:
    """The statements of a join after its inputs; those of an evaluation as for some example instants."""
    instants = example_instants(shape)
    when = f", as for the instants {instants[0]} to {instants[1] - 1}" if instants is not None else ""
    made = EVALUATIONS[shape.join.evaluate].steps(shape, example_moment(shape))
    evaluated = [SqlStep(2, shape.join.evaluate, shape.join.id, f"{s.name}{when}", s.sql) for s in made]
    return (*evaluated, *(_finish(shape, query, when) if query.every is not None else ()))


def example_instants(shape: Shape) -> tuple[int, int] | None:
    """As many instants [0, n) as a window is long, within reason: the SQL is that of a busy stream. None where rows are the result."""
    if shape.query.every is None:
        return None
    spans = [s for n in shape.streams if (s := shape.span(n)) is not None]
    return 0, min(max(1, -(-max(spans, default=1) // shape.step)), MOST_INSTANTS)


def example_moment(shape: Shape) -> Moment:
    """A batch of a busy stream: every input has new rows, there is state, frontiers move, and all example instants become final."""
    low, high = example_instants(shape) or (0, 0)
    instants = tuple(range(low, high))
    slots = ((low - 1) * shape.step,)
    before, after = (dict.fromkeys(shape.query.streams, at) for at in (0, SECOND))
    return Moment(
        final=(low, high),
        alive=instants,
        shown=instants,
        slots=(slots,) * len(shape.streams),
        fresh=shape.streams,
        kept=True,
        waited=(before, after),
    )


def _finish(shape: Shape, query: Query, when: str) -> Iterator[SqlStep]:
    """Partial results of all partitions to groups, then to results or to what changed."""
    if not EVALUATIONS[shape.join.evaluate].stands:
        yield SqlStep(3, "finish", query.name, "totals", totals_sql(query, has_last=True))
        yield SqlStep(3, "finish", query.name, "changed groups", told_sql(query))
        return
    yield SqlStep(3, "finish", query.name, "groups", groups_sql(query, '"partial"'))
    if query.changes:
        following = (example_instants(shape) or (0, 1))[1]
        yield SqlStep(
            3, "finish", query.name, f"changed groups{when}", changes_sql(query, ["last", "now"], following)
        )
    else:
        yield SqlStep(3, "finish", query.name, "results", final_sql(query, shown(query, '"groups"')))
