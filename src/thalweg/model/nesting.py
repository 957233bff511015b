"""Queries within queries: the results of the inner one, or the rows of a UNION ALL, are a stream that the outer one reads.

A result of a window, or of an instant, is a row of the last microsecond before that ends, so that a window of the same length sees
the results of one instance together; a joined row is of the latest event time among its members. What the inner query has given out
is all there will be below its frontier, so that is the frontier of its results, and none of them is ever late. Rows of a union keep
their event times, and are late by the stream that they come from; its frontier is the least of these streams'.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from hashlib import sha256

from thalweg.expr.nodes import Call, Expr, Literal
from thalweg.expr.nodes import Column as ColumnExpr
from thalweg.model.attaching import held_back, hidden_inputs
from thalweg.model.query import (
    DELETED,
    ORDERED,
    TAKEN_BACK,
    UNBOUNDED,
    UNITED,
    Aggregate,
    ColumnRef,
    Output,
    Query,
    QueryInput,
    joined_name,
)
from thalweg.model.running import LEAD, ROWS, Frame, RunningCall
from thalweg.model.stream import RESULTS, Column, Stream

MARK = "results-"
"""Begins the name of an inner query, and of the stream of its results; no name that a user gives does."""
RESULT_TIME = "event_time"
"""The column of a result's event time."""
Instants = Mapping[str, int | None]
_END = ColumnExpr("window_end", "TIMESTAMP")
_LAST = Call("-", (_END, Literal("1 microsecond", "INTERVAL")), "TIMESTAMP")


def is_nested(name: str) -> bool:
    """Whether a name is that of an inner query, or of its results."""
    return name.startswith(MARK)


def nested(query: Query, times: Mapping[str, str]) -> Query:
    """A query as another reads it: named by its meaning, each result with its event time; `times` are the time columns of streams. Of changes
    what is shown of the instant is left out: a row that holds no more is told as it was."""
    if query.retracts:
        lasting = tuple(o for o in query.outputs if not o.expr.columns & {query.instant, DELETED})
        mark = Output(TAKEN_BACK, ColumnExpr(DELETED, "BOOLEAN"))
        return _named(replace(query.meaning, outputs=(*lasting, mark, Output(RESULT_TIME, _LAST))))
    if query.windows or query.every is not None:
        timed = replace(query.meaning, outputs=(*query.outputs, Output(RESULT_TIME, _LAST)))
    else:
        shown = [n for n in range(len(query.inputs)) if n not in hidden_inputs(query)]
        refs = tuple(
            ColumnRef(n, times[query.inputs[n].source], "TIMESTAMP")
            for n in shown
            if query.inputs[n].is_stream
        )
        query = _timed_ahead(query, refs)
        output = Output(RESULT_TIME, _latest(query, refs))
        columns = tuple(sorted({*query.columns, *refs}))
        timed = replace(query.meaning, outputs=(*query.outputs, output), columns=columns)
    return _named(timed)


def _timed_ahead(query: Query, refs: tuple[ColumnRef, ...]) -> Query:
    """A query whose rows wait for later ones, with the event time of the last that each waits for among its calls."""
    running = query.running
    if running is None or not running.ahead or (call := _last_awaited(query, refs)) in running.calls:
        return query
    return replace(query, running=replace(running, calls=(*running.calls, call)))


def _last_awaited(query: Query, refs: tuple[ColumnRef, ...]) -> RunningCall:
    assert query.running is not None
    time = Aggregate(LEAD, (ColumnExpr(refs[0].name, "TIMESTAMP"),))
    return RunningCall(time, Frame(ROWS, query.running.ahead))


def united(parts: Iterable[QueryInput], outputs: tuple[Output, ...], inner: tuple[Query, ...]) -> Query:
    """The union of what some streams have, each shown as `outputs` are named; `inner` are the queries whose results are among the streams.

    Rows of a union have their event time in the column RESULT_TIME.
    """
    named = tuple(replace(p, alias=f"part{n}", kind=UNITED) for n, p in enumerate(parts))
    return _named(Query("", "", named, outputs, nested=inner))


def _named(query: Query) -> Query:
    return replace(query, name=f"{MARK}{sha256(repr(query).encode()).hexdigest()[:12]}")


def _latest(query: Query, refs: tuple[ColumnRef, ...]) -> Expr:
    """The latest event time among the members of a joined row, or among a row and those that it waits for."""
    if query.running is not None and query.running.ahead:
        return ColumnExpr(f"o{query.running.calls.index(_last_awaited(query, refs))}", "TIMESTAMP")
    found = tuple(ColumnExpr(joined_name(query.inputs[r.input].alias, r.name), "TIMESTAMP") for r in refs)
    return found[0] if len(found) == 1 else Call("GREATEST", found, "TIMESTAMP")


