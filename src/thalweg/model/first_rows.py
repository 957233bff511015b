"""The first rows of a group by an order, as an aggregate: a list of rows, each with what it is ordered by.

The first rows of several pieces are among the first rows of each of them, so pieces are combined by taking the first rows of all lists.
ROW_NUMBER takes as many rows as it is asked for, and tells rows of one order apart by the values that they are listed with, in their
order, NULL being the least; so equal rows are all that is left to chance. RANK and DENSE_RANK take all rows of the last rank.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

ROW_NUMBER, RANK, DENSE_RANK = "ROW_NUMBER", "RANK", "DENSE_RANK"
MOST = 10_000
"""The greatest rank that may be asked for."""
KEY, PLACE = "k", "rank"
ASCENDING = "ASC NULLS FIRST"


@dataclass(frozen=True)
class FirstRows:
    """Rows up to the `count`-th of a `function` over some `orders` (`DESC NULLS LAST`).

    Arguments of the aggregate are what is ordered by, then what rows are listed with.
    """

    function: str
    count: int
    orders: tuple[str, ...]

    @property
    def params(self) -> tuple[str, ...]:
        """The same as constants of a call."""
        return (self.function, str(self.count), *self.orders)

    def row(self, args: Sequence[str]) -> str:
        """A row as it is listed."""
        shown = (f"'r{i}': {a}" for i, a in enumerate(args[len(self.orders) :]))
        return "{" + ", ".join([f"'{KEY}': {self._key(args)}", *shown]) + "}"

    def lift(self, args: Sequence[str], of: Callable[[str, str], str]) -> str:
        """The list of rows; `of` writes an aggregate over them."""
        row, key = self.row(args), self._key(args)
        if self.function == ROW_NUMBER:
            return of("min", f"{row}, {self.count}")
        last = of("min", f"{key}, {self.count}")
        if self.function == DENSE_RANK:
            last = f"list_slice(list_sort({of('list', f'DISTINCT {key}')}), 1, {self.count})"
        return _up_to(of("list", row), f"list_last({last})")

    def combine(self, column: str, over: str = "") -> str:
        """The list of several lists."""
        return self._first(f"flatten(list({column}) FILTER (WHERE {column} IS NOT NULL){over})")

    def repeated(self, part: str, weight: str) -> str:
        """The list of so many equal pieces."""
        return self._first(f"flatten(list_transform(range(({weight})::BIGINT), lambda i: {part}))")

    def lower(self, part: str, count: int) -> str:
        """The list in order, with ranks; there are so many arguments."""
        rows = f"list_sort({part})"
        keys = f"list_transform({rows}, lambda x: x.{KEY})"
        place = "i"
        if self.function != ROW_NUMBER:
            ranked = keys if self.function == RANK else f"list_sort(list_distinct({keys}))"
            place = f"list_position({ranked}, x.{KEY})"
        shown = [f"'r{i}': x.r{i}" for i in range(count - len(self.orders))]
        row = ", ".join([*shown, f"'{PLACE}': ({place})::BIGINT"])
        return f"list_transform({rows}, lambda x, i: {{{row}}})"

    def _key(self, args: Sequence[str]) -> str:
        """What rows are in order by: the same for rows of one rank."""
        orders = [*self.orders, *(ASCENDING for _ in args[len(self.orders) :])]
        ordered = zip(args, orders if self.function == ROW_NUMBER else self.orders, strict=False)
        pairs = (f"{a}, '{o}'" for a, o in ordered)
        return f"create_sort_key({', '.join(pairs)})"

    def _first(self, rows: str) -> str:
        if self.function == ROW_NUMBER:
            return f"list_slice(list_sort({rows}), 1, {self.count})"
        keys = f"list_transform({rows}, lambda x: x.{KEY})"
        if self.function == DENSE_RANK:
            keys = f"list_distinct({keys})"
        return _up_to(rows, f"list_last(list_slice(list_sort({keys}), 1, {self.count}))")


def _up_to(rows: str, last: str) -> str:
    return f"list_filter({rows}, lambda x: x.{KEY} <= {last})"


def asked_by(params: Sequence[str]) -> FirstRows:
    """What the constants of a call ask for.

    >>> asked_by(("RANK", "3", "DESC NULLS LAST"))
    FirstRows(function='RANK', count=3, orders=('DESC NULLS LAST',))
    """
    function, count, *orders = params
    return FirstRows(function, int(count), tuple(orders))
