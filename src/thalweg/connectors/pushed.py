"""Rows that are pushed, as a stream: they lie in files of the session's directory from when they are acknowledged until they were read
and some time has passed. Rows under a name that was used before are those that are there already.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.connectors.files import FileSource
from thalweg.connectors.inbox import leave
from thalweg.connectors.pushed_names import Names
from thalweg.connectors.source_log import Entry, all_entries
from thalweg.errors import Backlog, DataError
from thalweg.model.stream import Stream
from thalweg.state.checks import crc, damaged
from thalweg.state.local import disk_problem
from thalweg.state.manifest import Consumed
from thalweg.state.together import Done, Together

NAMES, CHECK = b"thalweg.names", b"thalweg.names.check"
"""Where a file says which names its rows were pushed under, and the checksum of that: the one of the whole file is looked at when it is read."""
WAITING = 1_000_000_000
"""Bytes that may wait to be read."""
AT_ONCE = 64_000_000
"""Bytes of rows that become one file, where several push at once."""
LATER = 2
"""Seconds after which it is worth trying again where too much waits."""


@dataclass(frozen=True)
class PushedSource:
    """What was pushed, read like other files. `folder` is where this session keeps what is pushed."""

    stream: Stream
    folder: Path
    error: Exception | None = None

    @property
    def files(self) -> FileSource:
        """Where the rows lie."""
        return FileSource(self.stream)

    def check(self, is_new: bool) -> None:
        """Have a place for rows; refuse that of a session that was moved."""
        made_place(self.stream, self.folder)
        self.files.check(is_new)

    def begin(self, whole: bool) -> None:
        """Others push."""

    def chunks(self, spark: Any) -> Any:
        """One row per file."""
        made_place(self.stream, self.folder)
        return self.files.chunks(spark)

    def again(self, checkpoint: Path, taken: Consumed) -> tuple[str, ...] | None:
        """The files that were read, of which the oldest may be gone."""
        return self.files.again(checkpoint, taken)


def made_place(stream: Stream, folder: Path) -> Path:
    """The directory of a stream's rows."""
    path = folder / stream.name
    if stream.path != str(path):
        raise DataError(
            f"{stream.path}: rows of stream {stream.name} were pushed there, and the session is now in {folder.parent}",
            f"move it back to {Path(stream.path or '').parent.parent}",
        )
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise disk_problem(path, e) from e
    return path


@dataclass(frozen=True)
class Receipt:
    """Rows that are kept from now on; `is_new` is false where they were there already, by their name."""

    rows: int
    is_new: bool = True


@dataclass(frozen=True)
class _File:
    bytes: int
    changed: int
    names: tuple[str, ...]


@dataclass(frozen=True)
class _Coming:
    number: int
    name: str
    table: pa.Table


