"""What a fragment keeps, as people are told it."""

from __future__ import annotations

from thalweg.expr.implication import said
from thalweg.expr.nodes import Call, Column, Expr
from thalweg.plan.groups import CELLED
from thalweg.plan.nodes import Fragment
from thalweg.plan.pool import SET, TYPE


def column_trees(fragment: Fragment) -> tuple[Expr, ...]:
    """What a fragment keeps of a row: columns of its source, or expressions over them; query-sets and cells by what they are."""
    sets = {SET, *(f"{SET}{n}" for n in range(fragment.words))}

    def shown(column: Expr) -> Expr:
        if column == CELLED:
            subject = next(subject for subject, _, _ in said(fragment.sets[0].where[0]))
            return Call("CELL", (subject,), subject.type)
        return Column("query_set", TYPE) if column.columns & sets else column

    return tuple(map(shown, fragment.columns))
