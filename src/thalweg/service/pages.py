"""Results of a query a page at a time: in order of batches, from any place in them, each row once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import pyarrow as pa

from thalweg.api.handle import QueryHandle
from thalweg.api.results import ResultFile
from thalweg.connectors.shared import batch_of
from thalweg.service.refusals import Refused


@dataclass(frozen=True, order=True)
class Cursor:
    """A place in results: the next row to read is the n-th of a batch."""

    batch: int = 0
    row: int = 0

    def __str__(self) -> str:
        return f"{self.batch}:{self.row}" if self.row else str(self.batch - 1)


def cursor_of(text: str) -> Cursor:
    """The place after a batch (`12`), or after so many rows of one (`12:500`).

    >>> cursor_of("12"), str(cursor_of("12")), str(cursor_of("12:500"))
    (Cursor(batch=13, row=0), '12', '12:500')
    """
    batch, colon, row = text.partition(":")
    number = batch.removeprefix("-")
    if not number.isdecimal() or (colon and not row.isdecimal()) or len(text) > 40:
        raise Refused(
            400,
            f"{text[:40]!r}: no place in results",
            "give the number of a batch, or the `next` of an earlier answer",
        )
    return Cursor(int(batch), int(row)) if row and int(row) else Cursor(max(int(batch) + 1, 0))


@dataclass(frozen=True)
class Page:
    """Rows, the place after them, and whether there are more by now."""

    rows: pa.Table
    next: Cursor
    more: bool = False


def page_after(handle: QueryHandle, cursor: Cursor, limit: int, shown: int) -> Page:
    """Rows from a place on, as many as asked; `shown` is the last batch that can be read whole."""
    found, left, place = [handle.empty()], limit, cursor
    batches = [(b, files) for b, files in _by_batch(handle) if cursor.batch <= b <= shown]
    for batch, files in batches:
        if not left:
            return Page(_whole(found), place, True)
        rows = _rows(handle, files)
        rows = rows.slice(cursor.row) if batch == cursor.batch else rows
        found.append(rows.slice(0, left))
        if rows.num_rows > left:
            given = left + (cursor.row if batch == cursor.batch else 0)
            return Page(_whole(found), Cursor(batch, given), True)
        left, place = left - rows.num_rows, Cursor(batch + 1)
    return Page(_whole(found), max(cursor, Cursor(shown + 1)))


def last_page(handle: QueryHandle, limit: int, shown: int) -> Page:
    """The last rows that there are, and the place after them."""
    found, left = list[pa.Table](), limit
    for batch, files in reversed(list(_by_batch(handle))):
        if batch <= shown and left > 0:
            rows = _rows(handle, files)
            found.append(rows.slice(max(rows.num_rows - left, 0)))
            left -= found[-1].num_rows
    return Page(_whole([handle.empty(), *reversed(found)]), Cursor(shown + 1))


def _by_batch(handle: QueryHandle) -> Iterator[tuple[int, list[ResultFile]]]:
    """The files of each batch, oldest first."""
    for batch, files in groupby(handle.files(), lambda f: batch_of(f.path)):
        if batch >= 0:
            yield batch, list(files)


class Recent:
    """Rows of batches that were read lately, up to some bytes: many clients ask for the same small files. Files that are shown never
    change, so what was read of them stays true."""

    def __init__(self, most: int) -> None:
        self._most, self._bytes = most, 0
        self._found: OrderedDict[Key, pa.Table] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> pa.Table | None:
        """What was read lately."""
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
            return self._found.get(key)

    def put(self, key: Key, rows: pa.Table) -> None:
        """Keep what was read, if it is small; the oldest goes."""
        size = rows.nbytes + EACH
        if size > self._most // 100:
            return
        with self._lock:
            if key not in self._found:
                self._found[key], self._bytes = rows, self._bytes + size
            while self._bytes > self._most:
                self._bytes -= self._found.popitem(last=False)[1].nbytes + EACH


Key = tuple[str, tuple[str, ...]]
EACH = 8_000
"""Bytes that a table takes besides its rows, about."""
_RECENT = Recent(64_000_000)


def _rows(handle: QueryHandle, files: list[ResultFile]) -> pa.Table:
    """The rows of one batch."""
    key = handle.name, tuple(str(f.path) for f in files)
    found = _RECENT.get(key)
    if found is None:
        _RECENT.put(key, found := _read(handle, files))
    return found


def _read(handle: QueryHandle, files: list[ResultFile]) -> pa.Table:
    """The rows of files; those that a consumer has taken away are no more."""
    found = [handle.empty()]
    for file in files:
        try:
            rows = file.read(handle.name)
        except FileNotFoundError:
            continue
        if rows is not None:
            found.append(rows)
    return _whole(found)


def _whole(tables: list[pa.Table]) -> pa.Table:
    return pa.concat_tables(tables, promote_options="default")
