"""Results of a query a page at a time: in order of batches, from any place in them, each row once."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from thalweg.api.handle import QueryHandle
from thalweg.api.results import ResultFile
from thalweg.service.refusals import Refused
from thalweg.service.shelf import RECENT, listing_of


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


class NotInMemory(Exception):
    """Files must be read, for which whoever asked has no time."""


def page_after(handle: QueryHandle, cursor: Cursor, limit: int, shown: int, reads: bool = True) -> Page:
    """Rows from a place on, as many as asked; `shown` is the last batch that can be read whole. Unless it `reads`, all must be in memory."""
    listing = listing_of(handle, shown, reads)
    if listing is None:
        raise NotInMemory
    found, left, place = list[pa.Table](), limit, cursor
    for batch, files in listing.between(cursor.batch, shown):
        if not left:
            return Page(_whole(handle, found), place, True)
        rows = _rows(handle, files, reads)
        rows = rows.slice(cursor.row) if batch == cursor.batch else rows
        found.append(rows.slice(0, left))
        if rows.num_rows > left:
            given = left + (cursor.row if batch == cursor.batch else 0)
            return Page(_whole(handle, found), Cursor(batch, given), True)
        left, place = left - rows.num_rows, Cursor(batch + 1)
    return Page(_whole(handle, found), max(cursor, Cursor(shown + 1)))


def last_page(handle: QueryHandle, limit: int, shown: int, reads: bool = True) -> Page:
    """The last rows that there are, and the place after them."""
    listing = listing_of(handle, shown, reads)
    if listing is None:
        raise NotInMemory
    found, left = list[pa.Table](), limit
    for number in reversed(range(listing.count(shown))):
        if left <= 0:
            break
        rows = _rows(handle, listing.files[number], reads)
        found.append(rows.slice(max(rows.num_rows - left, 0)))
        left -= found[-1].num_rows
    return Page(_whole(handle, found[::-1]), Cursor(shown + 1))


def _rows(handle: QueryHandle, files: tuple[ResultFile, ...], reads: bool) -> pa.Table:
    """The rows of one batch."""
    key = handle.name, files
    found = RECENT.get(key)
    if found is None:
        if not reads:
            raise NotInMemory
        RECENT.put(key, found := _read(handle, files))
    return found


def _read(handle: QueryHandle, files: tuple[ResultFile, ...]) -> pa.Table:
    """The rows of files; those that a consumer has taken away are no more."""
    found = list[pa.Table]()
    for file in files:
        try:
            rows = file.read(handle.name)
        except FileNotFoundError:
            continue
        if rows is not None:
            found.append(rows)
    return _whole(handle, found).combine_chunks()


def _whole(handle: QueryHandle, tables: list[pa.Table]) -> pa.Table:
    return pa.concat_tables([handle.empty(), *tables], promote_options="default")
