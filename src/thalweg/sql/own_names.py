"""Columns of one name out of several inputs: what is shown second is named by its input too."""

from __future__ import annotations

from sqlglot import exp

from thalweg.sql.builder import is_star
from thalweg.sql.source import placed


def with_own_names(query: exp.Query) -> exp.Query:
    """A SELECT over several inputs in which `b.at, a.at` is `b.at, a.at AS a_at`, unless another result has that name."""
    if not isinstance(query, exp.Select) or not query.args.get("joins"):
        return query
    names = [i.alias_or_name.lower() for i in query.expressions if not is_star(i)]
    again = {
        n
        for n, item in enumerate(query.expressions)
        if _is_again(query, n, item) and _own(item).lower() not in names
    }
    if not again:
        return query
    items = [
        placed(exp.Alias(this=i.copy(), alias=exp.to_identifier(_own(i), quoted=True)), i)
        if n in again
        else i.copy()
        for n, i in enumerate(query.expressions)
    ]
    made = query.copy()
    made.set("expressions", items)
    return made


def _is_again(select: exp.Select, number: int, item: exp.Expr) -> bool:
    """Whether an item is a column by its input's name that an earlier item has the name of."""
    if not isinstance(item, exp.Column) or is_star(item) or not item.table:
        return False
    before = (i for i in select.expressions[:number] if not is_star(i))
    return any(i.alias_or_name.lower() == item.name.lower() for i in before)


def _own(item: exp.Expr) -> str:
    return f"{item.table}_{item.name}" if isinstance(item, exp.Column) else ""
