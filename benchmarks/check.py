"""Whether engines agree: their result rows as sets, against the definition computed by DuckDB over the whole input.

Native Spark closes windows by the watermark of the batch before, so at the same moment it has emitted fewer windows than
Thalweg, and engines may have been given different numbers of batches. Compared are the windows that all have emitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd
from pathlib import Path

import duckdb

from benchmarks.spec import window_id
from thalweg.model.windows import Window

CLOSE = 1e-9
_SLOT = {"MIN": "MIN(v)", "MAX": "MAX(v)", "SUM": "SUM(v)", "COUNT": "COUNT(v)"}
_COMBINE = {"MIN": "MIN(m)", "MAX": "MAX(m)", "SUM": "SUM(m)", "COUNT": "SUM(m)"}


@dataclass(frozen=True)
class Agreement:
    """emitted: result rows by engine. compared: rows of the windows that all engines emitted. differing: rows by engine
    that are missing, too many, or have another value."""

    emitted: dict[str, int]
    compared: int
    differing: dict[str, int]

    @property
    def holds(self) -> bool:
        """Whether something was compared, and nothing differs."""
        return self.compared > 0 and not any(self.differing.values())


def compare(
    results: Mapping[str, Path],
    files: list[Path],
    windows: tuple[Window, ...],
    aggregate: str = "MIN",
    keys: int | None = None,
) -> Agreement:
    """Compare the result directories of engines, by name, with each other and with the definition.

    `files` are the input of the engine that read the most. With `keys` only the keys below it are compared.
    """
    con = duckdb.connect()
    chosen = "" if keys is None else f" WHERE k < {keys}"
    _define(con, files, windows, aggregate, chosen)
    for i, folder in enumerate(results.values()):
        con.execute(
            f"CREATE TABLE r{i} AS SELECT window_id AS w, epoch_us(window_end) AS e, k, m FROM read_parquet('{folder}/*.parquet'){chosen}"
        )
    tops = " UNION ALL ".join(
        f"SELECT {i} AS i, w, MAX(e) AS top FROM r{i} GROUP BY w" for i in range(len(results))
    )
    con.execute(
        f"CREATE TABLE horizon AS SELECT w, MIN(top) AS top FROM ({tops}) GROUP BY w HAVING COUNT(*) = {len(results)}"
    )
    compared = _number(con, "SELECT COUNT(*) FROM expected JOIN horizon USING (w) WHERE e <= top")
    emitted = {name: _number(con, f"SELECT COUNT(*) FROM r{i}") for i, name in enumerate(results)}
    differing = {name: _number(con, _difference(f"r{i}")) for i, name in enumerate(results)}
    return Agreement(emitted, compared, differing)


def _define(
    con: duckdb.DuckDBPyConnection,
    files: list[Path],
    windows: tuple[Window, ...],
    aggregate: str,
    chosen: str,
) -> None:
    """`expected(w, e, k, m)`: every instance of every window over the whole input, by way of slots that divide them all."""
    slot = gcd(*(w.range for w in windows), *(w.slide for w in windows))
    rows = f"read_parquet({[str(p) for p in files]}){chosen}"
    con.execute(
        f"CREATE TABLE slots AS SELECT k, epoch_us(ts) // {slot} AS slot, {_SLOT[aggregate]} AS m FROM {rows} GROUP BY ALL"
    )
    instances = " UNION ALL ".join(_instances(w, slot, aggregate) for w in windows)
    con.execute(f"CREATE TABLE expected AS {instances}")


def _instances(window: Window, slot: int, aggregate: str) -> str:
    time, s, r = f"slot * {slot}", window.slide, window.range
    first = f"({time} - {r}) // {s} + 1"
    rows = f"SELECT k, m, unnest(range({first}, {time} // {s} + 1)) AS i FROM slots"
    return f"SELECT '{window_id(window)}' AS w, i * {s} + {r} AS e, k, {_COMBINE[aggregate]} AS m FROM ({rows}) GROUP BY i, k"


def _difference(table: str) -> str:
    """Rows of the common windows that the engine lacks, has too many of, or has another value for."""
    common = "JOIN horizon USING (w) WHERE e <= top"
    near = f"ABS(a.m - b.m) <= {CLOSE} * GREATEST(ABS(a.m), ABS(b.m))"
    return (
        f"SELECT COUNT(*) FROM (SELECT w, e, k, m, 1 AS n FROM expected {common}) AS a FULL JOIN "
        f"(SELECT w, e, k, ANY_VALUE(m) AS m, COUNT(*) AS n FROM {table} {common} GROUP BY w, e, k) AS b USING (w, e, k) "
        f"WHERE a.n IS NULL OR b.n IS NULL OR b.n <> 1 OR NOT ({near})"
    )


def _number(con: duckdb.DuckDBPyConnection, sql: str) -> int:
    row = con.execute(sql).fetchone()
    return int(row[0]) if row else 0
