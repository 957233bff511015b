"""Results of queries that are at hand: which batches have files, and the rows of those that were read lately."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Generic, TypeVar

import pyarrow as pa

from thalweg.api.handle import QueryHandle
from thalweg.api.results import ResultFile
from thalweg.connectors.shared import batch_of

T = TypeVar("T")


class Recent(Generic[T]):
    """What was asked for lately, up to some bytes; the oldest goes. What is larger than a hundredth of that is not kept."""

    def __init__(self, most: int, size_of: Callable[[T], int]) -> None:
        self._most, self._size_of, self._bytes = most, size_of, 0
        self._found: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> T | None:
        """What was kept."""
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
            return self._found.get(key)

    def put(self, key: Hashable, value: T) -> None:
        """Keep something, in the place of what had its key."""
        if (size := self._size_of(value)) > self._most // 100:
            return
        with self._lock:
            if (before := self._found.pop(key, None)) is not None:
                self._bytes -= self._size_of(before)
            self._found[key], self._bytes = value, self._bytes + size
            while self._bytes > self._most:
                self._bytes -= self._size_of(self._found.popitem(last=False)[1])


@dataclass(frozen=True)
class Listing:
    """The batches that have files with results of a query, in order, as it was when some batch was shown and it had ended or not."""

    shown: int
    ended: int | None
    batches: tuple[int, ...]
    files: tuple[tuple[ResultFile, ...], ...]

    def count(self, shown: int) -> int:
        """How many of them are shown."""
        return bisect_right(self.batches, shown)

    def between(self, first: int, last: int) -> Iterator[tuple[int, tuple[ResultFile, ...]]]:
        """The batches from one to another, with their files."""
        for number in range(bisect_left(self.batches, first), bisect_right(self.batches, last)):
            yield self.batches[number], self.files[number]


ROWS, EACH = 64_000_000, 8_000
"""Bytes of rows that are kept, and those that a table takes besides its rows, about."""
RECENT: Recent[pa.Table] = Recent(ROWS, lambda rows: int(rows.nbytes) + EACH)
NAMES, NAME = 64_000_000, 400
"""Bytes of names of files that are kept, and those of one, about."""
_LISTED: Recent[Listing] = Recent(NAMES, lambda listing: NAME * (1 + len(listing.batches)))


def listing_of(handle: QueryHandle, shown: int, reads: bool) -> Listing | None:
    """Which batches have results of a query, all that are shown among them; None where directories must be read for this and may not be.

    Files come only with batches, once a query is in force; before, earlier batches are run again for it.
    """
    key, ended = (handle.name, handle.number, handle.directory), handle.ended
    found = _LISTED.get(key)
    if found is not None and found.shown >= shown and found.ended == ended:
        return found
    if not reads:
        return None
    is_in_force = handle.epoch is not None
    by_batch = [
        (batch, tuple(files))
        for batch, files in groupby(handle.files(), lambda f: batch_of(f.path))
        if batch >= 0
    ]
    made = Listing(shown, ended, tuple(b for b, _ in by_batch), tuple(f for _, f in by_batch))
    if is_in_force:
        _LISTED.put(key, made)
    return made
