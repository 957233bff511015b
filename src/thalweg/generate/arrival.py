"""The order in which delayed events arrive, in memory that depends on the delay and not on the number of events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from thalweg.generate.draws import Ids

BLOCK = 1 << 18


def in_arrival_order(
    events: int, time: Callable[[Ids], Ids], arrival: Callable[[Ids], Ids], block: int = BLOCK
) -> Iterator[Ids]:
    """Event ids by (arrival, id), in pieces of any size; ids on their way are held until no later event can precede them."""
    ids, due = np.empty(0, np.int64), np.empty(0, np.int64)
    first = 0
    while first < events:
        end = min(events, first + max(block, len(ids)))
        new = np.arange(first, end, dtype=np.int64)
        ids, due = np.concatenate((ids, new)), np.concatenate((due, arrival(new)))
        ready = due < time(np.array([end]))[0] if end < events else np.ones(len(ids), np.bool_)
        yield ids[ready][np.argsort(due[ready], kind="stable")]
        ids, due = ids[~ready], due[~ready]
        first = end


def in_order(events: int, block: int = BLOCK) -> Iterator[Ids]:
    """All event ids as they are, in pieces."""
    return (np.arange(first, min(events, first + block), dtype=np.int64) for first in range(0, events, block))


def cut(pieces: Iterable[Ids], size: int) -> Iterator[Ids]:
    """The same ids in pieces of exactly `size`, the last one excepted.

    >>> [piece.tolist() for piece in cut([np.arange(3), np.arange(3, 5)], 2)]
    [[0, 1], [2, 3], [4]]
    """
    held = np.empty(0, np.int64)
    for piece in pieces:
        held = np.concatenate((held, piece))
        whole = len(held) - len(held) % size
        yield from (held[at : at + size] for at in range(0, whole, size))
        held = held[whole:]
    if len(held):
        yield held
