"""SELECTs within a query that are computed before it: each is bound as a query by itself, and the outer one reads its results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from thalweg.expr.nodes import Column
from thalweg.model.aggregates import listed
from thalweg.model.nesting import RESULT_TIME, nested, results_of
from thalweg.model.query import DELETED, TAKEN_BACK, WINDOW_COLUMNS, Output, Query
from thalweg.model.stream import Stream
from thalweg.model.windows import Window

ENDS, STARTS = "window_end", "window_start"


@dataclass(frozen=True)
class Inner:
    """An inner query as it is read: the stream of its results, and by the names that users give its columns, those of the stream."""

    query: Query
    stream: Stream
    columns: Mapping[str, str]

    @property
    def window(self) -> Window | None:
        """The tumbling window that has the results of one instance, or of one instant, together; None where these have several."""
        return window_of_results(self.query)

    @property
    def times(self) -> frozenset[str]:
        """The columns that are the event time of a joined row, by the stream's names."""
        (time,) = (o.expr for o in self.query.outputs if o.name == RESULT_TIME)
        return frozenset(o.name for o in self.query.outputs if o.expr == time)

    def columns_of(self, end: str) -> frozenset[str]:
        """The columns that are the start, or the end, of a result's window, by the stream's names."""
        return frozenset(columns_of(self.query, end))


def inner_of(query: Query, times: Mapping[str, str]) -> Inner:
    """A query as another one reads it. What it calls as windows' columns are called gets another name: these are the outer one's own."""
    taken = {o.name.lower() for o in query.outputs}
    names = {o.name: free_name(o.name, taken) for o in query.outputs}
    outputs = tuple(Output(names[o.name], o.expr) for o in query.outputs)
    if query.retracts:
        names = {
            o.name: names[o.name] for o in query.outputs if not o.expr.columns & {query.instant, DELETED}
        }
    made = nested(replace(query, outputs=outputs), times)
    return Inner(made, results_of(made), names)


def free_name(name: str, taken: set[str]) -> str:
    """A name that no column of a window has, no event time of a result and no mark of a change."""
    if name.lower() not in (*WINDOW_COLUMNS, "window", RESULT_TIME, TAKEN_BACK):
        return name
    found = f"inner_{name.lower()}"
    while found in taken:
        found = f"inner_{found}"
    return found


def window_of_results(query: Query) -> Window | None:
    """The tumbling window whose instances end as those of a query do.

    >>> from thalweg.model.windows import NamedWindow
    >>> window_of_results(Query("q", "", (), (), windows=(NamedWindow("w", Window(10, 4)),)))
    Window(range=4, slide=4, offset=2)
    """
    if query.every is not None:
        return Window(query.every, query.every)
    if len(query.windows) != 1:
        return None
    window = query.windows[0].window
    if window.session:
        return None
    return Window(window.slide, window.slide, window.offset + window.range)


def columns_of(query: Query, end: str) -> set[str]:
    """The results that are the start, or the end, of the window of each: as such, or as keys that are that of what it reads itself."""
    found = {o.name for o in query.outputs if o.expr == Column(end, "TIMESTAMP") and o.name != RESULT_TIME}
    read = next((q for q in query.nested if q.name == query.stream), None)
    if read is None or [w.window for w in query.windows] != [window_of_results(read)]:
        return found
    exprs = {f"k{i}": k.expr for i, k in enumerate(query.keys)}
    if query.unnested:
        exprs = {f"r{i}": e for i, e in enumerate(listed(query.calls[0]))}
    keys = {n for n, e in exprs.items() if e.columns & columns_of(read, end) and isinstance(e, Column)}
    return found | {o.name for o in query.outputs if isinstance(o.expr, Column) and o.expr.name in keys}
