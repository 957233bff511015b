"""Plans to explain, and engines that have run some batches of one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.api.session import Session
from thalweg.explain import Explanation
from thalweg.model.settings import Config
from thalweg.model.windows import Window
from thalweg.optimizer.planner import planner_for
from thalweg.testing.bound import bind_statements
from thalweg.testing.local import LocalEngine

COLUMNS = "auction BIGINT, price BIGINT, channel STRING, at TIMESTAMP"
START = datetime(2026, 1, 1)
HASH = re.compile(r"_([0-9a-f]{6})[0-9a-f]{26}(?![0-9a-f])")


def stream_sql(path: Path | str = "nowhere/bid") -> str:
    return f"CREATE STREAM bid ({COLUMNS}) WITH (format = 'parquet', path = '{path}', time = 'at', watermark = '2 seconds');"


def query_sql(windows: Iterable[str], call: str = "MIN(price)", name: str = "low", where: str = "") -> str:
    return (
        f"CREATE QUERY {name} AS SELECT auction, window_id, window_end, {call} AS v FROM bid {where} "
        f"GROUP BY auction, WINDOWS({', '.join(windows)});"
    )


def as_shown(sql: str) -> str:
    """SQL as the verbose form has it, but for line breaks."""
    return " ".join(HASH.sub(r"_\1", sql).split())


def tumbling(*seconds: int) -> list[str]:
    return [f"TUMBLE '{s} seconds'" for s in seconds]


def sql_of(window: Window) -> str:
    """A window in microseconds as SQL."""
    return f"HOP '{window.range} microseconds' BY '{window.slide} microseconds'"


def explained(*queries: str, settings: dict[str, str] | None = None) -> Explanation:
    session = Session("nowhere", settings=settings)
    session.sql(stream_sql() + "".join(queries))
    return session.explain()


def events(batch: int, rows: int = 2_000, keys: int = 20) -> pa.Table:
    """Forty seconds of bids."""
    at = [START + timedelta(seconds=40 * (batch + i / rows)) for i in range(rows)]
    columns: dict[str, Any] = {
        "auction": [i % keys for i in range(rows)],
        "price": [i * 7 % 1000 for i in range(rows)],
    }
    return pa.table({**columns, "channel": ["web"] * rows, "at": pa.array(at, pa.timestamp("us"))})


def ran(root: Path, text: str, batches: int = 3, mode: str = "best") -> LocalEngine:
    """An engine after some batches of the queries of a text."""
    folder = root / "bid"
    folder.mkdir()
    bound = bind_statements(stream_sql(folder) + text)
    engine = LocalEngine(
        root / "run",
        tuple(bound.streams.values()),
        tuple(bound.queries.values()),
        planner_for(Config(windows=mode)),
    )
    for i in range(batches):
        run_batch(engine, folder, i)
    return engine


def run_batch(engine: LocalEngine, folder: Path, number: int) -> None:
    pq.write_table(events(number), folder / f"{number}.parquet")
    engine.batch([("bid", str(folder / f"{number}.parquet"))])
