"""The present rows of a query that tells changes: what is left of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thalweg.errors import UsageError
from thalweg.expr.nodes import Column
from thalweg.model.query import DELETED, Query

_ROW, _TIMES = "__row", "__times"


def current_rows(query: Query, changes: pa.Table, where: Mapping[str, Any] | None = None) -> pa.Table:
    """The newest row of each group, unless that says that it is gone; of first rows those that came more often than they left. With `where`
    those that have these values."""
    if not query.changes:
        raise UsageError(
            f"query {query.name} has no present rows: none of its results takes the place of another",
            "read its results; EMIT CHANGES has them told as changes",
        )
    found = _chosen(changes, where or {})
    return _left(query, found) if query.unnested else _newest(query, found)


def _chosen(rows: pa.Table, where: Mapping[str, Any]) -> pa.Table:
    """The rows that have some values; NULL is None."""
    for name, value in where.items():
        if name not in rows.column_names:
            raise UsageError(f"no column {name}", f"columns are {', '.join(rows.column_names)}")
        column = rows.column(name)
        if value is None:
            rows = rows.filter(pc.is_null(column))
            continue
        try:
            wanted = pa.scalar(value).cast(column.type)
        except pa.ArrowException:
            raise UsageError(
                f"{value!r} is no value of column {name}", f"write one of {column.type}"
            ) from None
        rows = rows.filter(pc.equal(column, wanted))
    return rows


def _newest(query: Query, changes: pa.Table) -> pa.Table:
    """The newest row of each group."""
    shown = {o.expr.name: o.name for o in query.outputs if isinstance(o.expr, Column)}
    keys = [*(f"k{n}" for n in range(len(query.keys))), *_window(query, shown)]
    if not shown.keys() >= {*keys, query.instant}:
        raise UsageError(
            f"query {query.name} does not show all of its keys", "show them in SELECT, to tell groups apart"
        )
    ordered = changes.take(pc.sort_indices(changes, [(shown[query.instant], "ascending")]))
    last = _last_of_each(ordered, [shown[k] for k in keys])
    return last.filter(pc.invert(last.column(DELETED))).drop_columns([DELETED])


def _window(query: Query, shown: Mapping[str, str]) -> list[str]:
    """The columns that tell windows apart: one end of them, and which window it is where there are several."""
    if not query.told:
        return []
    end = "window_start" if "window_start" in shown else "window_end"
    return [end, *(["window_id"] if len(query.told) > 1 else [])]


def _last_of_each(rows: pa.Table, keys: Sequence[str]) -> pa.Table:
    numbered = rows.select(keys).append_column(_ROW, pa.array(range(rows.num_rows), pa.int64()))
    found = numbered.group_by(list(keys)).aggregate([(_ROW, "max")]).column(f"{_ROW}_max")
    return rows.take(pc.drop_null(found).sort())


def _left(query: Query, changes: pa.Table) -> pa.Table:
    """The rows that came more often than they left, each as often as it is left."""
    ends = {o.name for o in query.outputs if isinstance(o.expr, Column) and o.expr.name == query.instant}
    shown = [n for n in changes.column_names if n != DELETED and n not in ends]
    times = pc.if_else(changes.column(DELETED), -1, 1)
    counted = changes.select(shown).append_column(_TIMES, times)
    found = counted.group_by(shown).aggregate([(_TIMES, "sum")])
    often = found.column(f"{_TIMES}_sum").to_numpy()
    rows = pa.array(range(found.num_rows), pa.int64()).to_numpy().repeat(often.clip(min=0))
    return found.select(shown).take(pa.array(rows))
