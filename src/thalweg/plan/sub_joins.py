"""Sub-joins: inputs that several joins over the same rows have in common, and that meet once for all of them.

They keep nothing: in each batch they are the combinations of the rows that are there, by number, which joins then meet their other inputs
with. So joins may come to share another one, or none, from batch to batch.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Equated:
    """A column of one side that is equal to one of another; sides by their number, columns by theirs."""

    left: tuple[int, int]
    right: tuple[int, int]


@dataclass(frozen=True)
class SubJoin:
    """Sides that meet.

    `on` says how, `lengths` how long the windows of each are at the most that a user has (None: without end), `bits` which of each word of
    the query-sets any user takes, `columns` what users need of each side. One of more than two sides begins with its `base`, which is all
    but the last of them. Sides stand in the order in which they meet.
    """

    id: str
    sides: tuple[str, ...]
    on: tuple[Equated, ...]
    lengths: tuple[int | None, ...]
    bits: tuple[tuple[int, int], ...]
    columns: tuple[tuple[int, ...], ...]
    base: str = ""
