"""Who is in a pool of windows, or in a commons: those that are given something of it. So the rows that it takes follow from the rest of a
plan."""

from __future__ import annotations

from dataclasses import replace

from thalweg.expr.nodes import Expr
from thalweg.model.query import Chosen
from thalweg.plan.nodes import Derived, Emission, Fragment, Plan
from thalweg.plan.rooms import Room


def base_of(plan: Plan, emission: Emission) -> Fragment:
    """The fragment that a window's results are computed from, the first of them."""
    node = plan.node(emission.nodes[0])
    return plan.fragment(node.base) if isinstance(node, Derived) else node


def with_sets(plan: Plan) -> Plan:
    """A plan whose pools of windows, and whose commons, take the rows that their members ask for."""
    return _with_common_sets(_with_window_sets(plan))


def _with_common_sets(plan: Plan) -> Plan:
    sets: dict[str, dict[int, Chosen]] = {f.id: {} for f in plan.fragments if f.common}
    for join in plan.joins if sets else ():
        if join.room is not None:
            for n, side in ((n, side) for n, side in enumerate(join.sides) if side in sets):
                sets[side] |= {
                    (chosen := _chosen(plan, join.room, n, e)).bit: chosen for e in plan.users(join.id)
                }
    if not sets:
        return plan
    ordered = {id: tuple(own[bit] for bit in sorted(own)) for id, own in sets.items()}
    return replace(
        plan, fragments=tuple(_with_own(f, ordered[f.id]) if f.common else f for f in plan.fragments)
    )


def _with_own(fragment: Fragment, sets: tuple[Chosen, ...]) -> Fragment:
    common = max((c.bit for c in sets), default=0) // 64 + 1
    is_so = fragment.common == common and fragment.sets == sets
    return fragment if is_so else replace(fragment, sets=sets, common=common)


def _chosen(plan: Plan, room: Room, number: int, emission: Emission) -> Chosen:
    given = plan.query(emission.query).inputs[number]
    return Chosen(room.first + (emission.bit or 0), given.where, emission.born[number], given.length)


def _with_window_sets(plan: Plan) -> Plan:
    sets: dict[str, dict[int, tuple[Expr, ...]]] = {}
    for emission in plan.emissions:
        if emission.window is not None and emission.bit is not None:
            sets.setdefault(base_of(plan, emission).pool, {})[emission.bit] = plan.query(emission.query).where
    if not sets:
        return plan
    chosen = {pool: tuple(Chosen(bit, own[bit]) for bit in sorted(own)) for pool, own in sets.items()}
    return replace(
        plan,
        fragments=tuple(
            replace(f, sets=chosen[f.pool]) if f.pool in chosen and f.words else f for f in plan.fragments
        ),
    )


def without_sets(plan: Plan) -> Plan:
    """A plan without what `with_sets` says, to be written down: one more query is then one query more, not its pool."""
    if not any(f.words or f.common for f in plan.fragments):
        return plan
    return replace(
        plan, fragments=tuple(replace(f, sets=()) if f.words or f.common else f for f in plan.fragments)
    )
