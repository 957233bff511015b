"""The definition of a query over queries: the results of the inner ones over all the data, as streams that the outer one reads.

No code is shared with the engine: inner queries are computed by their own definitions, one after another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from thalweg.expr.quoting import identifier
from thalweg.model.nesting import RESULT_TIME
from thalweg.model.query import FULL, Query
from thalweg.model.stream import Column, Stream
from thalweg.model.windows import Window
from thalweg.testing.reference import connect, frontier, load_rows, reference
from thalweg.testing.reference_joins import NONE, Batches, reference_join
from thalweg.testing.reference_told import reference_told


@dataclass(frozen=True)
class Data:
    """Streams with all their micro-batches, tables, and from which event time on each stream counts, where that is not from the first;
    of results, which may be none, also the frontier that they have `reached`."""

    streams: Mapping[str, Stream]
    batches: Batches
    relations: Mapping[str, pa.Table] = field(default_factory=lambda: NONE)
    begins: Mapping[str, int] = field(default_factory=dict)
    reached: Mapping[str, int | None] = field(default_factory=dict)


def reference_any(query: Query, data: Data, until: int | None = None) -> pa.Table:
    """The result of any query once all batches were read."""
    whole = with_results(query, data)
    if query.unites:
        return reference_union(query, whole)
    if query.windows:
        batches = [b[query.stream] for b in whole.batches if query.stream in b]
        return reference(query, whole.streams[query.stream], batches, whole.begins.get(query.stream), until)
    if query.told:
        batches = [b[query.stream] for b in whole.batches if query.stream in b]
        return reference_told(query, whole.streams[query.stream], batches, whole.begins.get(query.stream))
    begins = {s: b for s, b in whole.begins.items() if s in query.streams}
    return reference_join(query, whole.streams, whole.batches, whole.relations, begins, until, whole.reached)


def with_results(query: Query, data: Data) -> Data:
    """Data with the results of what is nested in a query, each as a stream of one batch, whose frontier is the inner query's: that is its
    highest event time less its delay, so the delay is what makes it so."""
    for inner in query.nested:
        whole = with_results(inner, data)
        rows, reached = reference_any(inner, data), _frontier(inner, whole)
        columns = tuple(Column(o.name, o.type) for o in inner.outputs)
        top = pc.max(rows.column(RESULT_TIME).cast(pa.timestamp("us")).cast(pa.int64())).as_py()
        delay = 0 if top is None or reached is None else top - reached
        begin = _begin(inner, whole.begins)
        data = replace(
            data,
            streams={**data.streams, inner.name: Stream(inner.name, columns, RESULT_TIME, delay)},
            batches=[*data.batches, {inner.name: rows}],
            begins={**data.begins, **({} if begin is None else {inner.name: begin})},
            reached={**data.reached, inner.name: reached},
        )
    return data


def reference_union(query: Query, data: Data) -> pa.Table:
    """The rows of a union: of each stream those that are not late and satisfy the conditions, shown in the same columns."""
    with connect() as db:
        for n, part in enumerate(query.inputs):
            load_rows(
                db,
                f"part{n}",
                data.streams[part.source],
                [b[part.source] for b in data.batches if part.source in b],
            )
        parts = [
            f"SELECT {', '.join(f'{o.sql} AS {identifier(o.name)}' for o in part.shown)} FROM part{n}"
            f" WHERE {' AND '.join(['NOT __late', '__ts IS NOT NULL', *(f'({c.sql})' for c in part.where)])}"
            for n, part in enumerate(query.inputs)
        ]
        return db.sql(" UNION ALL ".join(parts)).to_arrow_table()


def _frontier(query: Query, data: Data) -> int | None:
    found = [
        data.reached[s]
        if s in data.reached
        else frontier(data.streams[s], [b[s] for b in data.batches if s in b])
        for s in query.streams
    ]
    return None if None in found else min(f for f in found if f is not None) - _behind(query)


def _behind(query: Query) -> int:
    """How far below the frontier of its streams the rows are that may still come out without a partner, or with a first one."""
    attached = [a for a in query.attached if query.inputs[a.input].is_stream]
    if query.every is not None or not attached:
        return 0
    others = [n for n in range(len(query.inputs)) if n not in [a.input for a in query.attached]]
    inner = min(length for n in others if (length := query.inputs[n].length) is not None)
    full = [query.inputs[a.input].length or 0 for a in attached if a.kind == FULL]
    return max(inner, *full, 0) - 1


def _begin(query: Query, begins: Mapping[str, int]) -> int | None:
    """The end of the last result that would not be whole."""
    found = [(i, begins[i.source]) for i in query.inputs if i.source in begins]
    if not found:
        return None
    if query.windows:
        return max(_last_end(w.window, found[0][1]) for w in query.windows)
    if query.unites or query.running is not None:
        return max(b for _, b in found)
    first = max(b + (1 if i.length is None else i.length) for i, b in found)
    return first if query.every is None else (-(-first // query.every) - 1) * query.every


def _last_end(window: Window, begin: int) -> int:
    """The end of the last instance that starts before an instant; of sessions of one row, of the last that may be part of an earlier one."""
    if window.session:
        return begin - 2 + 2 * window.range
    return (begin - 1 - window.offset) // window.slide * window.slide + window.offset + window.range
