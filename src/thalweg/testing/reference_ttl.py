"""The definition of groups that are forgotten: over all rows that count, each with the first instant at which it does.

A group lives from an instant at which a row of it counts for the first time to the last such instant after which none counts for the ttl,
rounded up to whole instants; rows that come later make another life of it. What is shown is of the rows of one life, and is compared with
what the same life showed before. That a life ends is not told.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from thalweg.model.query import DELETED, Query


def create_forgetting(
    db: duckdb.DuckDBPyConnection, query: Query, rows: str, calls: Sequence[str], until: int | None
) -> str:
    """The changes of a query with a ttl, as a table; `rows` have keys "k0", ..., what aggregates read, and their event time "ts"."""
    every = query.every or 1
    ttl, by = -(-(query.ttl or 0) // every) * every, ", ".join([*_keys(query), "TRUE"])
    db.execute(
        f"CREATE TABLE arrived AS SELECT *, (floor_divide(ts, {every}) + 1) * {every} AS t FROM ({rows})"
    )
    gaps = f"SELECT DISTINCT {by}, t FROM arrived"
    gaps = f"SELECT *, coalesce(t - lag(t) OVER (PARTITION BY {by} ORDER BY t) > {ttl}, false) AS gap FROM ({gaps})"
    lives = f"SELECT *, count(*) FILTER (WHERE gap) OVER (PARTITION BY {by} ORDER BY t) AS life FROM ({gaps})"
    db.execute(f"CREATE TABLE lives AS {lives}")
    same = " AND ".join(["true", *(f"l.{k} IS NOT DISTINCT FROM a.{k}" for k in _keys(query))])
    db.execute(
        f"CREATE TABLE lived AS SELECT a.*, l.life FROM arrived a JOIN lives l ON l.t = a.t AND {same}"
    )
    whole = (
        f"SELECT a.* EXCLUDE (t), l.t FROM lives l JOIN lived a ON a.life = l.life AND a.t <= l.t AND {same}"
    )
    groups = ", ".join(["t", "life", *_keys(query)])
    final = "false" if until is None else f"t <= {until}"
    made = f"SELECT {', '.join([groups, *calls, 'make_timestamp(t) AS window_end'])} FROM ({whole}) WHERE {final} GROUP BY {groups}"
    values = [o.sql for o in query.outputs if not {"window_end", DELETED} & o.expr.columns]
    shown = ", ".join(f"{sql} AS v{i}" for i, sql in enumerate(values))
    said = f"SELECT *, coalesce({query.having or 'true'}, false) AS said{f', {shown}' if shown else ''} FROM ({made})"
    over = f"OVER (PARTITION BY {by}, life ORDER BY t)"
    before = ", ".join(
        [f"lag(said) {over} AS was", *(f"lag(v{i}) {over} AS w{i}" for i in range(len(values)))]
    )
    differs = " OR ".join(["was IS NOT TRUE", *(f"v{i} IS DISTINCT FROM w{i}" for i in range(len(values)))])
    db.execute(f"CREATE TABLE told AS SELECT *, {before} FROM ({said})")
    gone = ", ".join([*_keys(query), "window_end", f"true AS {DELETED}"])
    return (
        f"(SELECT *, false AS {DELETED} FROM told WHERE said AND ({differs}) UNION ALL BY NAME "
        f"SELECT {gone} FROM told WHERE NOT said AND was)"
    )


def _keys(query: Query) -> list[str]:
    return [f"k{i}" for i in range(len(query.keys))]
