"""Which creation each query is: what tells queries of one name apart, however alike they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from thalweg.model.query import Query


class Creations:
    """Numbers the queries of a session, in the order in which they are created, from the highest that was given before on."""

    def __init__(self, given: Callable[[], Iterable[int]]) -> None:
        self._given = given
        self._last: int | None = None

    def new(self, query: Query, replaced: Query | None) -> Query:
        """A query as one that was never there, in the place of another if there is one.

        >>> first, second = (Query(n, "", (), ()) for n in "ab")
        >>> made = Creations(lambda: [4]).new(first, None)
        >>> made.number, made.line, Creations(lambda: [5]).new(second, made).line
        (5, 5, 5)
        """
        self._last = (max(self._given(), default=0) if self._last is None else self._last) + 1
        return replace(query, number=self._last, line=self._last if replaced is None else replaced.line)
