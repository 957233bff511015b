"""The results of windows of one stream."""

from __future__ import annotations

from sqlglot import exp

from thalweg.logical.query import WINDOW_COLUMNS, Aggregate
from thalweg.sql.aggregates import aggregate_type, bind_aggregate
from thalweg.sql.grouping import Grouping
from thalweg.sql.results import Results
from thalweg.sql.rows import Rows
from thalweg.sql.windows import bind_window

_STRUCT = "{'start': \"window_start\", 'end': \"window_end\"}"


class WindowResults(Results[Aggregate]):
    """Groups of rows of a stream, each in one window."""

    def __init__(self, rows: Rows, grouping: Grouping) -> None:
        super().__init__(rows, grouping.keys, WINDOW_COLUMNS)
        self.rows, self.grouping = rows, grouping

    def bind(self, node: exp.Expr) -> tuple[Aggregate, str]:
        """The aggregate that a call asks for, and its type."""
        aggregate = bind_aggregate(self.rows.writer("an aggregate"), node)
        return aggregate, aggregate_type(aggregate, self.rows.stream.types, self.rows.infer)

    def window_column(self, node: exp.Column) -> str:
        """`window_start`, `window.start` and their like; `window` has both ends."""
        return _STRUCT if node.name.lower() == "window" else f'"window_{node.name.lower().removeprefix("window_")}"'

    def window(self, node: exp.Expr) -> str:
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
