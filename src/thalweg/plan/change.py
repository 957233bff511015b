"""The difference of two plans, so that what is written down grows with what changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from thalweg.plan.nodes import Plan

NAMED = {
    "streams": "name",
    "relations": "name",
    "queries": "name",
    "nested": "name",
    "fragments": "id",
    "derived": "id",
    "joins": "id",
    "subs": "id",
}
"""The parts of a plan, and what tells their members apart."""


@dataclass(frozen=True)
class PlanChange:
    """What became of the plan in the file `base`: `made` has what is new or different, `gone` the names that are no more, by part, and
    `ended` the numbers of the emissions that are no more."""

    base: str
    made: Plan = field(default_factory=Plan)
    gone: tuple[tuple[str, tuple[str, ...]], ...] = ()
    ended: tuple[int, ...] = ()


def change_of(base: str, old: Plan, new: Plan) -> PlanChange:
    """What is to be written down of a plan that follows another."""
    made: dict[str, Any] = {}
    gone = []
    for part, name in NAMED.items():
        before = {getattr(x, name): x for x in getattr(old, part)}
        after = {getattr(x, name): x for x in getattr(new, part)}
        made[part] = tuple(x for n, x in after.items() if not _same(before.get(n), x))
        if missing := tuple(n for n in before if n not in after):
            gone.append((part, missing))
    known, kept = set(old.emissions), set(new.emissions)
    made["emissions"] = tuple(e for e in new.emissions if e not in known)
    ended = tuple(i for i, e in enumerate(old.emissions) if e not in kept)
    return PlanChange(base, Plan(**made, settings=new.settings), tuple(gone), ended)


def _same(before: object, after: object) -> bool:
    return before is after or before == after


def applied(old: Plan, change: PlanChange) -> Plan:
    """The plan that a change makes of another: what is different stands where it stood, what is new at the end."""
    gone = {part: set(names) for part, names in change.gone}
    parts = {
        p: _changed(getattr(old, p), getattr(change.made, p), gone.get(p, set()), name)
        for p, name in NAMED.items()
    }
    ended = set(change.ended)
    emissions = (*(e for i, e in enumerate(old.emissions) if i not in ended), *change.made.emissions)
    return replace(change.made, emissions=emissions, **parts)


def _changed(old: Iterable[Any], made: Iterable[Any], gone: set[str], name: str) -> tuple[Any, ...]:
    found = {getattr(x, name): x for x in old if getattr(x, name) not in gone}
    return tuple((found | {getattr(x, name): x for x in made}).values())
