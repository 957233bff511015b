"""What a join gives back: aggregates of its rows at each instant, or the rows themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from thalweg.expr.nodes import Column, Expr
from thalweg.model.query import DELETED, TAKEN_BACK, Aggregate, ColumnRef, Output, QueryAggregate, Term
from thalweg.model.stream import Stream
from thalweg.sql.aggregates import aggregate_type, bind_aggregate
from thalweg.sql.builder import is_star
from thalweg.sql.joined import JoinedRows
from thalweg.sql.over_changes import check_call
from thalweg.sql.results import Results, checked_result, output_name

WINDOW_END = Column("window_end", "TIMESTAMP")
WINDOW_HINT = "write [RANGE ...] after the stream in FROM, and EVERY at the end"
BY_TIME = {
    "FIRST": "MIN_BY(x, {})",
    "LAST": "MAX_BY(x, {})",
    "COLLECT_LIST": "COLLECT_SET(x), which has an order of its own",
}
"""Aggregates by event time, which only windows in GROUP BY have, with what to write elsewhere."""


class JoinResults(Results[QueryAggregate]):
    """Groups of joined rows at an instant."""

    def __init__(self, rows: JoinedRows, keys: Sequence[Term]) -> None:
        super().__init__(rows, keys)
        self.rows = rows

    def bind(self, node: exp.Expr) -> tuple[QueryAggregate, str]:
        """The aggregate that a call asks for, over one input where it reads no other, and its type."""
        rows = self.rows
        call = bind_aggregate(rows.builder("an aggregate"), node)
        if call.function in BY_TIME:
            time = next(f"{i.alias}.{i.origin.time}" for i in rows.inputs if isinstance(i.origin, Stream))
            where = "over a join" if len(rows.inputs) > 1 else "without a window in GROUP BY"
            hint = f"use {BY_TIME[call.function].format(time)}"
            raise rows.source.at(node, f"{call.function} {where} is not supported", hint)
        if any(isinstance(i.origin, Stream) and TAKEN_BACK in i.types for i in rows.inputs):
            check_call(rows.source, node, call)
        type_, read = aggregate_type(call, rows.typing), rows.read(*call.exprs)
        inputs = {c.input for c in read}
        if len(inputs) != 1 or inputs & rows.nullable:
            return QueryAggregate(call, None, read), type_
        return QueryAggregate(bare_call(rows, call), inputs.pop()), type_

    def window_column(self, node: exp.Column) -> Expr:
        """`window_end`, the instant."""
        return instant(self.rows, node)

    def window(self, node: exp.Expr) -> Expr:
        """Refused: the windows of a join stand in FROM."""
        raise self.rows.source.at(node, "a window here is not supported in a join", WINDOW_HINT)


def bare_call(rows: JoinedRows, call: Aggregate) -> Aggregate:
    """An aggregate of one input over the bare columns of that."""
    return replace(
        call,
        args=tuple(map(rows.bare, call.args)),
        where=None if call.where is None else rows.bare(call.where),
    )


def instant(rows: JoinedRows, node: exp.Expr) -> Expr:
    """The instant of a result, which is all that is known of the windows of a join."""
    if node.name.lower() not in ("window_end", "end"):
        is_join, written = len(rows.inputs) > 1, rows.source.written(node)
        where = "in a join" if is_join else "without a window in GROUP BY"
        hint = (
            "the windows of a join may start apart"
            if is_join
            else "or add a window, such as TUMBLE '1 minute'"
        )
        raise rows.source.at(node, f"{written} is not known {where}", f"use window_end; {hint}")
    return WINDOW_END


def with_instant(
    rows: JoinedRows, select: exp.Select, outputs: tuple[Output, ...], marked: bool
) -> tuple[Output, ...]:
    """Results with their instant, where SELECT doesn't name it, and with the mark of changes."""
    if all(o.expr != WINDOW_END for o in outputs):
        end = Output("window_end", WINDOW_END)
        outputs += (_added(rows, select, outputs, end, "the instant of a result is"),)
    if marked:
        mark = Output(DELETED, Column(DELETED, "BOOLEAN"))
        outputs += (_added(rows, select, outputs, mark, "the mark of EMIT CHANGES is"),)
    return outputs


def _added(
    rows: JoinedRows, select: exp.Select, outputs: tuple[Output, ...], output: Output, what: str
) -> Output:
    """A result that comes with the query's own, whose name must be free."""
    if any(taken.name.lower() == output.name for taken in outputs):
        items = {output_name(rows, i).lower(): i for i in select.expressions if not is_star(i)}
        items |= {i.alias.lower(): i for i in select.expressions if isinstance(i, exp.Alias)}
        at = items.get(output.name, select.expressions[0])
        raise rows.source.at(at, f"{what} named {output.name} too", "rename this one with AS")
    return output


def row_outputs(rows: JoinedRows, select: exp.Select) -> tuple[tuple[Output, ...], tuple[ColumnRef, ...]]:
    """The result columns over the joined row, and the columns that they read."""
    terms: dict[str, Term] = {}
    outputs: list[Output] = []
    for item in select.expressions:
        for name, term in _expanded(rows, item, terms):
            if name.lower() in terms:
                hint = (
                    "name the columns instead of *, and rename one with AS"
                    if is_star(item)
                    else "rename one with AS"
                )
                raise rows.source.at(item, f"two results are named {name}", hint)
            terms[name.lower()] = term
            outputs.append(Output(name, term.expr))
    return tuple(outputs), tuple(sorted({c for t in terms.values() for c in t.columns}))


def _expanded(rows: JoinedRows, item: exp.Expr, terms: dict[str, Term]) -> Iterator[tuple[str, Term]]:
    """The results of an item of SELECT: one, or all columns that a star stands for."""
    if is_star(item):
        for column in starred(rows, item):
            yield column.name, Term(rows.column_of(column), (column,))
        return
    node = item.this if isinstance(item, exp.Alias) else item
    expr = checked_result(rows, node, rows.builder("SELECT", terms).tree(node))
    name = item.alias if isinstance(item, exp.Alias) else output_name(rows, node)
    yield name, Term(expr, rows.read(expr))


def starred(rows: JoinedRows, star: exp.Expr) -> tuple[ColumnRef, ...]:
    if not isinstance(star, exp.Column):
        return rows.using.star
    rows.check_qualifier(star)
    index = rows.index(star) or 0
    return tuple(ColumnRef(index, c.name, c.type) for c in rows.inputs[index].origin.columns)
