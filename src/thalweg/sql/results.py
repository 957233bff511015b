"""The groups as the scope of SELECT and HAVING: keys, aggregates and the columns of the window."""

from __future__ import annotations

from sqlglot import exp

from thalweg.errors import SqlError
from thalweg.logical.query import WINDOW_COLUMNS, Aggregate, Output
from thalweg.sql.aggregates import aggregate_type, bind_aggregate, is_aggregate
from thalweg.sql.grouping import Grouping
from thalweg.sql.inference import InferenceError, one_line
from thalweg.sql.nodes import WindowCall
from thalweg.sql.rows import FORMS, Rows, is_window_reference
from thalweg.sql.windows import bind_window
from thalweg.sql.writer import Writer

_STRUCT = "{'start': \"window_start\", 'end': \"window_end\"}"


class Results:
    """Writes what a query gives back, and collects the aggregates that it needs, each once."""

    def __init__(self, rows: Rows, grouping: Grouping) -> None:
        self.rows, self.grouping = rows, grouping
        self.aggregates: list[Aggregate] = []
        self.aliases: dict[str, str] = {}
        self.types = WINDOW_COLUMNS | {f"k{i}": k.type for i, k in enumerate(grouping.keys)}
        self._row_writer = rows.writer("GROUP BY")
        self._keys = {k.sql: f'"k{i}"' for i, k in enumerate(grouping.keys)}

    def writer(self, in_having: bool = False) -> Writer:
        """What writes expressions over groups."""
        return Writer(self.rows.source, FORMS, lambda sql: self.rows.infer(sql, self.types), lambda node: self._leaf(node, in_having))

    def output(self, item: exp.Expr) -> Output:
        """The result column of an item of SELECT."""
        node = item.this if isinstance(item, exp.Alias) else item
        if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
            raise self.rows.source.at(node, "* can't be grouped", "name the grouping keys and aggregates")
        writer = self.writer()
        sql, type_ = writer.sql(node), writer.type(node)
        name = item.alias if isinstance(item, exp.Alias) else self._name(node)
        self.aliases.setdefault(name.lower(), sql)
        return Output(name, sql, type_)

    def _name(self, node: exp.Expr) -> str:
        if isinstance(node, exp.Column):
            return self.rows.column(node) or node.name.lower()
        if isinstance(node, WindowCall):
            return "window"
        return node.name if isinstance(node, exp.Dot) else self.rows.source.written(node)

    def _leaf(self, node: exp.Expr, in_having: bool) -> str | None:
        if is_aggregate(node):
            return self._aggregate(node)
        if isinstance(node, WindowCall) or (isinstance(node, exp.Dot) and isinstance(node.this, WindowCall)):
            return self._window(node)
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
        declared = self.rows.column(node)
        alias = self.aliases.get(node.name.lower()) if node.args.get("table") is None else None
        if declared is None and is_window_reference(node):
            return _STRUCT if node.name.lower() == "window" else f'"window_{node.name.lower().removeprefix("window_")}"'
        if alias is not None and (declared is None or in_having):
            return f"({alias})" if " " in alias else alias
        self.rows.check_qualifier(node)
        if declared is None:
            raise self.rows.unknown(node)
        hint = f"add it to GROUP BY, or write MAX({declared})"
        raise self.rows.source.at(node, f"column {declared} is neither grouped nor aggregated", hint)

    def _window(self, node: exp.Expr) -> str:
        """`window(at, '1 minute')` or a field of it, which must be a window of the query."""
        call = node.this if isinstance(node, exp.Dot) else node
        window = bind_window(self.rows.source, call, self.rows.stream)
        if all(window != named.window for named in self.grouping.windows):
            raise self.rows.source.at(call, "this window is not in GROUP BY", "group by it too")
        if not isinstance(node, exp.Dot):
            return _STRUCT
        if not isinstance(node.expression, exp.Identifier) or node.name.lower() not in ("start", "end"):
            raise self.rows.source.at(node, "a window has start and end", "write window.start or window.end")
        return f'"window_{node.name.lower()}"'

    def _aggregate(self, node: exp.Expr) -> str:
        aggregate = bind_aggregate(self.rows.writer("an aggregate"), node)
        if aggregate not in self.aggregates:
            try:
                type_ = aggregate_type(aggregate, self.rows.stream.types, self.rows.infer)
            except InferenceError as error:
                raise self.rows.source.at(node, one_line(error)) from None
            self.types[f"a{len(self.aggregates)}"] = type_
            self.aggregates.append(aggregate)
        return f'"a{self.aggregates.index(aggregate)}"'
