"""Streams, tables and queries from Python and SQL as frozen values; both ways lead through the same checks."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import replace
from os.path import normpath
from pathlib import Path
from typing import Any

import duckdb
from sqlglot import exp

from thalweg.connectors.dataframe import columns_of
from thalweg.connectors.files import parquet_columns
from thalweg.engine.kernel.connection import clean_message
from thalweg.engine.kernel.inference import infer_type
from thalweg.errors import SqlError, UsageError
from thalweg.expr.python import Function
from thalweg.expr.quoting import spark_quoted
from thalweg.model.catalog import Catalog
from thalweg.model.paths import refused_path
from thalweg.model.query import Query
from thalweg.model.stream import Relation, Stream, View
from thalweg.model.target import Files
from thalweg.sql import statements as st
from thalweg.sql.binder import InferenceError, bind
from thalweg.sql.computed import bound_stream
from thalweg.sql.declarations import OptionError
from thalweg.sql.history import history_of, ttl_of
from thalweg.sql.views import functions_named, view_of, views_read
from thalweg.state.lives import Life


def stream_of(
    name: str,
    columns: str | None,
    computed: str | None = None,
    functions: Mapping[str, Function] | None = None,
    **options: Any,
) -> Stream:
    """A stream by way of the SQL that declares it; `computed` are columns beside those that rows bring, `functions` what these may call."""
    statement = _declared("STREAM", name, columns, {"format": "parquet", **options}, computed)
    assert isinstance(statement, st.CreateStream)
    return stream_bound(statement, functions)


def stream_bound(statement: st.CreateStream, functions: Mapping[str, Function] | None = None) -> Stream:
    """The stream of a declaration, with what its computed columns are."""
    return bound_stream(statement, _infer, functions)


def frame_stream_of(name: str, frame: Any, **options: Any) -> Stream:
    """A stream from a Spark streaming DataFrame, which brings its own columns."""
    if not frame.isStreaming:
        raise UsageError(
            f"stream {name}: the DataFrame is not a streaming one", "read it with spark.readStream"
        )
    declared = ", ".join(f"`{c.name}` {c.type}" for c in columns_of(frame))
    return replace(stream_of(name, declared, path="-", **options), format="dataframe", path=None)


def relation_of(name: str, columns: str | None, **options: Any) -> Relation:
    """A static table by way of the SQL that declares it."""
    statement = _declared("TABLE", name, columns, options)
    assert isinstance(statement, st.CreateTable)
    return statement.relation


def _declared(
    kind: str, name: str, columns: str | None, options: Mapping[str, Any], computed: str | None = None
) -> st.Statement:
    if refused := refused_path(str(options["path"]), writes=False):
        raise UsageError(f"{kind.lower()} {name}: {refused[0]}", refused[1])
    columns = columns if columns is not None else parquet_columns(options["path"], name)
    columns = f"{columns}, {computed}" if computed else columns
    given = ", ".join(f"{k} = {spark_quoted(_option_text(v))}" for k, v in options.items() if v is not None)
    return st.parse_statement(f"CREATE {kind} `{name}` ({columns}) WITH ({given})", kind.lower())


def _option_text(value: Any) -> str:
    return ", ".join(f"{k}: {v}" for k, v in value.items()) if isinstance(value, Mapping) else str(value)


def query_of(catalog: Catalog, select: st.ParsedSelect, name: str, into: str | None = None) -> Query:
    """A query over what a catalog has."""
    found = bind(
        select,
        name=name,
        into=into,
        streams=catalog.streams,
        infer=_infer,
        relations=catalog.relations,
        views=catalog.views,
        queries={n: q for n, q in catalog.queries.items() if n != name},
        functions=catalog.functions,
    )
    return (
        replace(found, into=Files(absolute(found.into.path) or ""))
        if isinstance(found.into, Files)
        else found
    )


def selected(catalog: Catalog, text: str) -> Query:
    """A SELECT that is only looked at."""
    return query_of(catalog, st.parse_select(text), free_name(catalog))


def bound_again(catalog: Catalog, view: View) -> Catalog:
    """A catalog with the views over another one as they are now that it is; refused if one of them has no meaning any more."""
    over = [
        v for v in catalog.views.values() if v is not view and view.name in views_read(v.text, catalog.views)
    ]
    return with_views_bound(catalog, over, f"reads {view.name}")


def with_views_bound(catalog: Catalog, views: Iterable[View], why: str) -> Catalog:
    """A catalog with some views as they are by now."""
    for other in views:
        try:
            select = st.parse_select(other.text)
            found = view_of(other.name, select, query_of(catalog, select, other.name))
        except SqlError as e:
            raise UsageError(
                f"view {other.name}, which {why}, would have no meaning: {e.message}",
                "drop it first",
            ) from e
        catalog = catalog.with_view(found, replaces=True)
    return catalog


def check_uncalled(catalog: Catalog, name: str) -> None:
    """Refuse to drop a function that a view calls."""
    users = [v.name for v in catalog.views.values() if name.lower() in functions_named(v.text)]
    if users:
        raise UsageError(f"function {name} is called by {', '.join(users)}", "drop these views first")


def given_history(text: str | None) -> int | None:
    """A history as Python gives it."""
    try:
        return None if text is None else history_of(text)
    except OptionError as e:
        raise UsageError(str(e), e.hint) from None


def given_ttl(text: str | None) -> int | None:
    """A ttl as Python gives it."""
    try:
        return None if text is None else ttl_of(text)
    except OptionError as e:
        raise UsageError(str(e), e.hint) from None


def free_name(catalog: Catalog) -> str:
    """A name for a query that is only looked at, that no other has."""
    return next(
        n
        for n in ("query", *(f"query_{i}" for i in range(2, len(catalog.queries) + 3)))
        if n not in catalog.queries
    )


def readable_name(catalog: Catalog, select: st.ParsedSelect, lives: Iterable[Life] = ()) -> str:
    """A name for a query that was given none, by what it reads: `bid_1`, `bid_2`, ..., never that of one whose results are kept."""
    first = select.node.find(exp.Table)
    read = first.name if first is not None and st.is_name(first.name) else "query"
    taken = {
        *catalog.queries,
        *catalog.streams,
        *catalog.relations,
        *catalog.views,
        *(life.name for life in lives),
    }
    return next(n for i in itertools.count(1) if (n := f"{read}_{i}") not in taken)


def _infer(sql: str, columns: Any) -> str:
    try:
        return infer_type(sql, columns)
    except duckdb.Error as e:
        raise InferenceError(clean_message(e)) from e


def absolute(path: str | None) -> str | None:
    """A path that stays the same when the current directory changes, and is the same however it is written."""
    return None if path is None else normpath(Path(path).absolute())
