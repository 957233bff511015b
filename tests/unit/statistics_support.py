"""Streams with files, and what EXPLAIN says of queries over them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

from thalweg.api.session import Session

COLUMNS = "k BIGINT, g BIGINT, v BIGINT, at TIMESTAMP"
WINDOWS = "CREATE QUERY w AS SELECT k, window_end, MIN(v) AS low FROM s {where} GROUP BY k, WINDOWS(TUMBLE '10 seconds');"
JOIN = """CREATE QUERY j AS SELECT a.g, COUNT(*) AS n FROM s AS a [RANGE 10 SECONDS], r AS b [RANGE 10 SECONDS]
  WHERE a.k = b.k {where} GROUP BY a.g EVERY 10 SECONDS;"""


def write(
    directory: Path, format: str = "parquet", rows: int = 4_000, per_second: int = 400, name: str = "0"
) -> Path:
    """A file of rows with 20 values of k, 5 of g that go with them, and 10 of v."""
    directory.mkdir(parents=True, exist_ok=True)
    micros = 1_000_000 // per_second
    at = f"TIMESTAMP '2026-01-01' + to_microseconds(i * {micros}) AS at"
    path = directory / f"{name}.{format}"
    with duckdb.connect() as con:
        con.execute(
            f"COPY (SELECT i % 20 AS k, i % 5 AS g, i // 20 % 10 AS v, {at} FROM range({rows}) t(i)) TO '{path}'"
        ).fetchall()
    return path


def stream_sql(name: str, path: Path | str = "nowhere", options: str = "", format: str = "parquet") -> str:
    """A stream that may declare statistics."""
    return (
        f"CREATE STREAM {name} ({COLUMNS}) WITH (format = '{format}', path = '{path}', time = 'at'{options});"
    )


def window_statistics(stream: str, where: str = "") -> dict[str, Any]:
    """The statistics of a query by k."""
    (group,) = explained(stream + WINDOWS.format(where=where))["windows"]["groups"]
    found: dict[str, Any] = group["statistics"]
    return found


def join(streams: str, where: str = "", text: str = JOIN) -> dict[str, Any]:
    """What is said of the join."""
    (found,) = explained(streams + text.format(where=where))["joins"]
    assert isinstance(found, dict)
    return found


def explained(text: str) -> dict[str, Any]:
    """A script's plan as plain values."""
    session = Session("nowhere")
    session.sql(text)
    return session.explain().data
