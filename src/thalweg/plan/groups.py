"""What windows must have in common to share slots."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from thalweg.expr.nodes import Column, Expr
from thalweg.model.query import Query

CELL = "__cell"
"""The column of the cell that a row falls into."""
CELLED = Column(CELL, "INTEGER")


@dataclass(frozen=True)
class Group:
    """The rows of a stream that satisfy conditions, by some keys; in a pool of queries the last keys are the words of the query-set, or the
    cell. `spread` is how many of these rows of one key are expected to have; what was measured counts more."""

    stream: str
    where: tuple[Expr, ...]
    keys: tuple[Expr, ...]
    pool: str = ""
    words: int = 0
    spread: int = field(default=1, compare=False)

    @property
    def celled(self) -> bool:
        """Whether cells tell the rows of members apart."""
        return self.keys[-1:] == (CELLED,)


def group_of(query: Query) -> Group:
    """The sharing group of a windowed query."""
    return Group(query.stream, query.where, in_order(k.expr for k in query.keys))


def in_order(exprs: Iterable[Expr]) -> tuple[Expr, ...]:
    """Expressions each once, in the order of what the engine writes for them."""
    found = {e.sql: e for e in exprs}
    return tuple(found[sql] for sql in sorted(found))
