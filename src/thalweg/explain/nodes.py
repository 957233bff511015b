"""From a plan to what EXPLAIN says of its nodes, whether windows, joins or both read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from thalweg.compile.derive import derive_sql
from thalweg.compile.lifts import lift_sql
from thalweg.compile.roll_up import roll_up_sql
from thalweg.compile.windows import inline
from thalweg.explain.measured import LastBatch
from thalweg.explain.model import Expected, NodeView, NodeWords, RolledUp
from thalweg.expr.nodes import Expr
from thalweg.expr.wording import worded
from thalweg.model.aggregates import part_words
from thalweg.optimizer.cost.join_engine import SECOND, held_of
from thalweg.optimizer.cost.steps import StepEstimate, estimates
from thalweg.optimizer.forest import Forest
from thalweg.optimizer.planner import WindowPlanner, step_of
from thalweg.optimizer.pool_costs import join_statistics
from thalweg.optimizer.roll_ups import made_rows, rolled_estimate, taken_rows
from thalweg.optimizer.traits import Traits
from thalweg.plan.groups import Group
from thalweg.plan.nodes import Derived, Fragment, Join, Plan
from thalweg.plan.trees import column_trees
from thalweg.statistics.constants import join_constants, window_constants
from thalweg.statistics.known import Known
from thalweg.statistics.records import JoinStatistics

Node = Fragment | Derived


def node_views(plan: Plan, planner: WindowPlanner, last: LastBatch) -> dict[str, NodeView]:
    """Every node that is kept, by its id; what windows are expected to take is added per kind of aggregates."""
    inlined, sides = inline(plan), side_estimates(plan, planner)
    return {
        n.id: replace(
            _view(plan, n, sides.get(n.id, Expected()), n.id in inlined, last),
            rolled=_rolled(plan, n, planner.known),
        )
        for n in plan.nodes
    }


def _rolled(plan: Plan, node: Node, known: Known) -> RolledUp | None:
    """What a node is rolled up from."""
    if isinstance(node, Derived) or not node.rolled:
        return None
    fine = plan.fragment(node.rolled)
    keys = tuple(map(worded, column_trees(fine)))
    return RolledUp(fine.id, fine.window, keys, made_rows(fine, known), taken_rows(node, known))


def _made_by(plan: Plan, node: Node) -> str:
    """The SQL that makes what a node has."""
    if isinstance(node, Derived):
        return derive_sql(node, plan.node(node.parent).window)
    return roll_up_sql(plan.fragment(node.rolled), node) if node.rolled else lift_sql(node)


def _view(plan: Plan, node: Node, expected: Expected, inside: bool, last: LastBatch) -> NodeView:
    users = plan.users(node.id)
    is_factor = node.factor if isinstance(node, Derived) else not users and not plan.joins_of(node.id)
    return NodeView(
        node=node,
        words=node_words(plan, node),
        queries=plan.queries_of(node.id),
        given=tuple(dict.fromkeys(e.query for e in users)),
        joined=tuple(
            dict.fromkeys(q for join, _ in plan.joins_of(node.id) for q in plan.queries_of(join.id))
        ),
        sql=_made_by(plan, node),
        expected=expected,
        factor=is_factor,
        inside=inside,
        ending=bool(users) and all(e.until is not None for e in users),
        measured=None if isinstance(node, Fragment) and node.static else last.node(node.id),
    )


def node_words(plan: Plan, node: Node) -> NodeWords:
    """What a node keeps, as the queries say it that use it."""
    lifted = node if isinstance(node, Fragment) else plan.fragment(node.base)

    def parts(write: Callable[[Expr], str]) -> tuple[str, ...]:
        found = [part_words(p, write) for p in node.parts]
        return tuple(p.lift if lifted.early else p.unit for p in found)

    return NodeWords(tuple(map(worded, column_trees(lifted))), parts(worded), parts(lambda e: e.sql))


def side_estimates(plan: Plan, planner: WindowPlanner) -> dict[str, Expected]:
    """What is expected of the inputs of joins, each once, for whoever needs it longest."""
    found: dict[str, Expected] = {}
    asking = {e.nodes[0]: plan.query(e.query) for e in plan.emissions if e.window is None}
    for join in (j for j in plan.joins if j.id in asking):
        statistics = join_statistics(planner.known, asking[join.id])
        for id, expected in zip(join.sides, input_estimates(plan, join, statistics), strict=True):
            kept = expected if keeps_rows(join) else replace(expected, state_rows=0.0)
            found[id] = max(found.get(id, kept), kept, key=lambda e: e.state_rows)
    return found


def keeps_rows(join: Join) -> bool:
    """Whether rows wait for partners that come later; where all else is tables, none can."""
    return join.asked.every is not None or sum(i.is_stream for i in join.asked.inputs) > 1


def input_estimates(plan: Plan, join: Join, known: JoinStatistics) -> list[Expected]:
    """What is expected of each input of one join."""
    seconds, early = known.batch / SECOND, [plan.fragment(s).early for s in join.sides]
    held = [
        held_of(join.asked, n, early[n] and join.asked.every is not None, i, seconds)
        for n, i in enumerate(known.inputs)
    ]
    return [
        Expected(h.rate * seconds, h.pieces * seconds, h.kept, nanos=h.taken(join_constants())) for h in held
    ]


def window_estimates(
    plan: Plan, planner: WindowPlanner, group: Group, traits: Traits, nodes: Iterable[Node]
) -> dict[str, StepEstimate]:
    """What each node is expected to do; trees apart, since two of them may hold the same window while one replaces the other."""
    trees: dict[str, list[Node]] = {}
    for n in nodes:
        trees.setdefault(n.id if isinstance(n, Fragment) else n.base, []).append(n)
    found: dict[str, StepEstimate] = {}
    for tree in trees.values():
        forest = Forest(tuple(step_of(plan, n) for n in tree))
        expected = estimates(forest, traits, planner.statistics(group), window_constants())
        for n, estimate in zip(tree, expected, strict=True):
            fine = n.rolled if isinstance(n, Fragment) else ""
            found[n.id] = rolled_estimate(estimate, plan.fragment(fine), planner.known) if fine else estimate
    return found
