"""Plans put together and taken apart: nodes of one meaning are one, and what nobody uses goes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from thalweg.model.aggregates import PartColumn
from thalweg.plan.nodes import COUNTED, Derived, Emission, Fragment, Join, Plan
from thalweg.plan.ranges import LOWEST
from thalweg.plan.sides import join_parts


def united(nodes: Iterable[Fragment | Derived], joins: Iterable[Join], emissions: Iterable[Emission]) -> Plan:
    """Nodes and edges as one plan: those of the same meaning once, with the parts of all; of equal joins the last is taken."""
    fragments: dict[str, Fragment] = {}
    derived: dict[str, Derived] = {}
    for node in nodes:
        if isinstance(node, Fragment):
            fragments[node.id] = _one_fragment(fragments.get(node.id, node), node)
        else:
            derived[node.id] = _one_derived(derived.get(node.id, node), node)
    wanted = {j.id: j for j in joins}
    return Plan(
        fragments=tuple(fragments.values()),
        derived=tuple(derived.values()),
        joins=tuple(wanted.values()),
        emissions=tuple(emissions),
    )


def _one_fragment(known: Fragment, other: Fragment) -> Fragment:
    return replace(
        known,
        parts=_parts(known.parts, other.parts),
        origin=known.origin or other.origin,
        holistic=known.holistic or other.holistic,
        counted=tuple(dict.fromkeys((*known.counted, *other.counted))),
        sets=other.sets,
    )


def _one_derived(known: Derived, other: Derived) -> Derived:
    return replace(known, parts=_parts(known.parts, other.parts), factor=known.factor and other.factor)


def _parts(a: tuple[PartColumn, ...], b: tuple[PartColumn, ...]) -> tuple[PartColumn, ...]:
    return a if a == b else tuple({p.name: p for p in (*a, *b)}.values())


def pruned(plan: Plan) -> Plan:
    """Without the nodes that nothing is emitted from, and without parts that nobody reads. Derived nodes stand after what they are derived
    from, so one look back finds all."""
    joins = tuple(j for j in plan.joins if plan.users(j.id))
    read = _read_parts(plan, joins)
    fragments = tuple(_with_parts(f, read[f.id]) for f in plan.fragments if f.id in read)
    derived = tuple(_with_parts(d, read[d.id]) for d in plan.derived if d.id in read)
    return replace(plan, fragments=fragments, derived=derived, joins=joins)


def ended_now(plan: Plan, name: str) -> Plan:
    """A plan in which a query has been given all: its successor is without it."""
    return replace(
        plan, emissions=tuple(replace(e, until=LOWEST) if e.query == name else e for e in plan.emissions)
    )


def cut_anew(old: Plan, new: Plan) -> frozenset[str]:
    """What is spread over partitions in another way than before: fragments of which other values are split, and the joins that read them."""
    before = {f.id: f.split for f in old.fragments}
    moved = frozenset(f.id for f in new.fragments if before.get(f.id) != f.split)
    return moved | {j.id for j in new.joins if not moved.isdisjoint(j.sides)} if moved else moved


def _read_parts(plan: Plan, joins: Iterable[Join]) -> dict[str, set[str]]:
    """The parts that somebody reads of each node that is used."""
    read: dict[str, set[str]] = {}
    for emission in plan.emissions:
        for id, parts in zip(emission.nodes, emission.parts, strict=False):
            read.setdefault(id, set()).update(parts)
    for join in joins:
        for number, side in enumerate(join.sides):
            own = {p.column.name for p in join_parts(join.asked) if p.input == number}
            read.setdefault(side, set()).update(own, {COUNTED.name})
    for derived in reversed(plan.derived):
        if derived.id in read:
            read.setdefault(derived.parent, set()).update(read[derived.id])
    return read


N = TypeVar("N", Fragment, Derived)


def _with_parts(node: N, names: set[str]) -> N:
    parts = tuple(p for p in node.parts if p.name in names)
    return node if parts == node.parts else replace(node, parts=parts)
