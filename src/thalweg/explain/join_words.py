"""Joins in words: expressions with the names that the query gives its inputs, windows, and how long something is kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from thalweg.explain.words import call_text, plain_sql, untried
from thalweg.logical.join import RANGE, TUMBLE, JoinAggregate, JoinInput, JoinQuery, flat
from thalweg.logical.query import Expr
from thalweg.logical.windows import duration_text
from thalweg.plan.nodes import Side

_TEXT_OR_NAME = re.compile(r"'(?:[^']|'')*'|\"((?:[^\"]|\"\")+)\"")
EVALUATIONS = {
    "snapshot": "the windows are joined anew, at every instant or once for all instants of a batch; nothing is kept but the sides",
    "delta": "at every instant pairs that enter are added to the totals, those that leave subtracted; kept: the totals of each group",
    "expiry": "a pair counts until its first member leaves its window; kept: partial results of each group by that instant",
    "materialize": "every joined pair is kept until its first member leaves its window",
}


def joined_sql(sql: str) -> str:
    """SQL over a joined row without the quotes that simple names can do without.

    >>> print(joined_sql('''"b.price" > "a.low" AND "x.y" <> '"q.r"' '''))
    b.price > a.low AND x.y <> '"q.r"'
    """
    return re.sub(r"'(?:[^']|'')*'|\"([a-z_]\w*(?:\.[a-z_]\w*)?)\"", lambda m: m[1] or m[0], untried(sql)).strip()


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


def kept_text(query: JoinQuery, number: int, side: Side) -> str:
    """In what form an input is kept, and for how long."""
    if side.static:
        return f"a table, {form_text(side)}"
    if (until := until_text(query, number)) is None:
        return f"rows ({rows_text(side)}), not kept: no partner can come later"
    return f"{form_text(side)}{'; kept' if side.early else ','} {until}"


def form_text(side: Side) -> str:
    """Rows with their columns, or an aggregation set with what it holds."""
    per = "" if side.static else f" {'in slots' if side.timed else 'per slot'} of {duration_text(side.slot)}"
    if side.early:
        parts = ["count(*)", *(plain_sql(p.lift) for p in side.parts)]
        return f"aggregated early by ({columns_text(side)}){per} into {', '.join(parts)}"
    return f"kept as rows ({rows_text(side)}){per}"


def rows_text(side: Side) -> str:
    """What a row of a side has."""
    columns = [columns_text(side), *(plain_sql(p.unit) for p in side.parts), "time" if side.timed else ""]
    return ", ".join(dict.fromkeys(filter(None, columns)))


def until_text(query: JoinQuery, number: int) -> str | None:
    """How long the rows of a stream are kept; None where they are not."""
    given = query.inputs[number]
    others = [i.alias for n, i in enumerate(query.inputs) if i.is_stream and n != number]
    if query.every is None and not others:
        return None
    if given.length is None:
        return "for ever"
    frontier = f"the frontier of {', '.join(others)}" if query.every is None else "the frontier"
    if query.every is None and given.kind == TUMBLE:
        return f"until {frontier} leaves their window of {duration_text(given.length)}"
    return f"until {frontier} is {duration_text(given.length)} past them"


def together_texts(query: JoinQuery) -> Iterator[str]:
    """The condition on time of joined rows: none may have left its window when the last one comes."""
    streams = [i for i in query.inputs if i.is_stream]
    tumbling = [i for i in streams if i.kind == TUMBLE]
    if len(tumbling) > 1:
        yield f"{', '.join(i.alias for i in tumbling)} in the same window of {duration_text(tumbling[0].length or 0)}"
    yield from (_after(other, i) for i in streams if i.kind == RANGE for other in streams if other is not i)


def _after(later: JoinInput, given: JoinInput) -> str:
    return f"{later.alias} less than {duration_text(given.length or 0)} after {given.alias}"
