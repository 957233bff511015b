"""Types of expressions, asked of the engine that will run them.

Queries are bound in users' threads while batches run: the questions have a connection of their own, one at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from threading import Lock

from thalweg.engine.kernel.connection import Database, open_connection
from thalweg.expr.quoting import identifier

_LOCK = Lock()


@cache
def _database() -> Database:
    return Database(open_connection())


def infer_type(sql: str, columns: Mapping[str, str]) -> str:
    """The type of an expression over typed columns; duckdb.Error if it has none."""
    fields = (
        ", ".join(f"CAST(NULL AS {type_}) AS {identifier(name)}" for name, type_ in columns.items()) or "1"
    )
    with _LOCK:
        return str(
            _database()
            .connection.execute(f"DESCRIBE SELECT {sql} AS x FROM (SELECT {fields})")
            .fetchall()[0][1]
        )