class Box:
    """The files of one stream. Any thread may push; what comes at once becomes one file. Only one process may have it."""

    def __init__(self, stream: Stream, path: Path, log: Path, durable: bool = True) -> None:
        self.stream, self.path, self._log, self._durable = stream, path, log, durable
        self._lock, self._together = threading.Lock(), Together(self._write)
        self._coming: list[_Coming] = []
        self._number, self._offset = 0, -1
        self._names = Names(path, durable)
        self._files = {p.name: _described(p) for p in sorted(path.glob("*.parquet"))}
        self._read: set[str] = set()
        self._unread = sum(f.bytes for f in self._files.values())
        self._newest = max((f.changed for f in self._files.values()), default=0)
        self._here = {mark for f in self._files.values() for mark in f.names}
        numbers = [int(name.partition("~")[0]) for name in self._files]
        self._next = 1 + max([*numbers, self._names.highest], default=-1)
        for hidden in path.glob(".*.tmp"):
            hidden.unlink(missing_ok=True)

    @property
    def waiting(self) -> int:
        """Bytes that no batch has read."""
        with self._lock:
            return self._waiting()

    def _waiting(self) -> int:
        return self._unread + sum(int(c.table.nbytes) for c in self._coming)

    def take(self, table: pa.Table, name: str | None, most: int = WAITING) -> Receipt:
        """Keep rows, unless their name is known; they are on disk when this returns. Refused where too much waits."""
        mark = "" if name is None else sha256(name.encode()).hexdigest()[:32]
        if not table.num_rows:
            return Receipt(0)
        with self._lock:
            if mark in self._here or mark in self._names:
                return Receipt(table.num_rows, is_new=False)
            before = next((c.number for c in self._coming if mark and c.name == mark), None)
            if before is None:
                self._check_room(most)
                self._number += 1
                self._coming.append(_Coming(self._number, mark, table))
            number = before or self._number
        self._together.wait(number)
        return Receipt(table.num_rows, is_new=before is None)

    def check_room(self, most: int) -> None:
        """Refuse more where too much waits."""
        with self._lock:
            self._check_room(most)

    def _check_room(self, most: int) -> None:
        if (waiting := self._waiting()) > most:
            raise Backlog(
                f"stream {self.stream.name}: {waiting:,} bytes of rows wait to be read, more than {most:,}",
                "push again later; rows are read while a query runs",
                LATER,
            )

    def _write(self) -> Done:
        """Make one file of what came first, up to some bytes."""
        with self._lock:
            mine = list(_first(self._coming))
        names = tuple(c.name for c in mine if c.name)
        error: Exception | None = None
        try:
            made = self._left(pa.concat_tables(c.table for c in mine), names)
        except Exception as e:
            error = e
        with self._lock:
            self._coming = self._coming[len(mine) :]
            if error is None:
                self._count(*made)
        return mine[-1].number, error

    def _left(self, table: pa.Table, names: tuple[str, ...]) -> tuple[str, _File]:
        text = "\n".join(names).encode()
        said = table.replace_schema_metadata({NAMES: text, CHECK: _check_of(text)})
        path = leave(self.path, f"{self._next:09d}", said, self._newest, self._durable)
        found = path.stat()
        return path.name, _File(found.st_size, found.st_mtime_ns, names)

    def _count(self, name: str, file: _File) -> None:
        self._files[name], self._next, self._newest = file, self._next + 1, file.changed
        self._unread += file.bytes
        self._here |= set(file.names)

    # ---- what batches have read ----

    def committed(self, offset: int) -> None:
        """All that Spark's log names up to an offset was read, and that is committed."""
        if offset > self._offset:
            found = {Path(e.file).name for e in _entries(self._log, self._offset + 1, offset)}
            with self._lock:
                new = (found & self._files.keys()) - self._read
                self._read |= new
                self._unread -= sum(self._files[name].bytes for name in new)
            self._offset = offset

    def tidy(self) -> int:
        """Remove files that were read and are older than is kept; their names stay known. Returns how many."""
        oldest = time.time_ns() - 1_000 * (self.stream.kept or 0)
        with self._lock:
            gone = {n: self._files[n] for n in sorted(self._read) if self._files[n].changed <= oldest}
        if not gone:
            return 0
        highest = max(int(name.partition("~")[0]) for name in gone)
        self._names.add([mark for f in gone.values() for mark in f.names], highest)
        for name in gone:
            (self.path / name).unlink(missing_ok=True)
        with self._lock:
            self._read -= gone.keys()
            self._files = {n: f for n, f in self._files.items() if n not in gone}
            self._here -= {mark for f in gone.values() for mark in f.names}
        return len(gone)


def _first(coming: Iterable[_Coming]) -> Iterator[_Coming]:
    total = 0
    for each in coming:
        if total and total + each.table.nbytes > AT_ONCE:
            return
        total += each.table.nbytes
        yield each


def _described(path: Path) -> _File:
    found = path.stat()
    try:
        said = pq.read_schema(path).metadata or {}
    except (OSError, pa.ArrowException) as e:
        if isinstance(e, OSError) and e.errno:
            raise disk_problem(path, e) from e
        raise damaged(str(path), "not readable") from e
    names = said.get(NAMES, b"")
    if said.get(CHECK, _check_of(names)) != _check_of(names):
        raise damaged(str(path), "the names of its rows are not those that it was written with")
    return _File(found.st_size, found.st_mtime_ns, tuple(names.decode().split()))


def _check_of(names: bytes) -> bytes:
    return f"{crc(names):08x}".encode()


def _entries(log: Path, first: int, last: int) -> list[Entry]:
    return [e for e in all_entries(log, last, first) if first <= e.number <= last]
