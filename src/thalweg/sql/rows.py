"""The rows of the stream as the scope of WHERE, GROUP BY and the arguments of aggregates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from thalweg.expr.nodes import Column, Expr
from thalweg.expr.typing import Typing
from thalweg.model.query import WINDOW_COLUMNS
from thalweg.model.stream import Stream
from thalweg.sql.aggregates import is_aggregate
from thalweg.sql.builder import Builder, Forms, is_star
from thalweg.sql.conditions import CONDITIONS
from thalweg.sql.expressions import OPERATORS
from thalweg.sql.functions import CALLS
from thalweg.sql.nested_values import NESTED_FORMS
from thalweg.sql.source import Source, span_of, suggestion

STRUCTS = ("window", "session_window")
"""What Spark calls a window's start and end together."""
FORMS: Forms = {**CONDITIONS, **OPERATORS, **CALLS, **NESTED_FORMS}
_NO_AGGREGATE = {
    "WHERE": "put the condition into HAVING",
    "ON": "put the condition into HAVING",
    "GROUP BY": "group by the argument, or leave it out",
    "FILTER": "filter rows by their columns",
}
_GROUP = "add GROUP BY with a window, or leave it out"
_NO_WINDOW = {"SELECT": "only aggregates have a window: add GROUP BY with a window, or EVERY to a join"}


class Scope(Protocol):
    """Rows that expressions read: of one stream, or of a join."""

    @property
    def source(self) -> Source:
        """The script."""

    @property
    def typing(self) -> Typing:
        """What gives types."""

    def builder(self, place: str) -> Builder:
        """What builds expressions over rows in some place of the query."""

    def column(self, node: exp.Column) -> str | None:
        """The column that a reference names, in the case of its declaration."""

    def check_qualifier(self, node: exp.Column) -> None:
        """Refuse a reference through a name that the query doesn't read."""

    def unknown(self, node: exp.Column) -> Exception:
        """The error for a column that nothing has."""


@dataclass(frozen=True)
class Rows:
    """The stream that is read, under the name it has in the query."""

    source: Source
    stream: Stream
    alias: str
    typing: Typing

    def builder(self, place: str) -> Builder:
        """What builds expressions over rows in some place of the query."""
        return Builder(self.source, FORMS, self.typing, lambda node: self._leaf(node, place), self._field)

    def expression(self, node: exp.Expr, place: str) -> Expr:
        """An expression over rows."""
        return self.builder(place).tree(node)

    def column(self, node: exp.Column) -> str | None:
        """The column of the stream that a reference names, in the case of its declaration."""
        return next((c.name for c in self.stream.columns if c.name.lower() == node.name.lower()), None)

    def check_qualifier(self, node: exp.Column) -> None:
        """Refuse a reference through a name that is not the stream's."""
        qualifier = node.args.get("table")
        if qualifier is not None and (node.args.get("db") or qualifier.name.lower() != self.alias.lower()):
            hint = suggestion(qualifier.name, [self.alias], "the query reads")
            raise self.source.error(f"unknown stream {qualifier.name}", span_of(qualifier) or (0, 1), hint)

    def unknown(self, node: exp.Column) -> Exception:
        """The error for a column that nothing has."""
        names = [c.name for c in self.stream.columns]
        return self.source.at(
            node,
            f"unknown column {node.name}",
            suggestion(node.name, names, f"columns of {self.stream.name} are"),
        )

    def _field(self, struct: Expr, name: str) -> Expr | None:
        found = self.stream.fields.get(f"{struct.name}.{name}") if isinstance(struct, Column) else None
        return None if found is None else Column(found.name, found.type)

    def _leaf(self, node: exp.Expr, place: str) -> Expr | None:
        refuse_in_rows(self, node, place)
        if not isinstance(node, exp.Column):
            return None
        self.check_qualifier(node)
        name = self.column(node)
        if name is None:
            raise self.unknown(node)
        return Column(name, self.stream.types[name])


def refuse_in_rows(scope: Scope, node: exp.Expr, place: str) -> None:
    """Refuse what has no meaning for a single row: an aggregate, a column of the window, `*`."""
    if is_aggregate(node):
        if place == "an aggregate":
            raise scope.source.at(node, "an aggregate can't be the argument of another", "aggregate once")
        raise scope.source.at(node, f"an aggregate can't stand in {place}", _NO_AGGREGATE.get(place, _GROUP))
    if is_star(node):
        raise scope.source.at(node, "* is not supported here", "name the columns")
    if isinstance(node, exp.Column) and is_window_reference(node) and scope.column(node) is None:
        hint = _NO_WINDOW.get(place, "use it in SELECT or HAVING")
        raise scope.source.at(node, f"{scope.source.written(node)} is not known in {place}", hint)


def is_window_reference(node: exp.Column) -> bool:
    """Whether a reference has the form of a window column: `window_end`, `window.end`, `window`, `session_window.end`."""
    qualifier = node.args.get("table")
    if qualifier is not None:
        return qualifier.name.lower() in STRUCTS and node.name.lower() in ("start", "end")
    return node.name.lower() in (*WINDOW_COLUMNS, *STRUCTS)
