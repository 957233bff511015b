"""Events as they happen: a file a second for every stream, until somebody has seen enough."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import TracebackType

import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.generate import Nexmark
from thalweg.model.windows import SECOND

RATE, DISORDER, LATE = 2_000, 2.0, 0.0005
YEAR = 365 * 24 * 3600


class Feed:
    """Writes an auction site's events of now below a directory, a folder each stream, while it is entered."""

    def __init__(self, directory: Path) -> None:
        self._directory, self._enough = directory, threading.Event()
        self._generator = Nexmark(
            events=RATE * YEAR, rate=RATE, disorder=DISORDER, late=LATE, start=round(time.time()) * SECOND
        )
        self._thread = threading.Thread(target=self._write, daemon=True, name="thalweg-feed")
        for stream in self._generator.schemas:
            (directory / stream).mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Feed:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._enough.set()
        self._thread.join()

    def _write(self) -> None:
        began = time.monotonic()
        for second, tables in enumerate(self._generator.chunks(RATE), 1):
            if self._enough.wait(max(0.0, began + second - time.monotonic())):
                return
            for stream, rows in tables.items():
                self._add(rows, self._directory / stream / f"{second:09d}.parquet")

    def _add(self, rows: pa.Table, path: Path) -> None:
        """A file that is seen whole."""
        hidden = path.with_name(f".{path.name}")
        if rows.num_rows:
            pq.write_table(rows, hidden)
            hidden.rename(path)
