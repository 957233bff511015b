"""The definition of OVER by event time, as SQL over all the data: each row looks at the rows of its frame among all that are in their places."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg.expr.quoting import identifier
from thalweg.model.query import Query
from thalweg.model.running import LEAD, ROWS, RunningCall
from thalweg.testing.calls import aggregate_sql


def rows_in_order(query: Query, columns: Sequence[str], frontier: int | None) -> str:
    """The rows of `input0` below a frontier, `columns` being those of the stream, with what calls give as `"o0"`, ..."""
    assert query.running is not None
    alias, calls = query.inputs[0].alias, query.running.calls
    bare = [f"{identifier(f'{alias}.{c}')} AS {identifier(c)}" for c in columns]
    keys = [f"{k.sql} AS __k{i}" for i, k in enumerate(query.keys)]
    seen = f"SELECT *, __ts0 AS __ts, {', '.join([*bare, *keys])} FROM input0 WHERE __ts0 < {'NULL' if frontier is None else frontier}"
    by = ", ".join(f"__k{i}" for i in range(len(query.keys)))
    order = ", ".join(["__ts0", *(f"{identifier(t)} NULLS FIRST" for t in query.running.ties)])
    args = [f"{x.sql} AS __x{i}_{j}" for i, c in enumerate(calls) for j, x in enumerate(c.call.args)]
    args += [f"{c.call.where.sql if c.call.where else 'true'} AS __f{i}" for i, c in enumerate(calls)]
    placed = f"SELECT *, {', '.join(args)}, row_number() OVER (PARTITION BY {by} ORDER BY {order}) AS __n FROM ({seen})"
    given = [f"{_given(i, c, query)} AS o{i}" for i, c in enumerate(calls)]
    waits = f"lead(__n, {query.running.ahead}) OVER (PARTITION BY {by} ORDER BY __n) IS NOT NULL AS __known"
    chosen = " AND ".join(["__known", *(f"({t.sql})" for t in query.kept)])
    return f"WITH placed AS ({placed}) SELECT * FROM (SELECT *, {', '.join([*given, waits])} FROM placed AS r) WHERE {chosen}"


def _given(number: int, call: RunningCall, query: Query) -> str:
    args = tuple(f"__x{number}_{j}" for j in range(len(call.call.args)))
    if not call.is_aggregate:
        value, *other = args
        by = ", ".join(f"__k{i}" for i in range(len(query.keys)))
        name = "lead" if call.call.function == LEAD else "lag"
        return f"{name}({', '.join([value, str(call.frame.length), *other])}) OVER (PARTITION BY {by} ORDER BY __n)"
    same = [f"f.__k{i} IS NOT DISTINCT FROM r.__k{i}" for i in range(len(query.keys))]
    place = "__n" if call.frame.kind == ROWS else "__ts0"
    bounds = [f"f.{place} <= r.{place}"]
    bounds += [] if call.frame.length is None else [f"f.{place} >= r.{place} - {call.frame.length}"]
    of = aggregate_sql(call.call, tuple(f"f.{a}" for a in args), f"f.__f{number}").replace("__ts ", "f.__ts ")
    return f"(SELECT {of} FROM placed AS f WHERE {' AND '.join([*same, *bounds])})"
