"""A SELECT over several inputs, over one with a window in FROM, or of the rows of a stream as they are, to a join of the query model."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from thalweg.expr.typing import Typing
from thalweg.model.query import ANTI, PASSING, SEMI, Query, QueryInput, Term
from thalweg.model.target import Target
from thalweg.sql.aggregates import groups_rows
from thalweg.sql.attaching import attached_inputs, check_attached
from thalweg.sql.grouping import group_items, names_window
from thalweg.sql.inputs import Known, bind_inputs
from thalweg.sql.instants import bind_every, emits_changes
from thalweg.sql.join_conditions import bind_conditions
from thalweg.sql.join_results import WINDOW_HINT, JoinResults, instant, row_outputs, with_instant
from thalweg.sql.joined import JoinedRows
from thalweg.sql.over import has_over
from thalweg.sql.ranked import only_call
from thalweg.sql.ranked_joins import ranked_at_instants, ranked_inputs
from thalweg.sql.source import Source
from thalweg.sql.time_bounds import bounded
from thalweg.sql.using import bind_using
from thalweg.sql.windows import is_window

_ROWS_HINTS = {
    "having": "put the condition into WHERE",
    "every": "each combination of rows is emitted once, when its last row comes; remove EVERY",
    "emit": "each combination of rows is emitted once, when its last row comes; remove EMIT",
}


def bind_join(
    source: Source,
    select: exp.Select,
    known: Known,
    typing: Typing,
    *,
    name: str,
    text: str,
    into: Target | None,
) -> Query:
    """The join that a SELECT asks for; rows of one stream are the smallest of joins."""
    inputs = bind_inputs(source, select, known, rows=not groups_rows(select))
    call = only_call(source, select) if has_over(select) else None
    unending = call is not None and any(i.kind == PASSING for i in inputs)
    inputs = inputs if call is None else ranked_inputs(source, select, inputs)
    kinds = attached_inputs(source, select, inputs)
    if call is not None and kinds:
        hint = "rank rows of one stream, of results of a query, or of an inner join"
        raise source.at(call, "OVER beside an outer, semi or anti join is not supported", hint)
    hidden = frozenset(n for n, (kind, _) in kinds.items() if kind in (SEMI, ANTI))
    rows = JoinedRows(source, inputs, bind_using(source, select, inputs, hidden), typing, kinds)
    conditions = bind_conditions(rows, select, kinds)
    placed = bounded(source, select, inputs, conditions, known)
    query = Query(
        name=name,
        text=text,
        inputs=tuple(
            QueryInput(i.alias, i.origin.name, i.kind, i.length, w)
            for i, w in zip(placed, conditions.where, strict=True)
        ),
        equalities=conditions.equalities,
        residue=conditions.residue,
        outputs=(),
        into=into,
        attached=conditions.attached,
        kept=conditions.kept,
    )
    if call is not None:
        return ranked_at_instants(query, rows, select, call, unending)
    made = (_aggregated if groups_rows(select) else _joined)(query, rows.visible, select)
    check_attached(source, made, placed, kinds)
    return made


def _joined(query: Query, rows: JoinedRows, select: exp.Select) -> Query:
    for clause, hint in _ROWS_HINTS.items():
        node = select.args.get(clause)
        if node is not None:
            raise rows.source.at(node, f"{clause.upper()} needs an aggregate or GROUP BY", hint)
    if len(rows.inputs) == 1 and rows.inputs[0].kind != PASSING:
        hint = "leave the window out for the rows as they come, add an aggregate, or join the stream with another"
        raise rows.source.at(
            select.args["from_"].this, "a stream alone with a window needs an aggregate", hint
        )
    outputs, columns = row_outputs(rows, select)
    return replace(query, outputs=outputs, columns=columns)


def _aggregated(query: Query, rows: JoinedRows, select: exp.Select) -> Query:
    keys = _keys(rows, select)
    results = JoinResults(rows, keys)
    outputs, changes = results.outputs(select), emits_changes(select)
    outputs = with_instant(rows, select, outputs, changes)
    having, every = results.having(select), bind_every(rows.source, select, rows.inputs)
    aggregates = tuple(results.aggregates)
    return replace(
        query, outputs=outputs, keys=keys, aggregates=aggregates, having=having, every=every, changes=changes
    )


def _keys(rows: JoinedRows, select: exp.Select) -> tuple[Term, ...]:
    """The keys of GROUP BY, in its order; `window_end` is implied."""
    keys: dict[Term, None] = {}
    for item in group_items(rows, select):
        if is_window(item):
            raise rows.source.at(item, "a window in GROUP BY is not supported in a join", WINDOW_HINT)
        if names_window(rows, item):
            instant(rows, item)
        else:
            term = rows.term(item, "GROUP BY")
            keys[replace(term, bare=None) if {*term.inputs} & rows.nullable else term] = None
    return tuple(keys)
