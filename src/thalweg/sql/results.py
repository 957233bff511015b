"""The groups as the scope of SELECT and HAVING: keys, aggregates and the columns of the window."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from sqlglot import exp

from thalweg.errors import SqlError
from thalweg.logical.join import JoinAggregate, Term
from thalweg.logical.query import Aggregate, Expr, Output
from thalweg.sql.aggregates import is_aggregate
from thalweg.sql.conditions import all_of, conjunction
from thalweg.sql.inference import NULL, UNLIKE, InferenceError, one_line
from thalweg.sql.nodes import WindowCall
from thalweg.sql.rows import FORMS, Scope, is_window_reference
from thalweg.sql.types import SUPPORTED, TYPES_HINT
from thalweg.sql.writer import Writer, is_star

A = TypeVar("A", Aggregate, JoinAggregate)


class Results(ABC, Generic[A]):
    """Writes what a query gives back, and collects the aggregates that it needs, each once.

    `windows` are the columns of the window that results have.
    """

    def __init__(self, rows: Scope, keys: Sequence[Expr | Term], windows: Mapping[str, str]) -> None:
        self._scope = rows
        self.aggregates: list[A] = []
        self.aliases: dict[str, str] = {}
        self.types = {**windows} | {f"k{i}": k.type for i, k in enumerate(keys)}
        self._row_writer = rows.writer("GROUP BY")
        self._keys = {k.sql: f'"k{i}"' for i, k in enumerate(keys)}

    @abstractmethod
    def bind(self, node: exp.Expr) -> tuple[A, str]:
        """The aggregate that a call asks for, and its type."""

    @abstractmethod
    def window_column(self, node: exp.Column) -> str:
        """The SQL of a reference to a column of the window."""

    @abstractmethod
    def window(self, node: exp.Expr) -> str:
        """The SQL of a window that is written as a call, or of a field of it."""

    def writer(self, in_having: bool = False) -> Writer:
        """What writes expressions over groups."""
        return Writer(self._scope.source, FORMS, lambda sql: self._scope.infer(sql, self.types), lambda node: self._leaf(node, in_having))

    def outputs(self, select: exp.Select) -> tuple[Output, ...]:
        """The result columns, one for each item of SELECT."""
        outputs: dict[str, Output] = {}
        for item in select.expressions:
            output = self._output(item)
            if output.name.lower() in outputs:
                raise self._scope.source.at(item, f"two results are named {output.name}", "rename one with AS")
            outputs[output.name.lower()] = output
        return tuple(outputs.values())

    def having(self, select: exp.Select) -> str | None:
        """The condition of HAVING."""
        having = select.args.get("having")
        return None if having is None else all_of(conjunction(self.writer(in_having=True), having.this))

    def _output(self, item: exp.Expr) -> Output:
        node = item.this if isinstance(item, exp.Alias) else item
        if is_star(node):
            raise self._scope.source.at(node, "* can't be grouped", "name the grouping keys and aggregates")
        writer = self.writer()
        sql, type_ = writer.sql(node), result_type(self._scope, node, writer.type(node))
        name = item.alias if isinstance(item, exp.Alias) else output_name(self._scope, node)
        self.aliases.setdefault(name.lower(), sql)
        return Output(name, sql, type_)

    def _leaf(self, node: exp.Expr, in_having: bool) -> str | None:
        if is_aggregate(node):
            return self._aggregate(node)
        if isinstance(node, WindowCall) or (isinstance(node, exp.Dot) and isinstance(node.this, WindowCall)):
            return self.window(node)
        if not isinstance(node, exp.Literal) and (key := self._key(node)) is not None:
            return key
        return self._column(node, in_having) if isinstance(node, exp.Column) else None

    def _key(self, node: exp.Expr) -> str | None:
        """The key that a node is, whatever way it is written."""
        try:
            return self._keys.get(self._row_writer.sql(node))
        except SqlError:
            return None

    def _column(self, node: exp.Column, in_having: bool) -> str:
        alias = self.aliases.get(node.name.lower()) if node.args.get("table") is None else None
        preferred = alias is not None and in_having and not is_window_reference(node)
        declared = None if preferred else self._scope.column(node)
        if declared is None and is_window_reference(node):
            return self.window_column(node)
        if alias is not None and (declared is None or in_having):
            return f"({alias})" if " " in alias else alias
        self._scope.check_qualifier(node)
        if declared is None:
            raise self._scope.unknown(node)
        hint = f"add it to GROUP BY, or write MAX({self._scope.source.written(node)})"
        raise self._scope.source.at(node, f"column {declared} is neither grouped nor aggregated", hint)

    def _aggregate(self, node: exp.Expr) -> str:
        for star in filter(is_star, node.find_all(exp.Column)):
            self._scope.check_qualifier(star)
        try:
            aggregate, type_ = self.bind(node)
        except InferenceError as error:
            raise self._scope.source.at(node, one_line(error), UNLIKE) from None
        if aggregate not in self.aggregates:
            self.types[f"a{len(self.aggregates)}"] = type_
            self.aggregates.append(aggregate)
        return f'"a{self.aggregates.index(aggregate)}"'


def result_type(scope: Scope, node: exp.Expr, type_: str) -> str:
    """The type of a result, if result files can have it."""
    if type_ in SUPPORTED or type_.startswith(("DECIMAL(", "STRUCT(")) or type_ == NULL:
        return type_
    hint = "subtract unix_micros(...) of both" if type_ == "INTERVAL" else TYPES_HINT.replace("use", "CAST it to")
    raise scope.source.at(node, f"a result can't be of the type {type_}", hint)


def output_name(scope: Scope, node: exp.Expr) -> str:
    """The name of a result that is given none: its column's, else its text."""
    if isinstance(node, exp.Column):
        return scope.column(node) or node.name.lower()
    if isinstance(node, WindowCall):
        return "window"
    return node.name if isinstance(node, exp.Dot) else scope.source.written(node)
