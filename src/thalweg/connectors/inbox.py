"""An iterable of Arrow tables as a stream: each table becomes a file in the session's directory, whole or not at all, and only once.

A script that is run again gives its tables again, from the first on: those that the directory has are passed over. So each has a
position, its place among the tables of the iterable; or, in a pair (name, table), a name that is never used for other rows, for iterables
that do not begin anew.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.connectors.files import FileSource, schema_columns
from thalweg.errors import UsageError
from thalweg.model.stream import Stream
from thalweg.state.checks import crc, damaged
from thalweg.state.local import disk_problem, flush, write_file
from thalweg.state.manifest import Consumed

HINT = "give pa.table(...), a pandas DataFrame, or pairs of a name and one of them"


@dataclass(frozen=True)
class InboxSource:
    """Tables that are left in a directory of the session, and read from there like other files."""

    stream: Stream
    inbox: Inbox

    @property
    def error(self) -> Exception | None:
        """What the iterable has met."""
        return self.inbox.error

    @property
    def files(self) -> FileSource:
        """Where the tables lie."""
        return FileSource(self.stream)

    def check(self, is_new: bool) -> None:
        """Tables that were left are files as they were declared."""
        self.files.check(is_new)

    def begin(self, whole: bool) -> None:
        """Write all tables now, or as they come."""
        self.inbox.fill(whole)

    def chunks(self, spark: Any) -> Any:
        """One row per table."""
        return self.files.chunks(spark)

    def again(self, checkpoint: Path, taken: Consumed) -> tuple[str, ...] | None:
        """The files of the tables."""
        return self.files.again(checkpoint, taken)


class Inbox:
    """Takes tables from an iterable and leaves them as Parquet files where the stream reads them."""

    def __init__(self, path: Path, tables: Iterable[Any]) -> None:
        self.path = path
        self._tables: Iterator[Any] = iter(tables)
        self._lock = threading.Lock()
        self.error: Exception | None = None
        path.mkdir(parents=True, exist_ok=True)
        taken = [_marks(p) for p in path.glob("*.parquet")]
        self._next = 1 + max((number for number, _ in taken), default=-1)
        self._names = {name for _, name in taken if name}
        self._passed = sum(not name for _, name in taken)

    def columns(self) -> str | None:
        """The columns of the first table, as a declaration; None where that is a file already, or there is none. It stays the first."""
        if next(self.path.glob("*.parquet"), None) is not None:
            return None
        first = next(self._tables, None)
        if first is None:
            return None
        self._tables = chain([first], self._tables)
        return schema_columns(self._named(first)[1].schema)

    def fill(self, whole: bool) -> None:
        """Write all tables now, or from a background thread as they come; what goes wrong there is kept as `error`."""
        if whole:
            self._drain()
        else:
            threading.Thread(target=self._drain_beside, daemon=True, name=f"inbox-{self.path.name}").start()

    def _drain_beside(self) -> None:
        try:
            self._drain()
        except Exception as e:
            self.error = e

    def _drain(self) -> None:
        with self._lock:
            for given in self._tables:
                self._take(given)

    def _take(self, given: Any) -> None:
        """Add a table that was not taken before."""
        name, table = self._named(given)
        mark = "" if name is None else sha256(str(name).encode()).hexdigest()[:32]
        if not mark and self._passed:
            self._passed -= 1
        elif mark not in self._names:
            self._put(table, mark)

    def _named(self, given: Any) -> tuple[Any, pa.Table]:
        """A table as Arrow has it, and the name that it was given, if any."""
        name, value = given if isinstance(given, tuple) and len(given) == 2 else (None, given)
        if not is_table(value):
            what = f"stream {self.path.name}: got {type(value).__name__} instead of an Arrow table"
            raise UsageError(what, HINT)
        return name, _arrow(value)

    def _put(self, table: pa.Table, mark: str) -> None:
        """Write a file; it is the newest."""
        place = f"{self._next:09d}{'-' * bool(mark)}{mark}"
        newest = max((p.stat().st_mtime_ns for p in self.path.glob("*.parquet")), default=0)
        leave(self.path, place, table, newest)
        self._next += 1
        self._names |= {mark} - {""}


def is_table(value: Any) -> bool:
    """Whether a value is a table, of Arrow, pandas, Polars or others that hand over Arrow."""
    return isinstance(value, pa.Table | pa.RecordBatch) or (
        hasattr(value, "columns") and hasattr(value, "__arrow_c_stream__")
    )


def _arrow(value: Any) -> pa.Table:
    """A table as Arrow's; the index of a pandas DataFrame is no column."""
    if isinstance(value, pa.Table):
        return value
    if isinstance(value, pa.RecordBatch):
        return pa.Table.from_batches([value])
    return pa.Table.from_pandas(value, preserve_index=False) if hasattr(value, "iloc") else pa.table(value)


def leave(folder: Path, place: str, table: pa.Table, newest: int, durable: bool = True) -> Path:
    """Write a table to a file, whole or not at all, with its checksum in its name, and a time of change after that of the `newest`."""
    made = pa.BufferOutputStream()
    pq.write_table(table, made)
    data = made.getvalue()
    hidden, path = folder / f".{place}.tmp", folder / f"{place}~{crc(data):08x}.parquet"
    try:
        hidden.unlink(missing_ok=True)
        write_file(hidden, data, flush=False, shown=folder)
        if hidden.stat().st_mtime_ns // 1_000_000 <= newest // 1_000_000:
            os.utime(hidden, ns=(newest + 2_000_000, newest + 2_000_000))
        flush([hidden] if durable else [])
        hidden.replace(path)
    except OSError as e:
        raise disk_problem(folder, e) from e
    flush([folder] if durable else [])
    return path


def _marks(path: Path) -> tuple[int, str]:
    """The number and the mark of a name in the name of a file, before its checksum."""
    number, _, name = path.stem.partition("~")[0].partition("-")
    return int(number), name


def check_left(paths: Iterable[str]) -> None:
    """Refuse files of an inbox that are not as they were left there; others are not looked at."""
    for path in map(Path, paths):
        left = _LEFT.fullmatch(path.name)
        if left and path.parent.parent.name == "inbox" and f"{crc(path.read_bytes()):08x}" != left[1]:
            raise damaged(str(path), "its checksum is not the one in its name")


_LEFT = re.compile(r"\d{9}(?:-[0-9a-f]{32})?~([0-9a-f]{8})\.parquet")
