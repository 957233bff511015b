"""Which queries use a piece of state, and its keys as the user wrote them."""

from __future__ import annotations

import re

from thalweg.compile.retention import changes_id
from thalweg.plan.nodes import Plan

_NAME = re.compile(r'"((?:[^"]|"")+)"')


def users(plan: Plan) -> dict[str, tuple[str, ...]]:
    """The queries that need what is kept under an id, in order of name."""
    found = {node.id: set(plan.queries_of(node.id)) for node in (*plan.nodes, *plan.joins)}
    for query in plan.queries:
        if query.changes:
            found.setdefault(changes_id(plan, query), set()).add(query.name)
    return {id: tuple(sorted(names)) for id, names in found.items()}


def key_text(expression: str) -> str:
    """A key for people: a column by its name, anything else by the columns that it is computed from.

    >>> key_text('"auction"'), key_text('CAST("price" / 10 AS BIGINT)'), key_text("1")
    ('auction', 'computed from price', 'a constant')
    """
    if found := _NAME.fullmatch(expression):
        return found[1].replace('""', '"')
    names = dict.fromkeys(n.replace('""', '"') for n in _NAME.findall(expression))
    return f"computed from {', '.join(names)}" if names else "a constant"
