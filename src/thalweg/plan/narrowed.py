"""A query that asks for fewer groups than the nodes that it is given: conditions on grouping keys hold of all rows of a group or of none, so
they can be asked of groups as well.

So a query that is altered to ask for some of its groups goes on with what was computed for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from thalweg.expr.implication import implies
from thalweg.expr.nodes import Column, Expr
from thalweg.expr.normal import all_of
from thalweg.model.query import Query
from thalweg.plan.core import core
from thalweg.plan.nodes import Derived, Emission, Plan

Where = tuple[Expr, ...]
ROUNDED = ("FLOAT", "DOUBLE")
"""Types with values that are in one group and not the same: 0 and -0."""


def group_conditions(query: Query, asked: Sequence[Where]) -> tuple[Expr, ...] | None:
    """What a query asks of its inputs beyond what was asked of their rows already, as conditions on its groups; None where it asks for more
    rows, or for rows of a group apart."""
    keys = _keys(query)
    found = []
    for number, (given, known) in enumerate(zip(query.inputs, asked, strict=True)):
        if not all(implies(all_of(given.where), c) for c in known):
            return None
        for condition in (c for c in given.where if c not in known):
            names = {name: keys[number, name] for name in condition.columns if (number, name) in keys}
            if condition.functions or names.keys() != condition.columns:
                return None
            found.append(condition.substituted(names))
    return tuple(found)


def covers(old: Query, new: Query) -> bool:
    """Whether one query is made of what another computes already: it has other output columns or another HAVING, asks for some of its groups,
    and has no more aggregates.

    What EMIT CHANGES compares with is made of what is shown, and joined rows carry what is shown: these are not.
    """
    if any(q.changes or not (q.windows or q.every) for q in (old, new)):
        return False
    before, after = core(old), core(new)
    if _without_conditions(before) != _without_conditions(after):
        return False
    is_narrower = group_conditions(new, [i.where for i in old.inputs]) is not None
    is_same = before.inputs == after.inputs
    return (is_same or (is_narrower and not new.unnested)) and set(after.aggregates) <= set(before.aggregates)


def _without_conditions(query: Query) -> Query:
    return replace(query, aggregates=(), inputs=tuple(replace(i, where=()) for i in query.inputs))


def _keys(query: Query) -> dict[tuple[int, str], Expr]:
    """The grouping keys that are columns, by input and name; over windows there is one input."""
    return {
        (next(iter(key.inputs), 0), key.bare.name): Column(f"k{n}", key.type)
        for n, key in enumerate(query.keys)
        if isinstance(key.bare, Column) and key.type not in ROUNDED
    }


def of_groups(plan: Plan, name: str) -> Query:
    """A query as it is asked of the groups that it is given: of rows it asks what the last of its nodes do, of groups all else."""
    query = plan.query(name)
    given = [_asked(plan, e) for e in plan.given_to(name) if e.bit is None]
    found = [c for asked in given for c in group_conditions(query, asked) or ()]
    if not found:
        return query
    having = () if query.having is None else (query.having,)
    inputs = tuple(replace(i, where=w) for i, w in zip(query.inputs, given[-1], strict=True))
    return replace(query, inputs=inputs, having=all_of([*having, *dict.fromkeys(found)]))


def _asked(plan: Plan, emission: Emission) -> tuple[Where, ...]:
    """Per input the conditions on the rows that an emission is made of."""
    if emission.window is None:
        return tuple(i.where for i in plan.join(emission.nodes[0]).asked.inputs)
    node = plan.node(emission.nodes[0])
    return ((plan.fragment(node.base) if isinstance(node, Derived) else node).where,)
