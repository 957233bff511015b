"""The SQL of a script as streams, tables and queries, with types asked of DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import duckdb

from thalweg.expr.quoting import identifier
from thalweg.model.query import Query
from thalweg.model.stream import Relation, Stream, View
from thalweg.sql.binder import InferenceError, bind
from thalweg.sql.computed import bound_stream
from thalweg.sql.declarations import Declaration
from thalweg.sql.statements import CreateQuery, CreateStream, CreateTable, CreateView, parse_script
from thalweg.sql.views import view_of
from thalweg.testing.feeds import place


@dataclass(frozen=True)
class Bound:
    """The streams, queries and tables that a text creates, by name."""

    streams: Mapping[str, Stream]
    queries: Mapping[str, Query]
    relations: Mapping[str, Relation]


def bind_text(text: str, origin: str = "", directory: Path = Path("in")) -> Bound:
    """Bind every CREATE QUERY of a text to its CREATE STREAM statements, which read from folders in a directory."""
    return bind_statements(text, origin, partial(place, directory))


def bind_statements(
    text: str, origin: str = "", left_out: Callable[[Declaration], Mapping[str, str]] | None = None
) -> Bound:
    """Bind every CREATE QUERY of a text to its CREATE STREAM and CREATE TABLE statements."""
    statements = parse_script(text, origin, left_out)
    streams = {s.stream.name: bound_stream(s, infer) for s in statements if isinstance(s, CreateStream)}
    relations = {s.relation.name: s.relation for s in statements if isinstance(s, CreateTable)}
    views: dict[str, View] = {}
    for view in (s for s in statements if isinstance(s, CreateView)):
        found = bind(
            view.select,
            name=view.name,
            into=None,
            streams=streams,
            relations=relations,
            infer=infer,
            views=views,
        )
        views[view.name] = view_of(view.name, view.select, found)
    queries: dict[str, Query] = {}
    for s in (s for s in statements if isinstance(s, CreateQuery)):
        queries[s.name] = bind(
            s.select,
            name=s.name,
            into=s.into,
            streams=streams,
            relations=relations,
            infer=infer,
            views=views,
            queries=queries,
        )
    return Bound(streams, queries, relations)


def infer(sql: str, columns: Mapping[str, str]) -> str:
    """The type of an expression over columns (name to type)."""
    nulls = ", ".join(f"NULL::{kind} AS {identifier(name)}" for name, kind in columns.items()) or "1"
    try:
        found = _connection().execute(f"DESCRIBE SELECT {sql} FROM (SELECT {nulls})").fetchone()
    except duckdb.Error as error:
        raise InferenceError(str(error)) from None
    return str(found[1]) if found else ""


_connections: list[duckdb.DuckDBPyConnection] = []


def _connection() -> duckdb.DuckDBPyConnection:
    """One database for all questions, for opening one takes longer than asking."""
    if not _connections:
        _connections.append(duckdb.connect(config={"threads": 1}))
    return _connections[0]
