"""The definition of a windowed query, written as SQL over all the data.

No code is shared with the engine: every row is put into every window instance that contains it, and DuckDB's own
aggregates run over the rows of each group.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import duckdb
import pyarrow as pa

from thalweg.model.query import Aggregate, Query
from thalweg.model.stream import Stream
from thalweg.model.windows import NamedWindow
from thalweg.testing.calls import aggregate_sql, first_rows_columns, first_rows_sql

# `//` truncates towards zero, which is wrong for instants before 1970.
_FLOOR_DIVIDE = "CREATE MACRO floor_divide(x, s) AS (x - ((x % s) + s) % s) // s"


def reference(
    query: Query,
    stream: Stream,
    batches: Sequence[pa.Table],
    begin: int | None = None,
    until: int | None = None,
) -> pa.Table:
    """The result of a query once all batches were read: every instance that ends at or before the final frontier.

    `begin` keeps the instances that start at or after it, `until` those that end at or before it (microseconds).
    """
    with _load(stream, batches) as db:
        _create_hits(db, query)
        parts = [_window_sql(query, w, begin, until) for w in query.windows]
        columns = ", ".join(f"{o.sql} AS {_quoted(o.name)}" for o in query.outputs)
        having = f" WHERE {query.having}" if query.having else ""
        return db.sql(f"SELECT {columns} FROM ({' UNION ALL '.join(parts)}){having}").to_arrow_table()


def late_rows(stream: Stream, batches: Sequence[pa.Table]) -> int:
    """How many rows came after their event time was final."""
    with _load(stream, batches) as db:
        return _count(db, "SELECT count(*) FROM seen WHERE __late")


def late_rows_of(query: Query, stream: Stream, batches: Sequence[pa.Table]) -> int:
    """How many late rows a query would have counted."""
    with _load(stream, batches) as db:
        return _count(db, f"SELECT count(*) FROM seen WHERE __late AND {_where(query)}")


def frontier(stream: Stream, batches: Sequence[pa.Table]) -> int | None:
    """The event time in microseconds below which all data is final after these batches; None before the first."""
    with _load(stream, batches) as db:
        found = db.execute("SELECT instant FROM frontier").fetchone()
        return None if found is None else found[0]


def connect() -> duckdb.DuckDBPyConnection:
    """An empty database with `floor_divide`, which rounds down also before 1970."""
    db = duckdb.connect(config={"threads": 1})
    db.execute(_FLOOR_DIVIDE)
    return db


def load_rows(db: duckdb.DuckDBPyConnection, table: str, stream: Stream, batches: Sequence[pa.Table]) -> None:
    """Create a table of all rows of a stream, `__ts` their instant, `__late` whether they came too late."""
    db.execute(
        f"CREATE TEMP TABLE stored (__batch BIGINT, {', '.join(f'{_quoted(c.name)} {c.type}' for c in stream.stored.columns)})"
    )
    for number, batch in enumerate(batches):
        _insert(db, stream, batch, number)
    time = f"epoch_us({_quoted(stream.time)})"
    computed = "".join(f", {c.value} AS {_quoted(c.name)}" for c in stream.computed)
    db.execute(f"CREATE TEMP TABLE input AS SELECT *{computed} FROM stored")
    db.execute(
        f"""CREATE TABLE {table} AS
        WITH tops AS (SELECT __batch, max({time}) AS top FROM input GROUP BY __batch),
             fronts AS (SELECT __batch, max(top) OVER before - {stream.delay} AS __front FROM tops
                        WINDOW before AS (ORDER BY __batch ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING))
        SELECT *, {time} AS __ts, coalesce({time} < __front, false) AS __late FROM input JOIN fronts USING (__batch)"""
    )
    db.execute("DROP TABLE input; DROP TABLE stored")


def _load(stream: Stream, batches: Sequence[pa.Table]) -> duckdb.DuckDBPyConnection:
    """A database with `seen` (all rows, see `load_rows`) and `frontier`."""
    db = connect()
    load_rows(db, "seen", stream, batches)
    db.execute(f"CREATE TABLE frontier AS SELECT max(__ts) - {stream.delay} AS instant FROM seen")
    return db


def _insert(db: duckdb.DuckDBPyConnection, stream: Stream, batch: pa.Table, number: int) -> None:
    columns = stream.stored.columns
    db.register("batch", pa.table({c.name: naive(batch.column(c.name)) for c in columns}))
    db.execute(
        f"INSERT INTO stored SELECT {number}, {', '.join(_quoted(c.name) for c in columns)} FROM batch"
    )
    db.unregister("batch")


def naive(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column without a time zone mark: the same instants, in UTC."""
    return column.cast(pa.timestamp("us")) if pa.types.is_timestamp(column.type) else column


