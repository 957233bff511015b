"""The definition of a join of windows, written as SQL over all the data.

No code is shared with the engine: all combinations of rows are made, and DuckDB's own aggregates run over those of each
group and instant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import duckdb
import pyarrow as pa

from thalweg.model.query import DELETED, RANGE, TUMBLE, UNBOUNDED, Query, QueryAggregate, QueryInput
from thalweg.model.stream import Stream
from thalweg.testing.calls import aggregate_sql, first_rows_columns, first_rows_sql
from thalweg.testing.reference import connect, load_rows, naive
from thalweg.testing.reference_attached import attached_at_instants, attached_rows
from thalweg.testing.reference_running import rows_in_order
from thalweg.testing.reference_ttl import create_forgetting

Batches = Sequence[Mapping[str, pa.Table]]
"""Micro-batches, each with a table for some of the streams."""

NONE: Mapping[str, pa.Table] = MappingProxyType({})


def reference_join(
    query: Query,
    streams: Mapping[str, Stream],
    batches: Batches,
    relations: Mapping[str, pa.Table] = NONE,
    begin: Mapping[str, int] | None = None,
    until: int | None = None,
    reached: Mapping[str, int | None] | None = None,
) -> pa.Table:
    """The result of a join once all batches were read: its rows, or its groups at every instant up to the frontier.

    `begin` is the event time in microseconds at which the query begins to see each stream: rows count from there on,
    instants once their windows start there. `until` keeps the instants up to it. `reached` are frontiers that follow from no row.
    """
    with _load(query, streams, batches, relations) as db:
        for number in range(len(query.inputs)):
            _create_input(db, query, number, begin or {})
        if query.every is None:
            if query.running is not None:
                names = [c.name for c in streams[query.stream].columns]
                reach = (reached or {}).get(query.stream) or _last(db, query, streams, None)
                db.execute(f"CREATE TABLE joined AS {rows_in_order(query, names, reach)}")
            elif query.attached:
                ends = {s: _last(db, query, streams, None, (s,)) for s in query.streams} | dict(reached or {})
                db.execute(f"CREATE TABLE joined AS {attached_rows(query, ends)}")
            else:
                _create_rows(db, query)
            return _outputs(db, query, "joined")
        instants = _instants(query, _least(db, query), _last(db, query, streams, until), begin or {})
        if query.ttl is not None:
            return _outputs(db, query, _forgetting(db, query, instants))
        _create_groups(db, query, instants)
        return _outputs(db, query, _changes(db, query, instants) if query.changes else "groups")


def late_rows_of_join(query: Query, streams: Mapping[str, Stream], batches: Batches) -> int:
    """How many late rows a join would have counted, for each input that they would have come by."""
    with _load(query, streams, batches, NONE) as db:
        inputs = [i for i in query.inputs if i.is_stream]
        return sum(
            _number(db, f"SELECT count(*) FROM {_source(query, i)} WHERE __late AND {_where(i)}") or 0
            for i in inputs
        )


def _load(
    query: Query, streams: Mapping[str, Stream], batches: Batches, relations: Mapping[str, pa.Table]
) -> duckdb.DuckDBPyConnection:
    """A database with a table for each source: `source0`, ..., streams first."""
    db = connect()
    for i, name in enumerate(query.streams):
        load_rows(db, f"source{i}", streams[name], [b[name] for b in batches if name in b])
    for i, name in enumerate(query.relations, len(query.streams)):
        if name in relations:
            db.register(
                "relation",
                pa.table({n: naive(relations[name].column(n)) for n in relations[name].column_names}),
            )
            db.execute(f"CREATE TABLE source{i} AS SELECT * FROM relation")
    return db


def _source(query: Query, source: QueryInput) -> str:
    return f"source{(query.streams + query.relations).index(source.source)}"


def _create_input(db: duckdb.DuckDBPyConnection, query: Query, number: int, begin: Mapping[str, int]) -> None:
    """`input0`, ...: the rows of an input that count, with columns `"alias.column"`, their instants `__ts0`, and what aggregates read."""
    source = query.inputs[number]
    names = [
        c for (c,) in db.execute(f"SELECT column_name FROM (DESCRIBE {_source(query, source)})").fetchall()
    ]
    columns = [f"{_quoted(n)} AS {_quoted(f'{source.alias}.{n}')}" for n in names if not n.startswith("__")]
    columns += [f"__ts AS __ts{number}"] if source.is_stream else []
    columns += [c for i, a in enumerate(query.aggregates) if a.input == number for c in _arguments(i, a)]
    conditions = [_where(source)]
    if source.is_stream:
        conditions += ["__ts IS NOT NULL", "NOT __late", *_begin_of_rows(query, source, begin)]
    db.execute(
        f"CREATE TABLE input{number} AS SELECT {', '.join(columns)} FROM {_source(query, source)} WHERE {_all(conditions)}"
    )


def _begin_of_rows(query: Query, source: QueryInput, begin: Mapping[str, int]) -> list[str]:
    """From when on rows count. The bounded windows of an aggregate begin with its first instant."""
    if source.source not in begin or (query.every is not None and source.kind != UNBOUNDED):
        return []
    return [f"__ts >= {begin[source.source]}"]


def _create_rows(db: duckdb.DuckDBPyConnection, query: Query) -> None:
    """`joined`: every combination of rows that are in each other's windows."""
    times = ", ".join(f"__ts{n}" for n, i in enumerate(query.inputs) if i.is_stream)
    bounds = [
        f"greatest({times}) - __ts{n} < {i.length}" for n, i in enumerate(query.inputs) if i.kind == RANGE
    ]
    bounds += [
        f"floor_divide(__ts{n}, {i.length}) = floor_divide(greatest({times}), {i.length})"
        for n, i in enumerate(query.inputs)
        if i.kind == TUMBLE
    ]
    db.execute(
        f"CREATE TABLE joined AS SELECT * FROM {_inputs(query)} WHERE {_all([*bounds, *_predicates(query)])}"
    )


