"""Comparison of two results as multisets of rows, with a message that shows what differs."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

Row = tuple[Any, ...]
_SHOWN = 5
_NAN = "nan"  # stands for NaN in rows, which would not equal itself


def compare(actual: pa.Table, expected: pa.Table, relative: float = 1e-9, absolute: float = 1e-9) -> None:
    """Raise AssertionError unless both hold the same rows, in any order.

    Floats are equal within the tolerances, NaN equals NaN, NULL equals NULL; zone marks of timestamps don't count.
    """
    if actual.column_names != expected.column_names:
        raise AssertionError(f"columns differ: {actual.column_names}, expected {expected.column_names}")
    floats = tuple(
        _is_float(a.type) or _is_float(e.type) for a, e in zip(actual.schema, expected.schema, strict=True)
    )
    close = _Closeness(floats, relative, absolute)
    wanted, found = Counter(_rows(expected, floats)), Counter(_rows(actual, floats))
    missing, extra = close.unmatched(list((wanted - found).elements()), list((found - wanted).elements()))
    if missing or extra:
        raise AssertionError(_message(actual.column_names, close, missing, extra, wanted, found))


@dataclass(frozen=True)
class _Closeness:
    """Which columns hold floats, and how far apart equal ones may be."""

    floats: tuple[bool, ...]
    relative: float
    absolute: float

    def unmatched(self, wanted: list[Row], found: list[Row]) -> tuple[list[Row], list[Row]]:
        """The rows of either side that have no partner on the other."""
        groups: dict[Row, tuple[list[Row], list[Row]]] = defaultdict(lambda: ([], []))
        for row in wanted:
            groups[self.exact_part(row)][0].append(row)
        for row in found:
            groups[self.exact_part(row)][1].append(row)
        left = [self._unmatched_of(*group) for group in groups.values()]
        return [r for w, _ in left for r in w], [r for _, f in left for r in f]

    def _unmatched_of(self, wanted: list[Row], found: list[Row]) -> tuple[list[Row], list[Row]]:
        """The same within rows that are equal but for their floats: in order, else each by its first close partner."""
        wanted, found = sorted(wanted, key=self._order), sorted(found, key=self._order)
        if len(wanted) == len(found) and all(map(self.rows, wanted, found)):
            return [], []
        missing, rest = [], list(found)
        for row in wanted:
            partner = next((i for i, other in enumerate(rest) if self.rows(row, other)), None)
            if partner is None:
                missing.append(row)
            else:
                del rest[partner]
        return missing, rest

    def present_in(self, wanted: Iterable[Row], rows: list[Row]) -> list[Row]:
        """The rows that are among the wanted ones, however often."""
        groups: dict[Row, list[Row]] = defaultdict(list)
        for row in wanted:
            groups[self.exact_part(row)].append(row)
        return [row for row in rows if any(self.rows(row, other) for other in groups[self.exact_part(row)])]

    def exact_part(self, row: Row) -> Row:
        """The values of a row that are no floats."""
        return tuple(v for v, is_float in zip(row, self.floats, strict=True) if not is_float)

    def rows(self, left: Row, right: Row) -> bool:
        """Whether two rows are equal."""
        return all(map(self.values, left, right))

    def values(self, left: Any, right: Any) -> bool:
        """Whether two values are equal."""
        if isinstance(left, float) and isinstance(right, float):
            return left == right or math.isclose(left, right, rel_tol=self.relative, abs_tol=self.absolute)
        return bool(left == right)

    def _order(self, row: Row) -> tuple[tuple[bool, str, float], ...]:
        values = (v for v, is_float in zip(row, self.floats, strict=True) if is_float)
        return tuple(
            (v is None, str(v) if isinstance(v, str) else "", v if isinstance(v, float) else 0.0)
            for v in values
        )


def _is_float(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind))


def _rows(table: pa.Table, floats: Sequence[bool]) -> Iterable[Row]:
    columns = [_values(column, is_float) for column, is_float in zip(table.columns, floats, strict=True)]
    return zip(*columns, strict=True)


def _values(column: pa.ChunkedArray, as_float: bool) -> list[Any]:
    """The values of a column in a form that equals itself: naive timestamps, floats without NaN and negative zero."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us"))
    values: list[Any] = column.to_pylist()
    if pa.types.is_list(column.type):
        inner = _is_float(column.type.value_type)
        if pa.types.is_timestamp(column.type.value_type):
            column = column.cast(pa.list_(pa.timestamp("us")))
            values = column.to_pylist()
        return [None if v is None else tuple(map(_plain_float, v) if inner else v) for v in values]
    return [_plain_float(v) for v in values] if as_float else values


def _plain_float(value: Any) -> float | str | None:
    if value is None:
        return None
    number = float(value)
    return _NAN if math.isnan(number) else number + 0.0


def _message(
    names: Sequence[str],
    close: _Closeness,
    missing: list[Row],
    extra: list[Row],
    wanted: Counter[Row],
    found: Counter[Row],
) -> str:
    doubled = close.present_in(wanted, extra)
    others = list((Counter(extra) - Counter(doubled)).elements())
    head = f"results differ: {found.total()} rows, expected {wanted.total()}; {len(missing)} missing, {len(extra)} extra"
    lines = [
        head + (f", {len(doubled)} of them doubled" if doubled else ""),
        f"  columns  {', '.join(names)}",
    ]
    for row in missing[:_SHOWN]:
        lines += [f"  missing  {_text(row)}", *_nearest(row, others, names, close)]
    lines += [f"  extra    {_text(row)}" for row in others[:_SHOWN]]
    lines += [f"  doubled  {_text(row)}" for row in doubled[:_SHOWN]]
    return "\n".join(lines)


def _nearest(row: Row, others: list[Row], names: Sequence[str], close: _Closeness) -> list[str]:
    """A line with the columns in which the most similar row differs, where at least half of them agree."""
    different = [
        [n for n, a, b in zip(names, row, other, strict=True) if not close.values(a, b)] for other in others
    ]
    best = min(different, key=len, default=list(names))
    if len(best) * 2 > len(names):
        return []
    other = dict(zip(names, others[different.index(best)], strict=True))
    return [f"    found with other {', '.join(f'{n} = {_text((other[n],))}' for n in best)}"]


def _text(row: Row) -> str:
    return ", ".join("NULL" if v is None else repr(v) if isinstance(v, str | float) else str(v) for v in row)
