"""The groups as the scope of SELECT and HAVING: keys, aggregates and the columns of the window."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from sqlglot import exp

from thalweg.errors import SqlError
from thalweg.expr.nested import is_storable
from thalweg.expr.nodes import NULL, TRUE, Column, Expr
from thalweg.expr.types import TYPES_HINT
from thalweg.expr.typing import InferenceError
from thalweg.model.query import Aggregate, Output, QueryAggregate, Term
from thalweg.sql.aggregates import is_aggregate
from thalweg.sql.builder import Builder, is_star
from thalweg.sql.nodes import WindowCall
from thalweg.sql.rows import FORMS, Scope, is_window_reference
from thalweg.sql.source import UNLIKE, one_line

A = TypeVar("A", Aggregate, QueryAggregate)


class Results(ABC, Generic[A]):
    """Builds what a query gives back, and collects the aggregates that it needs, each once."""

    def __init__(self, rows: Scope, keys: Sequence[Expr | Term]) -> None:
        self._scope = rows
        self.aggregates: list[A] = []
        self.aliases: dict[str, Expr] = {}
        self._rows = rows.builder("GROUP BY")
        self._keys = {_expr(k): Column(f"k{i}", k.type) for i, k in enumerate(keys)}

    @abstractmethod
    def bind(self, node: exp.Expr) -> tuple[A, str]:
        """The aggregate that a call asks for, and its type."""

    @abstractmethod
    def window_column(self, node: exp.Column) -> Expr:
        """What is meant by a reference to a column of the window."""

    @abstractmethod
    def window(self, node: exp.Expr) -> Expr:
        """What is meant by a window that is written as a call, or of a field of it."""

    def builder(self, in_having: bool = False) -> Builder:
        """What builds expressions over groups."""
        return Builder(
            self._scope.source, FORMS, self._scope.typing, lambda node: self._leaf(node, in_having)
        )

    def outputs(self, select: exp.Select) -> tuple[Output, ...]:
        """The result columns, one for each item of SELECT."""
        outputs: dict[str, Output] = {}
        for item in select.expressions:
            output = self._output(item)
            if output.name.lower() in outputs:
                raise self._scope.source.at(
                    item, f"two results are named {output.name}", "rename one with AS"
                )
            outputs[output.name.lower()] = output
        return tuple(outputs.values())

    def having(self, select: exp.Select) -> Expr | None:
        """The condition of HAVING."""
        having = select.args.get("having")
        condition = TRUE if having is None else self.builder(in_having=True).condition(having.this)
        return None if condition == TRUE else condition

    def _output(self, item: exp.Expr) -> Output:
        node = item.this if isinstance(item, exp.Alias) else item
        if is_star(node):
            raise self._scope.source.at(node, "* can't be grouped", "name the grouping keys and aggregates")
        expr = checked_result(self._scope, node, self.builder().tree(node))
        name = item.alias if isinstance(item, exp.Alias) else output_name(self._scope, node)
        self.aliases.setdefault(name.lower(), expr)
        return Output(name, expr)

    def _leaf(self, node: exp.Expr, in_having: bool) -> Expr | None:
        if is_aggregate(node):
            return self._aggregate(node)
        if isinstance(node, WindowCall) or (isinstance(node, exp.Dot) and isinstance(node.this, WindowCall)):
            return self.window(node)
        if not isinstance(node, exp.Literal) and (key := self._key(node)) is not None:
            return key
        return self._column(node, in_having) if isinstance(node, exp.Column) else None

    def _key(self, node: exp.Expr) -> Expr | None:
        """The key that a node is, whatever way it is written."""
        try:
            return self._keys.get(self._rows.tree(node))
        except SqlError:
            return None

    def _column(self, node: exp.Column, in_having: bool) -> Expr:
        alias = self.aliases.get(node.name.lower()) if node.args.get("table") is None else None
        preferred = alias is not None and in_having and not is_window_reference(node)
        declared = None if preferred else self._scope.column(node)
        if declared is None and is_window_reference(node):
            return self.window_column(node)
        if alias is not None and (declared is None or in_having):
            return alias
        self._scope.check_qualifier(node)
        if declared is None:
            raise self._scope.unknown(node)
        hint = f"add it to GROUP BY, or write MAX({self._scope.source.written(node)})"
        raise self._scope.source.at(node, f"column {declared} is neither grouped nor aggregated", hint)

    def _aggregate(self, node: exp.Expr) -> Expr:
        for star in filter(is_star, node.find_all(exp.Column)):
            self._scope.check_qualifier(star)
        try:
            aggregate, type_ = self.bind(node)
        except InferenceError as error:
            raise self._scope.source.at(node, one_line(error), UNLIKE) from None
        if aggregate not in self.aggregates:
            self.aggregates.append(aggregate)
        return Column(f"a{self.aggregates.index(aggregate)}", type_)


def _expr(key: Expr | Term) -> Expr:
    return key.expr if isinstance(key, Term) else key


def checked_result(scope: Scope, node: exp.Expr, expr: Expr) -> Expr:
    """A result, if result files can have one of its type."""
    type_ = expr.type
    if is_storable(type_) or type_ == NULL:
        return expr
    hint = (
        "subtract unix_micros(...) of both"
        if type_ == "INTERVAL"
        else TYPES_HINT.replace("use", "CAST it to")
    )
    raise scope.source.at(node, f"a result can't be of the type {type_}", hint)


def output_name(scope: Scope, node: exp.Expr) -> str:
    """The name of a result that is given none: its column's, else its text."""
    if isinstance(node, exp.Column):
        return scope.column(node) or node.name.lower()
    if isinstance(node, WindowCall):
        return "session_window" if node.args.get("session") else "window"
    return node.name if isinstance(node, exp.Dot) else scope.source.written(node)
