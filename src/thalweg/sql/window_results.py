"""The results of windows of one stream."""

from __future__ import annotations

from sqlglot import exp

from thalweg.expr.nodes import Call, Column, Expr
from thalweg.model.query import WINDOW_COLUMNS, Aggregate
from thalweg.sql.aggregates import aggregate_type, bind_aggregate
from thalweg.sql.grouping import Grouping
from thalweg.sql.results import Results
from thalweg.sql.rows import STRUCTS, Rows
from thalweg.sql.windows import bind_window

_START, _END = (Column(f"window_{end}", "TIMESTAMP") for end in ("start", "end"))
_WINDOW = Call("WINDOW", (_START, _END), 'STRUCT("start" TIMESTAMP, "end" TIMESTAMP)')


def window_column(node: exp.Column) -> Expr:
    """What a reference to a column of the window means: `window_start`, `window.start` and their like; `window` has both ends."""
    if node.name.lower() in STRUCTS:
        return _WINDOW
    name = f"window_{node.name.lower().removeprefix('window_')}"
    return Column(name, WINDOW_COLUMNS[name])


class WindowResults(Results[Aggregate]):
    """Groups of rows of a stream, each in one window."""

    def __init__(self, rows: Rows, grouping: Grouping) -> None:
        super().__init__(rows, grouping.keys)
        self.rows, self.grouping = rows, grouping

    def bind(self, node: exp.Expr) -> tuple[Aggregate, str]:
        """The aggregate that a call asks for, and its type."""
        aggregate = bind_aggregate(self.rows.builder("an aggregate"), node)
        return aggregate, aggregate_type(aggregate, self.rows.typing)

    def window_column(self, node: exp.Column) -> Expr:
        """`window_start`, `window.start` and their like; `window` has both ends."""
        named = node.args.get("table") or node
        if named.name.lower() == STRUCTS[1] and not any(w.window.session for w in self.grouping.windows):
            raise self.rows.source.at(
                node, "the query has no session window", "write window_start or window_end"
            )
        return window_column(node)

    def window(self, node: exp.Expr) -> Expr:
        """`window(at, '1 minute')` or a field of it, which must be a window of the query."""
        call = node.this if isinstance(node, exp.Dot) else node
        window = bind_window(self.rows.source, call, self.rows.stream)
        if all(window != named.window for named in self.grouping.windows):
            raise self.rows.source.at(call, "this window is not in GROUP BY", "group by it too")
        if not isinstance(node, exp.Dot):
            return _WINDOW
        if not isinstance(node.expression, exp.Identifier) or node.name.lower() not in ("start", "end"):
            raise self.rows.source.at(node, "a window has start and end", "write window.start or window.end")
        return _START if node.name.lower() == "start" else _END
