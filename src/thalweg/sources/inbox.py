"""An iterable of Arrow tables as a stream: each table becomes a file in the session's directory, whole or not at all."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.errors import UsageError


class Inbox:
    """Takes tables from an iterable and leaves them as Parquet files where the stream reads them."""

    def __init__(self, path: Path, tables: Iterable[Any]) -> None:
        self.path, self._tables = path, iter(tables)
        self._lock = threading.Lock()
        path.mkdir(parents=True, exist_ok=True)

    def fill(self, whole: bool) -> None:
        """Write all tables now, or from a background thread as they come."""
        if whole:
            self._drain()
        else:
            threading.Thread(target=self._drain, daemon=True, name=f"inbox-{self.path.name}").start()

    def _drain(self) -> None:
        with self._lock:
            for table in self._tables:
                self.put(table)

    def put(self, table: Any) -> None:
        """Add one table; its file is the newest."""
        if not isinstance(table, pa.Table):
            raise UsageError(f"stream {self.path.name}: got {type(table).__name__} instead of an Arrow table", "use pa.table(...)")
        number = len(list(self.path.glob("*.parquet")))
        hidden = self.path / f".{number:09d}.tmp"
        pq.write_table(table, hidden)
        newest = max((p.stat().st_mtime_ns for p in self.path.glob("*.parquet")), default=0)
        if hidden.stat().st_mtime_ns // 1_000_000 <= newest // 1_000_000:
            os.utime(hidden, ns=(newest + 2_000_000, newest + 2_000_000))
        hidden.replace(self.path / f"{number:09d}.parquet")