def _create_hits(db: duckdb.DuckDBPyConnection, query: Query) -> None:
    """`hits`: the rows that count for the query, with keys `k0`.., arguments `x0_0`.. and FILTER conditions `f0`.."""
    columns = [f"{k.sql} AS k{i}" for i, k in enumerate(query.keys)]
    columns += [f"{x.sql} AS x{i}_{j}" for i, a in enumerate(query.calls) for j, x in enumerate(a.args)]
    columns += [f"{a.where.sql if a.where else 'true'} AS f{i}" for i, a in enumerate(query.calls)]
    # Columns of the stream win over aliases of the same name, so that `"k0"` in an expression is the stream's.
    db.execute(
        f"CREATE TABLE hits AS SELECT {_list(columns, '__ts')} FROM seen WHERE __ts IS NOT NULL AND NOT __late AND {_where(query)}"
    )


def _where(query: Query) -> str:
    return "(" + (" AND ".join(f"({c.sql})" for c in query.where) or "true") + ")"


def _window_sql(query: Query, named: NamedWindow, begin: int | None, until: int | None) -> str:
    """One row per group and final instance of a window: keys, aggregates and the window columns."""
    w = named.window
    if w.session:
        return _sessions_sql(query, named, begin, until)
    start = f"(m * {w.slide} + {w.offset})"
    instances = f"range(floor_divide(__ts - {w.offset + w.range}, {w.slide}) + 1, floor_divide(__ts - {w.offset}, {w.slide}) + 1)"
    keys = [f"k{i}" for i in range(len(query.keys))]
    hits = f"(SELECT *, unnest({instances}) AS m FROM hits)"
    bounds = [f"{start} + {w.range} <= (SELECT instant FROM frontier)"]
    bounds += [f"{start} >= {begin}"] if begin is not None else []
    bounds += [f"{start} + {w.range} <= {until}"] if until is not None else []
    window = (
        f"{_text(named.id)} AS window_id, make_timestamp({start}) AS window_start, "
        f"make_timestamp({start} + {w.range}) AS window_end"
    )
    if query.unnested:
        columns = [*keys, *first_rows_columns(query.calls[0], "x0"), window]
        ranked = first_rows_sql(query.calls[0], [*keys, "m"], "x0", hits)
        return f"SELECT {_list(columns)} FROM ({ranked}) WHERE {' AND '.join(bounds)}"
    return (
        f"SELECT {_list(keys, *_calls(query.calls))}, {window} "
        f"FROM {hits} WHERE {' AND '.join(bounds)} GROUP BY {_list(keys, 'm')}"
    )


def _sessions_sql(query: Query, named: NamedWindow, begin: int | None, until: int | None) -> str:
    """One row per group and final session: gaps and islands over all rows of the group. With a `begin` those are left out of which rows from
    before it might have been part."""
    gap, keys = named.window.range, [f"k{i}" for i in range(len(query.keys))]
    over = f"(PARTITION BY {_list(keys, '1')} ORDER BY __ts, __n)"
    marked = f"SELECT *, __ts - lag(__ts) OVER {over} >= {gap} AS __apart FROM (SELECT *, row_number() OVER () AS __n FROM hits)"
    numbered = f"SELECT *, count(*) FILTER (WHERE __apart) OVER {over} AS m FROM ({marked})"
    start, end = "min(__ts)", f"max(__ts) + {gap}"
    bounds = [f"{end} <= (SELECT instant FROM frontier)"]
    bounds += [f"{start} - {gap} > {begin} - 2"] if begin is not None else []
    bounds += [f"{end} <= {until}"] if until is not None else []
    return (
        f"SELECT {_list(keys, *_calls(query.calls))}, {_text(named.id)} AS window_id, "
        f"make_timestamp({start}) AS window_start, make_timestamp({end}) AS window_end "
        f"FROM ({numbered}) GROUP BY {_list(keys, 'm')} HAVING {' AND '.join(bounds)}"
    )


def _calls(aggregates: tuple[Aggregate, ...]) -> Iterable[str]:
    return (
        f"{aggregate_sql(a, tuple(f'x{i}_{j}' for j in range(len(a.args))), f'f{i}')} AS a{i}"
        for i, a in enumerate(aggregates)
    )


def _count(db: duckdb.DuckDBPyConnection, sql: str) -> int:
    found = db.execute(sql).fetchone()
    return int(found[0]) if found else 0


def _list(items: Sequence[str], *more: str) -> str:
    return ", ".join([*items, *more])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
