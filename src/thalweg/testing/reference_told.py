"""The definition of windows that are told while they are open, written as SQL over all the data.

At each multiple t of EVERY from its start to the first at or after its end an instance shows, for each group, the aggregates of its rows from
before t, where HAVING holds of them. What it shows at t and did not show just so one multiple earlier is told, and a mark for what it shows
no more.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pyarrow as pa

from thalweg.expr.quoting import identifier, quoted
from thalweg.model.query import AS_OF, DELETED, Aggregate, Query
from thalweg.model.stream import Stream
from thalweg.model.windows import NamedWindow
from thalweg.testing.calls import aggregate_sql
from thalweg.testing.reference import connect, load_rows


def reference_told(
    query: Query, stream: Stream, batches: Sequence[pa.Table], begin: int | None = None
) -> pa.Table:
    """All that is told once all batches were read, of the instances that start at or after `begin`."""
    with connect() as db:
        load_rows(db, "seen", stream, batches)
        db.execute(
            f"CREATE TABLE hits AS SELECT {', '.join([*_read(query), '__ts'])} FROM seen WHERE {_counts(query)}"
        )
        instances = " UNION ALL ".join(_instances_sql(w) for w in query.told)
        whole = "true" if begin is None else f"b >= {begin}"
        db.execute(f"CREATE TABLE instances AS SELECT * FROM ({instances}) WHERE {whole}")
        every, keys = query.every or 1, [f"k{i}" for i in range(len(query.keys))]
        moments = (
            f"unnest(range(floor_divide(b, {every}) + 1, floor_divide(e - 1, {every}) + 2)) * {every} AS t"
        )
        db.execute(f"CREATE TABLE moments AS SELECT DISTINCT window_id, b, e, {moments} FROM instances")
        by = ", ".join(["m.window_id", "m.b", "m.e", "m.t", *keys])
        calls = ", ".join(_calls(query.calls))
        groups = (
            f"SELECT {by}{', ' if calls else ''}{calls}, make_timestamp(m.b) AS window_start, make_timestamp(m.e) AS window_end, "
            f"make_timestamp(m.t) AS {AS_OF}, false AS {DELETED} FROM moments AS m JOIN instances AS i "
            f"ON i.window_id = m.window_id AND i.b = m.b AND i.__ts < m.t "
            f"WHERE m.t <= (SELECT max(__ts) - {stream.delay} FROM seen) GROUP BY {by}"
        )
        db.execute(f"CREATE TABLE groups AS {groups}")
        changes = _changes(db, query, keys)
        columns = ", ".join(f"{o.sql} AS {identifier(o.name)}" for o in query.outputs)
        return db.sql(f"SELECT {columns} FROM ({changes})").to_arrow_table()


def _changes(db: duckdb.DuckDBPyConnection, query: Query, keys: Sequence[str]) -> str:
    """What is shown at an instant beside what was shown at the one before; nothing is shown before the first row of a group."""
    values = [o.sql for o in query.outputs if not {AS_OF, DELETED} & o.expr.columns]
    listed = "".join(f", {v} AS v{i}" for i, v in enumerate(values))
    db.execute(
        f"CREATE TABLE valued AS SELECT *, coalesce({query.having or 'true'}, false) AS said{listed} FROM groups"
    )
    same = " AND ".join(
        ["y.window_id = x.window_id", "y.b = x.b", f"y.t = x.t - {query.every}"]
        + [f"y.{k} IS NOT DISTINCT FROM x.{k}" for k in keys]
    )
    differs = " OR ".join(
        ["y.said IS NOT TRUE", *(f"x.v{i} IS DISTINCT FROM y.v{i}" for i in range(len(values)))]
    )
    nothing = "".join(f", NULL AS a{i}" for i in range(len(query.calls)))
    gone = "".join(f", x.{k}" for k in keys)
    return (
        f"SELECT x.* FROM valued AS x LEFT JOIN valued AS y ON {same} WHERE x.said AND ({differs}) UNION ALL BY NAME "
        f"SELECT x.window_id, x.window_start, x.window_end, x.{AS_OF}, true AS {DELETED}{gone}{nothing} "
        f"FROM valued AS x JOIN valued AS y ON {same} WHERE NOT x.said AND y.said"
    )


def _read(query: Query) -> list[str]:
    """The keys, the arguments of aggregates and their FILTER conditions."""
    found = [f"{(k.bare or k.expr).sql} AS k{i}" for i, k in enumerate(query.keys)]
    for i, call in enumerate(query.calls):
        found += [f"{x.sql} AS x{i}_{j}" for j, x in enumerate(call.args)]
        found.append(f"{call.where.sql if call.where else 'true'} AS f{i}")
    return found


def _counts(query: Query) -> str:
    return " AND ".join(["__ts IS NOT NULL", "NOT __late", *(f"({c.sql})" for c in query.where)])


def _calls(calls: Sequence[Aggregate]) -> list[str]:
    return [
        f"{aggregate_sql(a, tuple(f'x{i}_{j}' for j in range(len(a.args))), f'f{i}')} AS a{i}"
        for i, a in enumerate(calls)
    ]


def _instances_sql(named: NamedWindow) -> str:
    """Each row in each instance of a window that has it, from "b" to "e"."""
    w = named.window
    numbers = f"range(floor_divide(__ts - {w.offset + w.range}, {w.slide}) + 1, floor_divide(__ts - {w.offset}, {w.slide}) + 1)"
    rows = f"SELECT *, unnest({numbers}) AS number FROM hits"
    start = f"number * {w.slide} + {w.offset}"
    return f"SELECT * EXCLUDE (number), {quoted(named.id)} AS window_id, {start} AS b, {start} + {w.range} AS e FROM ({rows})"
