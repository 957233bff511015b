"""Rows that are pushed into a session: read, kept in its directory, and removed some time after they were read."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from shutil import rmtree
from typing import Any

import pyarrow as pa

from thalweg.api.running import Running
from thalweg.connectors.pushed import WAITING, Box, Receipt, made_place
from thalweg.engine.kernel.pushing import rows_of, table_rows
from thalweg.engine.progress import BatchProgress
from thalweg.errors import UsageError
from thalweg.model.catalog import Catalog, known
from thalweg.model.stream import Stream
from thalweg.state.manifest import Consumed, Manifest

TIDY = 10.0
"""Seconds between two looks for files that can go."""


@dataclass(frozen=True)
class Body:
    """Rows as bytes: `form` is json (lines), csv or arrow (an IPC stream)."""

    form: str
    data: bytes


class Pushing:
    """What is pushed into the streams of a session. Who pushes holds the session's directory, so nobody else does."""

    def __init__(
        self, running: Running, catalog: Callable[[], Catalog], manifest: Callable[[], Manifest]
    ) -> None:
        self._running, self._catalog, self._manifest = running, catalog, manifest
        self._boxes: dict[str, tuple[Stream, Box]] = {}
        self._lock, self._tidied, self._held = threading.Lock(), 0.0, 0

    def take(self, name: str, rows: Any, id: str | None, most: int = WAITING) -> Receipt:
        """Keep rows of a stream; they are on disk when this returns."""
        stream = self._stream(name)
        if id is not None and not 0 < len(id) <= 200:
            raise UsageError("an id has 1 to 200 characters", "give a shorter one that no other rows have")
        body = rows if isinstance(rows, Body) else body_of(rows)
        box, folder = self._box(stream), self._running.directory.pushing
        box.check_room(most)
        table = (
            rows_of(stream, body.form, body.data, folder)
            if isinstance(body, Body)
            else table_rows(stream, body, folder)
        )
        return box.take(table, id, most)

    def _stream(self, name: str) -> Stream:
        streams = self._catalog().streams
        known(name, streams, "stream")
        if not streams[name].is_pushed:
            raise UsageError(
                f"stream {name} is read from {'files' if streams[name].path else 'a DataFrame'}, nothing can be pushed to it",
                "declare one WITH (format = 'push', ...)",
            )
        return streams[name]

    def _box(self, stream: Stream) -> Box:
        """The box of a stream, for as long as the directory is held."""
        with self._lock:
            held = self._running.hold_directory()
            if held != self._held:
                rmtree(self._running.directory.pushing, ignore_errors=True)
                self._boxes, self._held = {}, held
            found = self._boxes.get(stream.name)
            if found is None or found[0] != stream:
                directory = self._running.directory
                path = made_place(stream, directory.inbox)
                box = Box(stream, path, directory.checkpoint / "sources" / stream.name, self._durable)
                box.committed(self._manifest().consumed.get(stream.name, Consumed()).offset)
                found = self._boxes[stream.name] = stream, box
            return found[1]

    @property
    def _durable(self) -> bool:
        return self._catalog().config.durable

    def begin(self) -> None:
        """Know what waits of every stream, now that the directory is held."""
        for stream in self._catalog().streams.values():
            if stream.is_pushed:
                self._box(stream)

    def waiting(self) -> dict[str, int]:
        """Bytes that wait to be read, of every stream that rows were pushed to."""
        streams = self._catalog().streams
        return {n: box.waiting for n, (_, box) in list(self._boxes.items()) if n in streams}

    def listen(self, done: BatchProgress) -> None:
        """A batch was committed: what it read waits no more, and what was read long ago can go."""
        directory = self._running.directory
        if not self._boxes or not directory.is_locked or directory.holds != self._held:
            return
        consumed = self._manifest().consumed
        for name, (_, box) in list(self._boxes.items()):
            box.committed(consumed.get(name, Consumed()).offset)
        if time.monotonic() - self._tidied > TIDY:
            self._tidied = time.monotonic()
            self.tidy()

    def tidy(self) -> None:
        """Remove what was read long ago, unless somebody reads it again now."""
        replays = self._running.replays
        if replays is not None and not replays.lagging:
            self._running.directory.guard()
            for _, box in list(self._boxes.values()):
                box.tidy()


def body_of(rows: Any) -> pa.Table | Body:
    """Rows as Python has them: an Arrow or pandas table, or dicts."""
    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows])
    if isinstance(rows, pa.Table):
        return rows
    if hasattr(rows, "__arrow_c_stream__"):
        return pa.table(rows)
    if isinstance(rows, Mapping) or not isinstance(rows, Iterable) or isinstance(rows, str | bytes):
        raise UsageError(
            f"can't push {type(rows).__name__}", "give pa.table(...), a pandas DataFrame, or dicts, one a row"
        )
    return Body("json", "\n".join(_line(row) for row in rows).encode())


def _line(row: Any) -> str:
    if not isinstance(row, Mapping):
        raise UsageError(f"a row is {type(row).__name__}", "give dicts, one a row")
    try:
        return json.dumps(dict(row), default=_text, allow_nan=False)
    except (TypeError, ValueError) as e:
        raise UsageError(f"a row can't be pushed: {e}", "give numbers, texts, times, or None") from None


def _text(value: Any) -> str:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(f"{type(value).__name__} is no value of a column")
