"""Joins in words: expressions with the names that the query gives its inputs, windows, and how long something is kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from thalweg.explain.words import call_text, plain_sql
from thalweg.logical.join import RANGE, TUMBLE, JoinAggregate, JoinInput, JoinQuery, flat
from thalweg.logical.query import Expr
from thalweg.logical.windows import duration_text
from thalweg.plan.nodes import Side

_TEXT_OR_NAME = re.compile(r"'(?:[^']|'')*'|\"((?:[^\"]|\"\")+)\"")
EVALUATIONS = {
    "rows": "each combination is given out once, in the batch in which its last row comes",
    "snapshot": "at every instant the windows are joined anew; nothing is kept but the sides",
    "delta": "at every instant the pairs that enter are added to the totals and those that leave subtracted; kept: the totals of each group",
    "expiry": "a pair counts until its first member leaves its window; kept: partial results of each group by that instant",
    "materialize": "every joined pair is kept until its first member leaves its window",
}


def joined_sql(sql: str) -> str:
    """SQL over a joined row without the quotes that simple names can do without.

    >>> print(joined_sql('''"b.price" > "a.low" AND "x.y" <> '"q.r"' '''))
    b.price > a.low AND x.y <> '"q.r"'
    """
    return re.sub(r"'(?:[^']|'')*'|\"([a-z_]\w*(?:\.[a-z_]\w*)?)\"", lambda m: m[1] or m[0], sql).strip()


def owned_sql(sql: str, alias: str) -> str:
    """SQL over the bare columns of an input as over a joined row.

    >>> print(owned_sql('''"price" + 1''', "b"))
    "b.price" + 1
    """
    return _TEXT_OR_NAME.sub(lambda m: flat(alias, m[1].replace('""', '"')) if m[1] else m[0], sql)


def condition_texts(query: JoinQuery) -> tuple[str, ...]:
    """What makes rows partners: equalities, then all else."""
    equal = [f"{joined_sql(e.left.sql)} = {joined_sql(e.right.sql)}" for e in query.equalities]
    return (*equal, *(joined_sql(t.sql) for t in query.residue))


def aggregate_text(query: JoinQuery, aggregate: JoinAggregate) -> str:
    """An aggregate as the query writes it."""
    call = aggregate.call
    if aggregate.input is not None:
        alias = query.inputs[aggregate.input].alias

        def own(e: Expr) -> Expr:
            return replace(e, sql=owned_sql(e.sql, alias))

        call = replace(call, args=tuple(own(a) for a in call.args), where=own(call.where) if call.where else None)
    return joined_sql(call_text(call))


def having_text(query: JoinQuery) -> str | None:
    """HAVING with keys and aggregates in place of their numbers."""
    if query.having is None:
        return None
    names = {f"k{i}": joined_sql(k.sql) for i, k in enumerate(query.keys)}
    names |= {f"a{i}": aggregate_text(query, a) for i, a in enumerate(query.aggregates)}
    return _TEXT_OR_NAME.sub(lambda m: names.get(m[1], m[0]) if m[1] else m[0], query.having)


def columns_text(side: Side, numbers: tuple[int, ...] | None = None) -> str:
    """Columns of a side, all or some, with commas."""
    return ", ".join(plain_sql(side.columns[i]) for i in (range(len(side.columns)) if numbers is None else numbers))


def kept_text(side: Side) -> str:
    """In what form a side is kept."""
    per = "" if side.static else f" per slot of {duration_text(side.slot)}"
    if side.early:
        return f"aggregated early by ({columns_text(side)}){per}"
    return "kept as rows" if side.static else f"kept as rows ({columns_text(side) or 'only their times'}), dropped by slots of {duration_text(side.slot)}"


def until_text(query: JoinQuery, number: int) -> str:
    """How long the rows of an input are kept."""
    given = query.inputs[number]
    if not given.is_stream:
        return "read from the table, never as state"
    others = [i.alias for n, i in enumerate(query.inputs) if i.is_stream and n != number]
    if query.every is None and not others:
        return "not kept: no partner can come later"
    if given.length is None:
        return "kept for ever"
    behind = f"the frontier of {', '.join(others)}" if query.every is None else "the frontier"
    if query.every is None and given.kind == TUMBLE:
        return f"kept until {behind} leaves their window of {duration_text(given.length)}"
    return f"kept until {behind} is {duration_text(given.length)} past them"


def together_texts(query: JoinQuery) -> Iterator[str]:
    """The condition on time of joined rows: none may have left its window when the last one comes."""
    streams = [i for i in query.inputs if i.is_stream]
    tumbling = [i for i in streams if i.kind == TUMBLE]
    if len(tumbling) > 1:
        yield f"{', '.join(i.alias for i in tumbling)} in the same window of {duration_text(tumbling[0].length or 0)}"
    yield from (_after(other, i) for i in streams if i.kind == RANGE for other in streams if other is not i)


def _after(later: JoinInput, given: JoinInput) -> str:
    return f"{later.alias} less than {duration_text(given.length or 0)} after {given.alias}"