def _create_groups(db: duckdb.DuckDBPyConnection, query: Query, instants: Sequence[int]) -> None:
    """`groups`: one row per instant `t` and group with keys `k0`.., aggregates `a0`.. and `window_end`, those that HAVING keeps."""
    db.register("instants", pa.table({"t": pa.array(instants, pa.int64())}))
    by = ["t", *(f"k{i}" for i in range(len(query.keys)))]
    if query.unnested:
        call, every = query.aggregates[0].call, query.having or "true"
        ranked = first_rows_sql(call, by, "x0", f"({_combinations(query)})")
        columns = ", ".join([*by, *first_rows_columns(call, "x0"), "make_timestamp(t) AS window_end"])
        db.execute(f"CREATE TABLE groups AS SELECT * FROM (SELECT {columns} FROM ({ranked})) WHERE {every}")
        return
    calls = [f"{_call(i, a)} AS a{i}" for i, a in enumerate(query.aggregates)]
    columns = ", ".join([*by, *calls, "make_timestamp(t) AS window_end"])
    groups = f"SELECT {columns} FROM ({_combinations(query)}) GROUP BY {', '.join(by)}"
    db.execute(f"CREATE TABLE groups AS SELECT * FROM ({groups}) WHERE {query.having or 'true'}")


def _forgetting(db: duckdb.DuckDBPyConnection, query: Query, instants: Sequence[int]) -> str:
    """The changes of a query that forgets groups; it reads one stream."""
    (stream,) = (n for n, i in enumerate(query.inputs) if i.is_stream)
    columns = [f"{k.sql} AS k{i}" for i, k in enumerate(query.keys)] + [f"__ts{stream} AS ts"]
    for number, aggregate in enumerate(query.aggregates):
        columns += (
            _arguments(number, aggregate) if aggregate.input is None else _argument_names(number, aggregate)
        )
    rows = f"SELECT {', '.join(columns)} FROM {_inputs(query)} WHERE {_all(_predicates(query))}"
    calls = [f"{_call(i, a)} AS a{i}" for i, a in enumerate(query.aggregates)]
    return create_forgetting(db, query, rows, calls, max(instants, default=None))


def _combinations(query: Query) -> str:
    """The combinations of rows that are in their windows at each instant: keys and what aggregates read."""
    bounds = [f"__ts{n} < t" for n, i in enumerate(query.inputs) if i.is_stream]
    bounds += [f"__ts{n} >= t - {i.length}" for n, i in enumerate(query.inputs) if i.kind in (RANGE, TUMBLE)]
    columns = [f"{k.sql} AS k{i}" for i, k in enumerate(query.keys)]
    for number, aggregate in enumerate(query.aggregates):
        columns += (
            _arguments(number, aggregate) if aggregate.input is None else _argument_names(number, aggregate)
        )
    if query.attached:
        return f"SELECT {', '.join(['t', *columns])} FROM ({attached_at_instants(query)})"
    return f"SELECT {', '.join(['t', *columns])} FROM instants, {_inputs(query)} WHERE {_all([*bounds, *_predicates(query)])}"


def _changes(db: duckdb.DuckDBPyConnection, query: Query, instants: Sequence[int]) -> str:
    """The groups that are new or have another value than one instant before, and those that are no longer there."""
    keys = [f"k{i}" for i in range(len(query.keys))]
    if query.unnested or query.takes_back:
        return _row_changes(query, keys, instants)
    values = [o.sql for o in query.outputs if not {"window_end", DELETED} & o.expr.columns]
    shown = ", ".join(["*", *(f"{sql} AS v{i}" for i, sql in enumerate(values))])
    db.execute(f"CREATE TABLE valued AS SELECT {shown} FROM groups")
    pairs = "valued x LEFT JOIN valued y ON " + " AND ".join(
        ["y.t = x.t {}", *(f"x.{k} IS NOT DISTINCT FROM y.{k}" for k in keys)]
    )
    before, after = pairs.format(f"- {query.every}"), pairs.format(f"+ {query.every}")
    changed = " OR ".join(["y.t IS NULL", *(f"x.v{i} IS DISTINCT FROM y.v{i}" for i in range(len(values)))])
    gone = ", ".join(
        [
            *(f"x.{k}" for k in keys),
            f"make_timestamp(x.t + {query.every}) AS window_end",
            f"true AS {DELETED}",
        ]
    )
    return (
        f"(SELECT x.*, false AS {DELETED} FROM {before} WHERE {changed} UNION ALL BY NAME "
        f"SELECT {gone} FROM {after} WHERE y.t IS NULL AND x.t < {max(instants, default=0)})"
    )


