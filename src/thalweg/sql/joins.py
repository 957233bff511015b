"""A SELECT over several inputs, over one with a window in FROM, or of the rows of a stream as they are, to a join of the query model."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from thalweg.expr.nodes import Column
from thalweg.expr.typing import Typing
from thalweg.model.query import ANTI, DELETED, PASSING, SEMI, Output, Query, QueryInput, Term
from thalweg.model.target import Target
from thalweg.sql.aggregates import groups_rows
from thalweg.sql.attaching import attached_inputs, check_attached
from thalweg.sql.grouping import group_items, names_window
from thalweg.sql.inputs import Known, bind_inputs
from thalweg.sql.instants import bind_every, emits_changes
from thalweg.sql.join_conditions import bind_conditions
from thalweg.sql.join_results import WINDOW_END, WINDOW_HINT, JoinResults, instant, row_outputs
from thalweg.sql.joined import JoinedRows
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
    kinds = attached_inputs(source, select, inputs)
    hidden = frozenset(n for n, (kind, _) in kinds.items() if kind in (SEMI, ANTI))
    rows = JoinedRows(source, inputs, bind_using(source, select, inputs, hidden), typing, kinds)
    conditions = bind_conditions(rows, select, kinds)
    placed = bounded(source, select, inputs, conditions)
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
    if all(o.expr != WINDOW_END for o in outputs):
        outputs += (
            _added(rows, select, outputs, Output("window_end", WINDOW_END), "the instant of a result is"),
        )
    if changes:
        outputs += (
            _added(
                rows,
                select,
                outputs,
                Output(DELETED, Column(DELETED, "BOOLEAN")),
                "the mark of EMIT CHANGES is",
            ),
        )
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


def _added(
    rows: JoinedRows, select: exp.Select, outputs: tuple[Output, ...], output: Output, what: str
) -> Output:
    """A result that comes with the query's own, whose name must be free."""
    for item, taken in zip(select.expressions, outputs, strict=False):
        if taken.name.lower() == output.name:
            raise rows.source.at(item, f"{what} named {output.name} too", "rename this one with AS")
    return output
