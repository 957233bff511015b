"""Groups without a window, SELECT DISTINCT, and the first rows of joins without windows: of all rows so far, told where they change, as of
streams that are `[UNBOUNDED]`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from thalweg.model.nesting import is_nested
from thalweg.model.query import UNBOUNDED
from thalweg.model.stream import Stream
from thalweg.sql.aggregates import groups_rows, is_aggregate
from thalweg.sql.builder import is_star, unwrapped
from thalweg.sql.inputs import Known
from thalweg.sql.nodes import StreamWindow, WindowCall, WindowSet
from thalweg.sql.over import has_over
from thalweg.sql.rows import is_window_reference
from thalweg.sql.running import runs
from thalweg.sql.source import Source, placed
from thalweg.sql.time_bounds import IMPLIED


def with_landmark(source: Source, query: exp.Query, known: Known) -> exp.Query:
    """A query whose groups have a window: where it names none, all rows of its streams; where it has one, the query as it is."""
    if not isinstance(query, exp.Select) or query.find(WindowCall, WindowSet):
        return query
    is_distinct = _is_distinct(query) and not has_over(query)
    if not is_distinct and not groups_rows(query) and not has_over(query):
        return query
    streams = [(t, s) for t in _tables(query) if isinstance(s := known.find(t.name), Stream)]
    if not streams or any(_names_window(query, s) for _, s in streams):
        return query
    windows = [t.args.get("window") for t, _ in streams]
    is_endless = all(w is not None and w.args["kind"].lower() == UNBOUNDED for w in windows)
    if not (is_endless and is_distinct) and not _is_unwindowed(query, [s for _, s in streams]):
        return query
    made = _grouped(source, query) if is_distinct else query.copy()
    for table in _tables(made):
        if isinstance(known.find(table.name), Stream) and table.args.get("window") is None:
            window = placed(StreamWindow(kind=UNBOUNDED.upper()), table)
            window.meta[IMPLIED] = True
            table.set("window", window)
    if made.args.get("emit") is None:
        made.set("emit", exp.var("CHANGES"))
    return made


def _is_unwindowed(select: exp.Select, streams: Sequence[Stream]) -> bool:
    """Whether no stream has a window, where one may be meant: of several, in an inner join of declared ones; alone, unless its rows are ranked,
    which says by itself what is meant."""
    if any(t.args.get("window") is not None for t in _tables(select)):
        return False
    if len(streams) == 1:
        return not has_over(select)
    is_inner = all(not j.side and j.kind in ("", "INNER", "CROSS") for j in select.args.get("joins") or ())
    return is_inner and not runs(select) and not any(is_nested(s.name) for s in streams)


def _is_distinct(select: exp.Select) -> bool:
    """Whether equal rows are to be one; those of groups are told apart already, so that is refused."""
    distinct = select.args.get("distinct")
    aggregates = (n for i in select.expressions for n in i.walk() if is_aggregate(n))
    return (
        distinct is not None
        and not distinct.args.get("on")
        and select.args.get("group") is None
        and next(aggregates, None) is None
    )


def _grouped(source: Source, select: exp.Select) -> exp.Select:
    """SELECT DISTINCT as groups by all that is shown."""
    for star in filter(is_star, select.expressions):
        raise source.at(star, "SELECT DISTINCT * is not supported", "name the columns")
    made = select.copy()
    items = [i.this if isinstance(i, exp.Alias) else i for i in made.expressions]
    made.set("distinct", None)
    made.set("group", placed(exp.Group(expressions=[i.copy() for i in items]), select))
    return made


def _tables(select: exp.Select) -> Iterator[exp.Table]:
    from_ = select.args.get("from_")
    found = () if from_ is None else (from_.this, *(j.this for j in select.args.get("joins") or ()))
    yield from (t for t in found if isinstance(t, exp.Table))


def _names_window(select: exp.Select, stream: Stream) -> bool:
    """Whether the groups are meant to be of windows that nothing says."""
    group = select.args.get("group")
    items = [] if group is None else map(unwrapped, group.expressions)
    columns = {c.name.lower() for c in stream.columns}
    return any(
        isinstance(i, exp.Column) and is_window_reference(i) and i.name.lower() not in columns for i in items
    )
