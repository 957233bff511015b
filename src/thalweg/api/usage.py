"""Which queries use a piece of state, and its keys as the user wrote them."""

from __future__ import annotations

from thalweg.compile.retention import changes_id
from thalweg.expr.nodes import Column, Expr
from thalweg.plan.nodes import Plan


def users(plan: Plan) -> dict[str, tuple[str, ...]]:
    """The queries that need what is kept under an id, in order of name."""
    found = {node.id: set(plan.queries_of(node.id)) for node in (*plan.nodes, *plan.joins)}
    for query in plan.queries:
        if query.changes:
            found.setdefault(changes_id(plan, query), set()).add(query.name)
    return {id: tuple(sorted(names)) for id, names in found.items()}


def key_text(key: Expr) -> str:
    """A key for people: a column by its name, anything else by the columns that it is computed from.

    >>> from thalweg.expr.nodes import Call, Literal
    >>> price, ten = Column("price", "BIGINT"), Literal("10", "INTEGER")
    >>> key_text(price), key_text(Call("/", (price, ten), "DOUBLE")), key_text(ten)
    ('price', 'computed from price', 'a constant')
    """
    if isinstance(key, Column):
        return key.name
    names = dict.fromkeys(e.name for e in key.walk() if isinstance(e, Column))
    return f"computed from {', '.join(names)}" if names else "a constant"


def catching_up_text(done: int, batches: int) -> str:
    """How far a query with a history is, before it is part of the batches.

    >>> catching_up_text(12, 60)
    'catching up: 12 of 60 batches'
    """
    return f"catching up: {done:,} of {batches:,} batches"
