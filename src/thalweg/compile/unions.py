"""Rows of a stream as rows of a union."""

from __future__ import annotations

from thalweg.expr.quoting import identifier
from thalweg.model.aggregates import TIME
from thalweg.model.query import QueryInput


def united_sql(part: QueryInput, rows: str, frontier: int) -> str:
    """The rows of a part of a union, with their event times: of `rows`, those that are not late and satisfy its conditions."""
    shown = ", ".join([*(f"{o.sql} AS {identifier(o.name)}" for o in part.shown), TIME])
    where = " AND ".join([f"{TIME} >= {frontier}", *(f"({c.sql})" for c in part.where)])
    return f"SELECT {shown} FROM ({rows}) WHERE {where}"