def _row_changes(query: Query, keys: Sequence[str], instants: Sequence[int]) -> str:
    """The rows of groups, or groups that another query reads, as far as SELECT reads them, that were not there one instant before, and those
    that are there no longer."""
    read = frozenset().union(*(o.expr.columns for o in query.outputs)) - {"window_end", DELETED, *keys}
    columns = ", ".join([*keys, *(_quoted(c) for c in sorted(read))])
    now = f"SELECT {columns}, t FROM groups"
    later = f"SELECT {columns}, t + {query.every} AS t FROM groups WHERE t < {max(instants, default=0)}"
    return (
        f"(SELECT *, make_timestamp(t) AS window_end, false AS {DELETED} FROM ({now} EXCEPT ALL {later}) UNION ALL "
        f"SELECT *, make_timestamp(t) AS window_end, true AS {DELETED} FROM ({later} EXCEPT ALL {now}))"
    )


def _outputs(db: duckdb.DuckDBPyConnection, query: Query, source: str) -> pa.Table:
    columns = ", ".join(f"{o.sql} AS {_quoted(o.name)}" for o in query.outputs)
    return db.sql(f"SELECT {columns} FROM {source}").to_arrow_table()


def _instants(query: Query, least: int | None, last: int | None, begin: Mapping[str, int]) -> list[int]:
    """The multiples of `every` after the first row and up to the last final one, whose windows start after the query's begin."""
    if query.every is None or least is None or last is None:
        return []
    bounded = [begin[i.source] + i.length for i in query.inputs if i.source in begin and i.length is not None]
    unbounded = [begin[i.source] + 1 for i in query.inputs if i.source in begin and i.kind == UNBOUNDED]
    first = _multiple_from(max([least + 1, *bounded, *unbounded]), query.every)
    return list(range(first, last + 1, query.every))


def _least(db: duckdb.DuckDBPyConnection, query: Query) -> int | None:
    """The event time of the first row of any input."""
    found = [
        _number(db, f"SELECT min(__ts{n}) FROM input{n}") for n, i in enumerate(query.inputs) if i.is_stream
    ]
    return min((t for t in found if t is not None), default=None)


def _last(
    db: duckdb.DuckDBPyConnection,
    query: Query,
    streams: Mapping[str, Stream],
    until: int | None,
    some: Sequence[str] = (),
) -> int | None:
    """The query's frontier, or that of some of its streams, or `until` where that is earlier; None where a stream has had no row."""
    found = [
        _number(db, f"SELECT max(__ts) - {streams[s].delay} FROM source{n}")
        for n, s in enumerate(query.streams)
        if s in (some or query.streams)
    ]
    frontiers = [t for t in found if t is not None]
    return min([*frontiers, *([] if until is None else [until])]) if len(frontiers) == len(found) else None


def _arguments(number: int, aggregate: QueryAggregate) -> list[str]:
    """What a call reads, under the names that `_argument_names` gives."""
    call = aggregate.call
    sql = [*(x.sql for x in call.args), call.where.sql if call.where else "true"]
    return [f"{s} AS {n}" for s, n in zip(sql, _argument_names(number, aggregate), strict=True)]


def _argument_names(number: int, aggregate: QueryAggregate) -> list[str]:
    """`x0_0`, ... for the arguments, and `f0` for the FILTER condition."""
    return [*(f"x{number}_{j}" for j in range(len(aggregate.call.args))), f"f{number}"]


def _call(number: int, aggregate: QueryAggregate) -> str:
    """A call over the combinations of a group."""
    *args, condition = _argument_names(number, aggregate)
    return aggregate_sql(aggregate.call, tuple(args), condition)


def _predicates(query: Query) -> list[str]:
    return [*(f"({e.left.sql}) = ({e.right.sql})" for e in query.equalities), *(r.sql for r in query.residue)]


def _inputs(query: Query) -> str:
    return ", ".join(f"input{n}" for n in range(len(query.inputs)))


def _where(source: QueryInput) -> str:
    return _all([c.sql for c in source.where])


def _all(conditions: Sequence[str]) -> str:
    return "(" + (" AND ".join(f"({c})" for c in conditions) or "true") + ")"


def _multiple_from(instant: int, width: int) -> int:
    """The first multiple at or after an instant.

    >>> _multiple_from(11, 5), _multiple_from(-11, 5)
    (15, -10)
    """
    return -(-instant // width) * width


def _number(db: duckdb.DuckDBPyConnection, sql: str) -> int | None:
    ((found,),) = db.execute(sql).fetchall()
    return None if found is None else int(found)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
