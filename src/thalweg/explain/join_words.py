"""Joins in words: expressions with the names that the query gives its inputs, windows, and how long something is kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from thalweg.explain.words import call_text, plain_sql, untried
from thalweg.expr.nodes import Expr
from thalweg.model.query import RANGE, TUMBLE, Query, QueryAggregate, QueryInput, joined_name
from thalweg.model.windows import duration_text
from thalweg.plan.nodes import Fragment

_TEXT_OR_NAME = re.compile(r"'(?:[^']|'')*'|\"((?:[^\"]|\"\")+)\"")


def joined_sql(sql: str) -> str:
    """SQL over a joined row without the quotes that simple names can do without.

    >>> print(joined_sql('''"b.price" > "a.low" AND "x.y" <> '"q.r"' '''))
    b.price > a.low AND x.y <> '"q.r"'
    """
    return re.sub(r"'(?:[^']|'')*'|\"([a-z_]\w*(?:\.[a-z_]\w*)?)\"", lambda m: m[1] or m[0], untried(sql)).strip()


def condition_texts(query: Query) -> tuple[str, ...]:
    """What makes rows partners: equalities, then all else."""
    equal = [f"{joined_sql(e.left.sql)} = {joined_sql(e.right.sql)}" for e in query.equalities]
    return (*equal, *(joined_sql(t.sql) for t in query.residue))


def aggregate_text(query: Query, aggregate: QueryAggregate) -> str:
    """An aggregate as the query writes it."""
    call = aggregate.call
    if aggregate.input is not None:
        alias = query.inputs[aggregate.input].alias

        def own(e: Expr) -> Expr:
            return e.renamed(lambda name: joined_name(alias, name))

        call = replace(call, args=tuple(own(a) for a in call.args), where=own(call.where) if call.where else None)
    return joined_sql(call_text(call))


def having_text(query: Query) -> str | None:
    """HAVING with keys and aggregates in place of their numbers."""
    if query.having is None:
        return None
    names = {f"k{i}": joined_sql(k.sql) for i, k in enumerate(query.keys)}
    names |= {f"a{i}": aggregate_text(query, a) for i, a in enumerate(query.aggregates)}
    return _TEXT_OR_NAME.sub(lambda m: names.get(m[1], m[0]) if m[1] else m[0], query.having.sql)


def columns_text(side: Fragment, numbers: tuple[int, ...] | None = None) -> str:
    """Columns of a side, all or some, with commas."""
    return ", ".join(plain_sql(side.columns[i]) for i in (range(len(side.columns)) if numbers is None else numbers))


def kept_text(query: Query, number: int, side: Fragment) -> str:
    """In what form an input is kept, and for how long."""
    if side.static:
        return f"table, {form_text(side)}"
    if (until := until_text(query, number)) is None:
        return f"rows ({rows_text(side)}), no state: no partner can come later"
    return f"{form_text(side)}; kept {until}"


def form_text(side: Fragment) -> str:
    """Rows with their columns, or partial aggregates with what they hold."""
    if side.early:
        per = "" if side.static else f" per {duration_text(side.slot)}"
        return f"partial aggregates by ({columns_text(side)}){per}: {', '.join(plain_sql(p.lift) for p in side.parts)}"
    return f"rows ({rows_text(side)})"


def rows_text(side: Fragment) -> str:
    """What a row of a side has."""
    columns = [columns_text(side), *(plain_sql(p.unit) for p in side.parts), "time" if side.timed else ""]
    return ", ".join(dict.fromkeys(filter(None, columns)))


def until_text(query: Query, number: int) -> str | None:
    """How long the rows of a stream are kept; None where they are not."""
    given = query.inputs[number]
    others = [i.alias for n, i in enumerate(query.inputs) if i.is_stream and n != number]
    if query.every is None and not others:
        return None
    if given.length is None:
        return "for ever"
    watermark = f"the watermark of {', '.join(others)}" if query.every is None else "the watermark"
    if query.every is None and given.kind == TUMBLE:
        return f"until {watermark} leaves their window of {duration_text(given.length)}"
    return f"until {watermark} is {duration_text(given.length)} past them"


def together_texts(query: Query) -> Iterator[str]:
    """The condition on time of joined rows: none may have left its window when the last one comes."""
    streams = [i for i in query.inputs if i.is_stream]
    tumbling = [i for i in streams if i.kind == TUMBLE]
    if len(tumbling) > 1:
        yield f"{', '.join(i.alias for i in tumbling)} in the same window of {duration_text(tumbling[0].length or 0)}"
    yield from (_after(other, i) for i in streams if i.kind == RANGE for other in streams if other is not i)


def _after(later: QueryInput, given: QueryInput) -> str:
    return f"{later.alias} less than {duration_text(given.length or 0)} after {given.alias}"
