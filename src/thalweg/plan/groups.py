"""What windows must have in common to share slots."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.model.query import Query


@dataclass(frozen=True)
class Group:
    """The rows of a stream that satisfy conditions, by some keys; in a pool of queries the last keys are the words of the query-set."""

    stream: str
    where: tuple[str, ...]
    keys: tuple[str, ...]
    pool: str = ""
    words: int = 0


def group_of(query: Query) -> Group:
    """The sharing group of a windowed query."""
    return Group(query.stream, tuple(e.sql for e in query.where), tuple(sorted({k.sql for k in query.keys})))
