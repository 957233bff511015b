"""FROM: the streams with their windows, and the tables, that a query reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from thalweg.model.nesting import is_nested, results_of
from thalweg.model.query import PASSING, RANGE, STATIC, TUMBLE, UNBOUNDED, Query
from thalweg.model.stream import Relation, Stream
from thalweg.sql.inner import Inner, inner_of
from thalweg.sql.refusals import table_references
from thalweg.sql.source import Source, span_of, suggestion
from thalweg.sql.windows import check_time, fixed_length

MOST_INPUTS = 8
NO_WINDOW = "write [RANGE 1 HOUR], [TUMBLE ...] or [UNBOUNDED] after it"
_KINDS = {"RANGE": RANGE, "TUMBLE": TUMBLE, "UNBOUNDED": UNBOUNDED}


BindInner = Callable[[Source, exp.Query, "Known", Mapping[str, Any]], Query]


@dataclass(frozen=True)
class Known:
    """The streams and tables that a query may read, by name, and what is found `within` it while it is bound."""

    streams: Mapping[str, Stream]
    relations: Mapping[str, Relation]
    bind: BindInner
    within: dict[str, Inner] = field(default_factory=dict)

    @property
    def outside(self) -> Known:
        """What a query within this one may read: the same, but for what else is within this one."""
        return replace(self, within={})

    def add(self, query: Query) -> Inner:
        """One more query whose results are read."""
        return self.read(inner_of(query, self.times(query)))

    def read(self, inner: Inner) -> Inner:
        """One more inner query."""
        return self.within.setdefault(inner.stream.name, inner)

    def times(self, query: Query) -> dict[str, str]:
        """The event-time columns of the streams that a query may read."""
        streams = (*self.streams.values(), *(i.stream for i in self.within.values()))
        return {s.name: s.time for s in (*streams, *map(results_of, query.nested))}

    def stream(self, source: Source, table: exp.Table) -> Stream:
        """The stream that a reference names."""
        found = _as_of(source, table, self.find(table.name))
        if isinstance(found, Stream):
            return found
        if isinstance(found, Relation):
            raise source.at(table, f"{found.name} is a table, not a stream", "join it with a stream")
        names = [s.name for s in self.streams.values()]
        hint = suggestion(table.name, names, "streams are") if names else "create it with CREATE STREAM"
        raise source.error(f"unknown stream {table.name}", span_of(table.this) or (0, 1), hint)

    def either(self, source: Source, table: exp.Table) -> Stream | Relation:
        """The stream or table that a reference names."""
        found = _as_of(source, table, self.find(table.name))
        if found is None:
            names = [s.name for s in self.streams.values()] + [r.name for r in self.relations.values()]
            hint = (
                suggestion(table.name, names, "streams and tables are")
                if names
                else "create it with CREATE STREAM or TABLE"
            )
            raise source.error(f"unknown stream or table {table.name}", span_of(table.this) or (0, 1), hint)
        return found

    def find(self, name: str) -> Stream | Relation | None:
        """The stream or table of a name, if there is one."""
        if name in self.within:
            return self.within[name].stream
        everything: dict[str, Stream | Relation] = {**self.relations, **self.streams}
        return next((s for n, s in everything.items() if n.lower() == name.lower()), None)


def _as_of(source: Source, table: exp.Table, found: Stream | Relation | None) -> Stream | Relation | None:
    """What a reference names: only a table is read as of a time."""
    if isinstance(found, Stream) and (time := table.args.get("as_of")) is not None:
        hint = "write a window after the stream instead, such as [RANGE 1 HOUR]"
        raise source.at(time, f"FOR SYSTEM_TIME is for tables, and {found.name} is a stream", hint)
    return found


@dataclass(frozen=True)
class Input:
    """What a query reads under one name, with its window."""

    alias: str
    origin: Stream | Relation
    kind: str
    length: int | None = None

    @property
    def types(self) -> dict[str, str]:
        """Column name to type, fields that can be read apart among them."""
        fields = self.origin.fields.values() if isinstance(self.origin, Stream) else ()
        return {c.name: c.type for c in (*self.origin.columns, *fields)}

    def column(self, name: str) -> str | None:
        """A column in the case of its declaration."""
        return next((c.name for c in self.origin.columns if c.name.lower() == name.lower()), None)


def bind_inputs(source: Source, select: exp.Select, known: Known, rows: bool = False) -> tuple[Input, ...]:
    """What FROM names, in its order. Where `rows` are the results, a stream that meets no other one needs no window, and the windows of
    others may follow from conditions: such a window has no length yet."""
    tables = table_references(source, select)
    if len(tables) > MOST_INPUTS:
        raise source.at(
            tables[MOST_INPUTS], f"a join has at most {MOST_INPUTS} inputs", "join fewer streams and tables"
        )
    origins = [known.either(source, t) for t in tables]
    passing = rows and sum(isinstance(o, Stream) for o in origins) == 1
    inputs: list[Input] = []
    for table, origin in zip(tables, origins, strict=True):
        input_ = _input(source, table, origin, rows, passing)
        if input_.alias.lower() in (i.alias.lower() for i in inputs):
            raise source.at(
                table, f"two inputs are named {input_.alias}", "give one of them another name with AS"
            )
        inputs.append(input_)
    if all(i.kind == STATIC for i in inputs):
        what = (
            "the join reads no stream"
            if len(inputs) > 1
            else f"{inputs[0].origin.name} is a table, not a stream"
        )
        raise source.at(select.args["from_"].this, what, "join a stream, such as bid [RANGE 1 HOUR]")
    return tuple(inputs)


def _input(source: Source, table: exp.Table, origin: Stream | Relation, rows: bool, passing: bool) -> Input:
    alias = table.alias or table.name
    if "." in alias:
        raise source.at(table, f"the name {alias} of an input has a dot", "give it another name with AS")
    if alias.isdigit():
        raise source.at(table, f"the name {alias} of an input is a number", "give it another name with AS")
    return (
        _windowed(source, table, Input(alias, origin, PASSING if passing else RANGE), origin, rows)
        if isinstance(origin, Stream)
        else _static(source, table, origin, alias)
    )


def _windowed(source: Source, table: exp.Table, bare: Input, stream: Stream, rows: bool) -> Input:
    window, time = table.args.get("window"), table.args.get("time")
    if time is not None:
        check_time(source, time, stream)
    if window is None and rows:
        return bare
    if window is None:
        raise no_window(source, table, bare)
    duration = window.args.get("duration")
    length = None if duration is None else fixed_length(source, duration, "the length of a window")
    return replace(bare, kind=_KINDS[window.args["kind"]], length=length)


def no_window(source: Source, table: exp.Table, bare: Input, hint: str = NO_WINDOW) -> Exception:
    """The error for a stream that a join would have to keep for ever."""
    if is_nested(bare.origin.name):
        more = ", or equate the ends of the windows of all that is joined"
        return source.at(table, f"{bare.alias} has no window in this join", hint + more)
    return source.at(table, f"stream {bare.origin.name} has no window in this join", hint)


def _static(source: Source, table: exp.Table, relation: Relation, alias: str) -> Input:
    window, time = table.args.get("window"), table.args.get("time")
    if window is not None:
        raise source.at(
            window, f"{relation.name} is a table, which has no window", f"remove {source.written(window)}"
        )
    if time is not None:
        raise source.at(time, f"{relation.name} is a table, which has no event time", "remove TIMESTAMP BY")
    return Input(alias, relation, STATIC)