def apart(query: Query) -> Query:
    """A query whose inner ones that never forget a row, or have sessions, are its own: what these find depends on where they begin, and so
    on whose they are."""
    salt, names = f"{query.name} {query.meaning!r}", dict[str, str]()

    def own(inner: Query) -> Query:
        found = _reading(inner, tuple(map(own, inner.nested)), names)
        if not _remembers(found):
            return found
        names[inner.name] = f"{MARK}{sha256(f'{salt} {inner.name}'.encode()).hexdigest()[:12]}"
        return replace(found, name=names[inner.name])

    return _reading(query, tuple(map(own, query.nested)), names)


def _remembers(query: Query) -> bool:
    endless = any(i.kind in (UNBOUNDED, ORDERED) for i in query.inputs) or any(
        w.window.session for w in query.windows
    )
    return endless or any(map(_remembers, query.nested))


def _reading(query: Query, inner: tuple[Query, ...], names: Mapping[str, str]) -> Query:
    """A query with other names for what it reads."""
    inputs = tuple(
        replace(i, source=names.get(i.source, i.source), alias=names.get(i.alias, i.alias))
        for i in query.inputs
    )
    return replace(query, inputs=inputs, nested=inner)


def results_of(query: Query) -> Stream:
    """The results of an inner query as a stream."""
    columns = tuple(Column(o.name, o.type) for o in query.outputs)
    return Stream(query.name, columns, RESULT_TIME, format=RESULTS)


def all_nested(queries: Iterable[Query]) -> tuple[Query, ...]:
    """The queries within some others to any depth, each once, after those within itself."""
    found: dict[str, Query] = {}
    for query in queries:
        for inner in query.nested:
            found |= {q.name: q for q in (*all_nested((inner,)), inner)}
    return tuple(found.values())


def readers(name: str, queries: Iterable[Query]) -> tuple[str, ...]:
    """Who a query is there for: those that read it, at whatever depth, or itself where it is no inner one."""
    if not is_nested(name):
        return (name,)
    return tuple(q.name for q in queries if any(i.name == name for i in all_nested((q,))))


def frontier_of(streams: Iterable[str], frontiers: Instants) -> int | None:
    """The least frontier of some streams; None while one of them has none."""
    found = [frontiers.get(s) for s in streams]
    known = [f for f in found if f is not None]
    return min(known) if known and len(known) == len(found) else None


def with_frontiers(inner: Iterable[Query], frontiers: Instants) -> dict[str, int | None]:
    """Frontiers with those of the results of inner queries, each of which stands after those within it; rows without a partner come late."""
    found = dict(frontiers)
    for query in inner:
        found[query.name] = held_back(query, frontier_of(query.streams, found))
    return found


def with_tops(inner: Iterable[Query], tops: Instants, frontiers: Instants) -> dict[str, int | None]:
    """Event times up to which rows may have been seen, with those of the results of inner queries: results of windows and instants below
    their frontier, joined and united rows up to the latest of their streams. `frontiers` has those of all."""
    found = dict(tops)
    for query in inner:
        frontier = frontiers.get(query.name)
        if query.windows or query.every is not None:
            found[query.name] = None if frontier is None else frontier - 1
        else:
            seen = [t for s in query.streams if (t := found.get(s)) is not None]
            found[query.name] = max(seen, default=None)
    return found


def complete_from(query: Query, born: Iterable[int | None]) -> int | None:
    """The event time from which on no result is missing, of a query whose inputs count from `born` on; None where that is always so. Of
    sessions those are meant that begin later than a gap after that.

    >>> from thalweg.model.windows import NamedWindow, Window
    >>> hopping = Query("q", "", (), (), windows=(NamedWindow("w", Window(10, 5)),))
    >>> complete_from(hopping, [12])
    20
    """
    starts = list(born)
    begins = [b for b in starts if b is not None]
    if not begins:
        return None
    if query.unites or query.running is not None:
        return max(begins)
    if query.windows:
        whole = [(w.window, w.window.start(w.window.first_whole(begins[0]))) for w in query.windows]
        return max(start + w.range - w.slide for w, start in whole)
    ends = [
        b + (i.length if i.length is not None else 1)
        for i, b in zip(query.inputs, starts, strict=True)
        if b is not None
    ]
    step = query.every or 1
    return (-(-max(ends) // step) - 1) * step if query.every is not None else max(ends)
