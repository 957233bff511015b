"""The first rows of groups at instants: of one stream without a window, as changes, or of windows in FROM and of joins."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from thalweg.expr.nodes import Column, Expr
from thalweg.model.query import (
    PASSING,
    RANGE,
    UNBOUNDED,
    Aggregate,
    Query,
    QueryAggregate,
    Term,
    joined_name,
)
from thalweg.model.stream import Stream
from thalweg.sql.grouping import names_window
from thalweg.sql.inputs import Input, no_window
from thalweg.sql.instants import bind_every, emits_changes
from thalweg.sql.join_results import WINDOW_HINT, bare_call, instant, starred, with_instant
from thalweg.sql.joined import JoinedRows
from thalweg.sql.ranked import bind_ranks, partition_of
from thalweg.sql.refusals import table_references
from thalweg.sql.source import Source
from thalweg.sql.windows import is_window


def ranked_inputs(source: Source, select: exp.Select, inputs: tuple[Input, ...]) -> tuple[Input, ...]:
    """Inputs as ranks need them: the only stream without a window is kept for ever, others must have one."""
    tables = table_references(source, select)
    for table, given in zip(tables, inputs, strict=True):
        if given.kind == RANGE and given.length is None:
            raise no_window(source, table, given)
    return tuple(replace(i, kind=UNBOUNDED) if i.kind == PASSING else i for i in inputs)


def ranked_at_instants(
    query: Query, rows: JoinedRows, select: exp.Select, call: exp.Window, unending: bool
) -> Query:
    """The first rows of each group at each instant. Where the only stream is `unending`, they are told as they change, unless EMIT FINAL
    is said; rows that are first by event time are told once, as no later row comes before them."""
    columns = [(ref.name, Column(name, ref.type)) for name, ref in rows.refs.items()]
    found = bind_ranks(rows, select, call, columns, lambda star: _starred(rows, star), instant)
    changes = emits_changes(select) or (unending and select.args.get("emit") is None)
    marked = changes and not (unending and _first_by_time(rows, found.aggregate))
    return replace(
        query,
        outputs=with_instant(rows, select, found.outputs, marked),
        keys=_keys(rows, call),
        aggregates=(_aggregate(rows, found.aggregate),),
        having=found.having,
        every=bind_every(rows.source, select, rows.inputs),
        changes=changes,
        unnested=True,
    )


def _starred(rows: JoinedRows, star: exp.Expr) -> list[tuple[str, Column]]:
    refs = [(c.name, joined_name(rows.inputs[c.input].alias, c.name)) for c in starred(rows, star)]
    return [(name, Column(joined, rows.refs[joined].type)) for name, joined in refs]


def _keys(rows: JoinedRows, call: exp.Window) -> tuple[Term, ...]:
    """What PARTITION BY names; `window_end` is implied."""
    keys: dict[Term, None] = {}
    for item in partition_of(call):
        if is_window(item):
            raise rows.source.at(item, "a window here is not supported in a join", WINDOW_HINT)
        if names_window(rows, item):
            instant(rows, item)
        else:
            keys[rows.term(item, "PARTITION BY")] = None
    return tuple(keys)


def _aggregate(rows: JoinedRows, call: Aggregate) -> QueryAggregate:
    """The list of rows, of one input where it reads no other."""
    read = rows.read(*call.exprs)
    inputs = {c.input for c in read}
    if len(inputs) != 1:
        return QueryAggregate(call, None, read)
    return QueryAggregate(bare_call(rows, call), inputs.pop())


def _first_by_time(rows: JoinedRows, call: Aggregate) -> bool:
    """Whether rows of the only input are in the order of their event time."""
    given, first = rows.inputs[0], _first(call)
    if len(rows.inputs) != 1 or not isinstance(given.origin, Stream):
        return False
    return first == ("ASC", joined_name(given.alias, given.origin.time))


def _first(call: Aggregate) -> tuple[str, str]:
    """The first direction, and the column that it is of, if it is one."""
    by: Expr = call.args[0]
    return call.params[2].split()[0], by.name if isinstance(by, Column) else ""
