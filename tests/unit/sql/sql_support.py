"""What the tests of the SQL front end share: an engine to ask for types, streams, and short ways to bind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb
import pytest

from thalweg.errors import SqlError
from thalweg.model.query import Query
from thalweg.model.stream import Column, Relation, Stream
from thalweg.sql.binder import InferenceError, bind
from thalweg.sql.statements import parse_select

ENGINE = duckdb.connect()
SCOPE = [""]
TYPES = {
    "auction": "BIGINT",
    "Bidder": "BIGINT",
    "price": "BIGINT",
    "channel": "VARCHAR",
    "url": "VARCHAR",
    "ok": "BOOLEAN",
    "tiny": "TINYINT",
    "small": "SMALLINT",
    "n": "INTEGER",
    "x": "DOUBLE",
    "cost": "DECIMAL(10,2)",
    "day": "DATE",
    "at": "TIMESTAMP",
}
BID = Stream("bid", tuple(Column(n, t) for n, t in TYPES.items()), time="at")
STREAMS = {"bid": BID}
AUCTION = Stream(
    "auction",
    (
        Column("id", "BIGINT"),
        Column("Seller", "INTEGER"),
        Column("start", "DECIMAL(8,2)"),
        Column("url", "VARCHAR"),
        Column("at", "TIMESTAMP"),
    ),
    time="at",
)
PERSON = Relation(
    "person",
    (Column("id", "BIGINT"), Column("name", "VARCHAR"), Column("state", "VARCHAR")),
    "csv",
    "person.csv",
)
JOINED_STREAMS = {"bid": BID, "auction": AUCTION}
RELATIONS = {"person": PERSON}


def infer(sql: str, columns: Mapping[str, str]) -> str:
    """The type of an expression, by asking DuckDB to describe it over an empty table."""
    body = (
        ", ".join('"{}" {}'.format(name.replace('"', '""'), type_) for name, type_ in columns.items())
        or "i INTEGER"
    )
    try:
        if SCOPE[0] != body:
            ENGINE.execute(f"CREATE OR REPLACE TEMP TABLE scope ({body})")
            SCOPE[0] = body
        return str(ENGINE.execute(f"DESCRIBE SELECT {sql} FROM scope").fetchall()[0][1])
    except duckdb.Error as error:
        raise InferenceError(str(error)) from None


def bound(sql: str) -> Query:
    """The query of a SELECT over `bid`."""
    query = bind(parse_select(sql), name="q", into=None, streams=STREAMS, infer=infer)
    assert isinstance(query, Query)
    return query


def joined(sql: str) -> Query:
    """The join of a SELECT over the streams `bid` and `auction` and the table `person`."""
    query = bind(
        parse_select(sql), name="q", into=None, streams=JOINED_STREAMS, infer=infer, relations=RELATIONS
    )
    assert isinstance(query, Query)
    return query


def meaning(sql: str) -> tuple[Any, ...]:
    """All of a query but its text."""
    query = bound(sql)
    return (query.stream, query.where, query.keys, query.windows, query.calls, query.outputs, query.having)


def argument(expression: str) -> tuple[str, str]:
    """SQL and type of a Spark expression over the rows of `bid`."""
    query = bound(f"SELECT MIN({expression}) FROM bid GROUP BY TUMBLE '1 minute'")
    return query.calls[0].args[0].sql, query.calls[0].args[0].type


def condition(expression: str) -> tuple[str, ...]:
    """The conjuncts of a WHERE over the rows of `bid`."""
    return tuple(
        e.sql for e in bound(f"SELECT COUNT(*) FROM bid WHERE {expression} GROUP BY TUMBLE '1 minute'").where
    )


def failure(sql: str) -> SqlError:
    """The error that binding a SELECT ends in."""
    with pytest.raises(SqlError) as caught:
        bound(sql)
    return caught.value


def join_failure(sql: str) -> SqlError:
    """The error that binding a SELECT over `bid`, `auction` and `person` ends in."""
    with pytest.raises(SqlError) as caught:
        joined(sql)
    return caught.value


def marked(error: SqlError) -> str:
    """The text that an error points at."""
    assert error.line is not None and error.column is not None
    return error.text.splitlines()[error.line - 1][error.column - 1 :][: error.length]
