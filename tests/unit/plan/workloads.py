"""Workloads of many queries over a few streams, planned without data."""

from __future__ import annotations

from thalweg.model.query import Query
from thalweg.model.settings import Config
from thalweg.optimizer.planner import planner_for
from thalweg.optimizer.workload import advance
from thalweg.plan.nodes import Plan
from thalweg.testing.bound import bind_statements

COLUMNS = (
    "(k BIGINT, j BIGINT, x BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = 'none/{n}', time = 'at')"
)
STREAMS = "".join(f"CREATE STREAM {n} {COLUMNS.format(n=n)};" for n in "abcd")


def queries(*selects: str) -> tuple[Query, ...]:
    """Queries q0, q1, ... over the streams a to d."""
    return tuple(
        bind_statements(
            STREAMS + "".join(f"CREATE QUERY q{i} AS {s};" for i, s in enumerate(selects))
        ).queries.values()
    )


def planned(
    asked: tuple[Query, ...],
    old: Plan | None = None,
    config: Config | None = None,
    top: int | None = None,
    again: bool = False,
) -> Plan:
    """The plan of some queries, after another one; `top` is the highest event time seen of every stream, `again` plans all anew."""
    streams = tuple(bind_statements(STREAMS).streams.values())
    tops = {s.name: top for s in streams}
    replan = {q.name for q in asked} if again else ()
    return advance(
        old or Plan(), streams, asked, planner_for(config or Config(), None, streams), tops, {}, replan
    )


def windows(condition: str = "TRUE", calls: str = "COUNT(*) AS n", source: str = "a") -> str:
    """A query over windows of one and five minutes."""
    return f"SELECT k, window_id, {calls} FROM {source} WHERE {condition} GROUP BY k, WINDOWS(TUMBLE '1 minute', TUMBLE '5 minutes')"


def counted(condition: str = "TRUE", name: str = "l", source: str = "a") -> str:
    """A count over a join of two streams."""
    inputs = f"{source} AS {name} [RANGE 1 MINUTE], b AS r [RANGE 2 MINUTES]"
    return f"SELECT {name}.k, COUNT(*) AS n FROM {inputs} WHERE {name}.k = r.k AND {condition} GROUP BY {name}.k EVERY 1 MINUTE"
