"""Pools: queries that ask the same of the same inputs but for which rows, how far back, and what is shown, computed as one.

A pool's query is a query like others. Each row of its inputs has a *query-set*, the bits of the members that take it; of joined rows it is
what their rows have in common, and it is one more grouping key. So every way to evaluate a join evaluates a pool.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import gcd

from thalweg.expr.nodes import Call, Case, Cast, Column, Expr, Literal
from thalweg.model.query import (
    PASSING,
    RANGE,
    STATIC,
    TUMBLE,
    UNBOUNDED,
    Chosen,
    ColumnRef,
    Output,
    Query,
    QueryInput,
    Term,
    joined_name,
)
from thalweg.once import once
from thalweg.plan.core import core

SET = "__set"
"""The column of a query-set."""
MEMBER = "__member"
"""The column of the number of the one query that a row is of."""
TYPE = "UBIGINT"
BITS = 64
"""Members of one pool: as many as a number has bits."""
ALL = (1 << BITS) - 1


@dataclass(frozen=True)
class Member:
    """A query of a pool: its bit, and per input the event time from which on its rows count."""

    query: Query
    bit: int
    starts: tuple[int | None, ...]


@once
def pattern(query: Query) -> Query:
    """What queries must have in common to be computed as one."""
    asked = core(query)
    rows = query.every is None
    return replace(
        asked,
        inputs=tuple(_common(given, rows) for given in asked.inputs),
        residue=(),
        columns=(),
        aggregates=(),
        outputs=(),
        every=None if rows else 1,
        grain=None,
    )


def _common(given: QueryInput, rows: bool) -> QueryInput:
    """An input without its conditions, and without the length of its window. Joined rows may have it without end, too; at instants that are
    a length apart what tumbles is what ranges."""
    bare = replace(given, where=())
    varies = (RANGE, UNBOUNDED) if rows else (RANGE, TUMBLE)
    return replace(bare, kind=RANGE, length=None) if given.kind in varies else bare


def template(queries: Iterable[Query]) -> Query:
    """What a pool of some queries keeps and computes, whoever of them is in it: all columns and aggregates that they need."""
    asked = [core(q) for q in queries]
    read = {c for q in asked for c in (*q.columns, *(c for t in q.residue for c in t.columns))}
    aggregates = tuple(dict.fromkeys(a for q in asked for a in q.aggregates))
    every, grain = often(asked), None if asked[0].every is None else gcd(*(q.slot for q in asked))
    return replace(
        pattern(asked[0]), columns=tuple(sorted(read)), aggregates=aggregates, every=every, grain=grain
    )


def often(queries: Iterable[Query]) -> int | None:
    """The distance of instants at which all that some queries ask for are found; None where joined rows are the result."""
    found = [q.every for q in queries if q.every is not None]
    return gcd(*found) if found else None


def fits(query: Query, shape: Query) -> bool:
    """Whether a pool with a template has all that a query of its pattern needs."""
    asked = core(query)
    read = {*asked.columns, *(c for t in asked.residue for c in t.columns)}
    is_whole = shape.grain is None or query.slot % shape.grain == 0
    is_given = shape.every is None or (query.every or 0) % shape.every == 0
    return (
        is_whole
        and is_given
        and read <= set(shape.columns)
        and set(asked.aggregates) <= set(shape.aggregates)
    )


def lengths(query: Query) -> tuple[int | None, ...]:
    """The lengths of the windows of a query's inputs."""
    return tuple(given.length for given in query.inputs)


def pooled(shape: Query, pool: str, members: Sequence[Member], gone: Sequence[Member] = ()) -> Query:
    """The query of a pool. Rows of those that are gone may still be there: nothing of them may change but that no more come."""
    inputs = tuple(
        _input(given, n, pool, members if given.is_stream else (*members, *gone), shape.every)
        for n, given in enumerate(shape.inputs)
    )
    whole = _set_term(shape, (*members, *gone))
    bare = _set_term(shape, ()) if shape.every is None else whole
    nonzero = Term(Call("<>", (bare.expr, number(0)), "BOOLEAN"), bare.columns)
    shown = (*outputs_of(members), Output(SET, whole.expr)) if shape.every is None else ()
    columns = tuple(sorted({*shape.columns, *whole.columns}))
    keys = () if shape.every is None else (*shape.keys, whole)
    return replace(shape, inputs=inputs, residue=(nonzero,), columns=columns, keys=keys, outputs=shown)


@once
def unpooled(asked: Query) -> Query:
    """The template of a pool's query."""
    return replace(
        asked,
        inputs=tuple(_common(replace(i, sets=(), pool=""), asked.every is None) for i in asked.inputs),
        residue=(),
        columns=tuple(c for c in asked.columns if c.name != SET),
        keys=asked.keys[:-1] if asked.every is not None else (),
        outputs=(),
    )


def outputs_of(members: Iterable[Member]) -> tuple[Output, ...]:
    """All that members show of joined rows, each expression once, under names of its own."""
    shown = dict.fromkeys(o.expr for m in members for o in core(m.query).outputs)
    return tuple(Output(f"o{n}", expr) for n, expr in enumerate(shown))


def numbered(query: Query) -> Query:
    """A query with numbers for names of its outputs, which no user gives."""
    return replace(query, outputs=tuple(Output(f"o{n}", o.expr) for n, o in enumerate(query.outputs)))


def shown_columns(asked: Query, query: Query) -> dict[str, str]:
    """For each output of a member the column of the pool's rows that has it."""
    places = {o.expr: o.name for o in asked.outputs}
    return {o.name: places[o.expr] for o in core(query).outputs}


def _input(
    given: QueryInput, number_: int, pool: str, members: Sequence[Member], every: int | None
) -> QueryInput:
    """An input with the rows of each member; its window is the longest of theirs."""
    own = [m.query.inputs[number_] for m in members]
    sets = {
        m.bit: Chosen(
            m.bit, o.where, m.starts[number_], o.length, None if m.query.every == every else m.query.every
        )
        for m, o in zip(members, own, strict=True)
    }
    made = replace(given, sets=tuple(sets[b] for b in sorted(sets)), pool=pool)
    if given.kind in (STATIC, TUMBLE, PASSING) or given.length is not None:
        return made
    lengths = [o.length for o in own]
    longest = None if None in lengths else max((n for n in lengths if n is not None), default=None)
    return replace(made, kind=UNBOUNDED if longest is None else RANGE, length=longest)


def _set_term(shape: Query, members: Sequence[Member]) -> Term:
    """The query-set of a joined row: what its rows have in common, without those whose other conditions it does not satisfy."""
    refs = tuple(ColumnRef(n, SET, TYPE) for n in range(len(shape.inputs)))
    expr: Expr = Column(joined_name("i0", SET), TYPE)
    for ref in refs[1:]:
        expr = Call("&", (expr, Column(joined_name(f"i{ref.input}", SET), TYPE)), TYPE)
    residues: dict[Term, int] = {}
    for member in members:
        for term in core(member.query).residue:
            residues[term] = residues.get(term, 0) | 1 << member.bit
    for term, bits in residues.items():
        mask = Case(((term.expr, number(ALL)),), TYPE, number(ALL & ~bits))
        expr = Call("&", (expr, mask), TYPE)
    read = sorted({*refs, *(c for t in residues for c in t.columns)})
    return Term(expr, tuple(read))


def number(value: int) -> Expr:
    """A query-set as a constant."""
    return Cast(Literal(str(value), "HUGEINT"), TYPE)
