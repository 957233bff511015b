"""Who is in a pool of windows: those that are given something of it. So the rows that it takes follow from the rest of a plan."""

from __future__ import annotations

from dataclasses import replace

from thalweg.expr.nodes import Expr
from thalweg.model.query import Chosen
from thalweg.plan.nodes import Derived, Emission, Fragment, Plan


def base_of(plan: Plan, emission: Emission) -> Fragment:
    """The fragment that a window's results are computed from, the first of them."""
    node = plan.node(emission.nodes[0])
    return plan.fragment(node.base) if isinstance(node, Derived) else node


def with_sets(plan: Plan) -> Plan:
    """A plan whose pools of windows take the rows that their members ask for."""
    sets: dict[str, dict[int, tuple[Expr, ...]]] = {}
    for emission in plan.emissions:
        if emission.window is not None and emission.bit is not None:
            sets.setdefault(base_of(plan, emission).pool, {})[emission.bit] = plan.query(emission.query).where
    if not sets:
        return plan
    chosen = {pool: tuple(Chosen(bit, own[bit]) for bit in sorted(own)) for pool, own in sets.items()}
    return replace(plan, fragments=tuple(replace(f, sets=chosen[f.pool]) if f.pool in chosen and f.words else f for f in plan.fragments))


def without_sets(plan: Plan) -> Plan:
    """A plan without what `with_sets` says, to be written down: one more query is then one query more, not its pool."""
    if not any(f.words for f in plan.fragments):
        return plan
    return replace(plan, fragments=tuple(replace(f, sets=()) if f.words else f for f in plan.fragments))
