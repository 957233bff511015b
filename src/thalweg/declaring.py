"""Streams, tables and queries from Python and SQL as frozen values; both ways lead through the same checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os.path import normpath
from pathlib import Path
from typing import Any

import duckdb

from thalweg.catalog import Catalog
from thalweg.engine.kernel.connection import clean_message, infer_type
from thalweg.logical.stream import Relation, Stream
from thalweg.plan.build import AnyQuery
from thalweg.sources.files import parquet_columns
from thalweg.sql import statements as st
from thalweg.sql.binder import InferenceError, bind

CONSOLE = "console"


def stream_of(name: str, columns: str | None, **options: Any) -> Stream:
    """A stream by way of the SQL that declares it."""
    statement = _declared("STREAM", name, columns, {"format": "parquet", **options})
    assert isinstance(statement, st.CreateStream)
    return statement.stream


def relation_of(name: str, columns: str | None, **options: Any) -> Relation:
    """A static table by way of the SQL that declares it."""
    statement = _declared("TABLE", name, columns, options)
    assert isinstance(statement, st.CreateTable)
    return statement.relation


def _declared(kind: str, name: str, columns: str | None, options: Mapping[str, Any]) -> st.Statement:
    columns = columns if columns is not None else parquet_columns(options["path"], name)
    given = ", ".join(f"{k} = '{_option_text(v).replace(chr(39), chr(39) * 2)}'" for k, v in options.items() if v is not None)
    return st.parse_statement(f"CREATE {kind} `{name}` ({columns}) WITH ({given})", kind.lower())


def _option_text(value: Any) -> str:
    return ", ".join(f"{k}: {v}" for k, v in value.items()) if isinstance(value, Mapping) else str(value)


def query_of(catalog: Catalog, select: st.ParsedSelect, name: str, into: str | None = None) -> AnyQuery:
    """A query over what a catalog has."""
    found = bind(select, name=name, into=into, streams=catalog.streams, infer=_infer, relations=catalog.relations)
    return replace(found, into=CONSOLE if found.into == CONSOLE else absolute(found.into))


def free_name(catalog: Catalog) -> str:
    """A name for a query that is only looked at, that no other has."""
    return next(n for n in ("query", *(f"query_{i}" for i in range(2, len(catalog.queries) + 3))) if n not in catalog.queries)


def _infer(sql: str, columns: Any) -> str:
    try:
        return infer_type(sql, columns)
    except duckdb.Error as e:
        raise InferenceError(clean_message(e)) from e


def absolute(path: str | None) -> str | None:
    """A path that stays the same when the current directory changes, and is the same however it is written."""
    if path is None or "://" in path:
        return path
    return normpath(Path(path).absolute())
