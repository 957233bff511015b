"""The DuckDB connection of a worker process, and the types that it infers."""

from __future__ import annotations

import atexit
from collections.abc import Mapping
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa

# What the plan decides, DuckDB does not decide again: whether to aggregate before a join, which inputs meet first, which is kept.
OURS = "partial_aggregate_pushdown,join_order,build_side_probe_side"
HASH = f"duckdb-{duckdb.__version__}"


@cache
def connection() -> Any:
    """One connection a process, one thread: Spark's tasks are the parallelism."""
    con = open_connection()
    atexit.register(_close)
    return con


def open_connection() -> Any:
    """A connection as tasks use it."""
    con = duckdb.connect(config={"threads": 1, "preserve_insertion_order": "false"})
    con.execute("SET enable_progress_bar = false").fetchall()
    con.execute("SET TimeZone = 'UTC'").fetchall()
    con.execute(f"SET disabled_optimizers = '{OURS}'").fetchall()
    return con


def _close() -> None:
    connection().close()
    connection.cache_clear()


def run(sql: str) -> list[tuple[Any, ...]]:
    """Run a statement to its end and take its few rows."""
    rows: list[tuple[Any, ...]] = connection().execute(sql).fetchall()
    return rows


def query(sql: str, params: Mapping[str, int] | None = None) -> pa.Table:
    """Run a statement and take its result as Arrow."""
    con = connection()
    relation = con.sql(sql, params=dict(params)) if params else con.sql(sql)
    return relation.to_arrow_table()


class Tables:
    """Arrow tables that statements may name, with their columns, until the block ends."""

    def __init__(self) -> None:
        self.columns: dict[str, set[str]] = {}

    def offer(self, name: str, table: pa.Table) -> None:
        """Give a table a name, in the place of another that had it."""
        connection().register(name, table)
        self.columns[name] = set(table.column_names)

    def __enter__(self) -> Tables:
        return self

    def __exit__(self, *_: object) -> None:
        for name in self.columns:
            connection().unregister(name)


def infer_type(sql: str, columns: Mapping[str, str]) -> str:
    """The type of an expression over typed columns, by the engine that will run it; duckdb.Error if it has none."""
    fields = ", ".join(f'CAST(NULL AS {t}) AS "{n.replace(chr(34), chr(34) * 2)}"' for n, t in columns.items()) or "1"
    return str(run(f"DESCRIBE SELECT {sql} AS x FROM (SELECT {fields})")[0][1])


def clean_message(error: Exception) -> str:
    """The first line of an engine error without its class prefix; of a bad line of a CSV file also what is wrong with it."""
    lines = str(error).splitlines()
    head, _, rest = lines[0].partition(": ")
    said = (rest if rest and head.endswith("Error") else lines[0]).strip()
    if not said.startswith("CSV Error on Line"):
        return said
    reasons = [line.strip().rstrip(".") for line in lines[1:] if line.strip() and not line.startswith(("Original Line", "Possible", "*"))]
    return ", ".join([said.replace("CSV Error on Line:", "line"), *reasons[:1]])
