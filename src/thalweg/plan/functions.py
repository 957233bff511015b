"""Which Python functions a plan calls, and who calls them."""

from __future__ import annotations

from thalweg.expr.python import known_as
from thalweg.plan.nodes import Plan


def functions_called(plan: Plan) -> dict[str, str]:
    """The digests of the functions that queries and computed columns of a plan call, by what the engine calls them."""
    found = frozenset[tuple[str, str]]().union(
        *(s.functions for s in plan.streams), *(q.functions for q in plan.queries)
    )
    return {known_as(name, digest): digest for name, digest in sorted(found)}


def users_of(plan: Plan, known: str) -> tuple[str, ...]:
    """The queries that call a function, or read a stream that has a column of it."""
    columns = {s.name for s in plan.streams for f in s.functions if known_as(*f) == known}
    return tuple(
        q.name
        for q in plan.queries
        if columns.intersection(q.sources) or any(known_as(*f) == known for f in q.functions)
    )
