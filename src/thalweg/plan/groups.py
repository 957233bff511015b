"""What windows must have in common to share slots."""

from __future__ import annotations

from dataclasses import dataclass, field

from thalweg.model.query import Query

CELL = "__cell"
"""The column of the cell that a row falls into."""
CELLED = f'"{CELL}"'


@dataclass(frozen=True)
class Group:
    """The rows of a stream that satisfy conditions, by some keys; in a pool of queries the last keys are the words of the query-set, or the
    cell. `spread` is how many of these rows of one key are expected to have; what was measured counts more."""

    stream: str
    where: tuple[str, ...]
    keys: tuple[str, ...]
    pool: str = ""
    words: int = 0
    spread: int = field(default=1, compare=False)

    @property
    def celled(self) -> bool:
        """Whether cells tell the rows of members apart."""
        return self.keys[-1:] == (CELLED,)


def group_of(query: Query) -> Group:
    """The sharing group of a windowed query."""
    return Group(query.stream, tuple(e.sql for e in query.where), tuple(sorted({k.sql for k in query.keys})))
