"""Tables: rows of values, Arrow tables, and what SHOW gives, drawn alike."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa
from rich import box
from rich.table import Table
from rich.text import Text

from thalweg.api.console import values_of
from thalweg.cli.values import NULL, column_texts, is_number, one_line
from thalweg.model.query import Query


def draw(header: Sequence[str], rows: Sequence[Sequence[Any]], plain: Collection[str] = ()) -> Table:
    """A table with numbers at the right; the columns in `plain` hold names that happen to be numbers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    columns = [[row[i] for row in rows] for i in range(len(header))]
    for name, values in zip(header, columns, strict=True):
        right = any(map(is_number, values))
        table.add_column(Text(one_line(name)), justify="right" if right else "left", overflow="fold")
    shown = [column_texts(values, name in plain) for name, values in zip(header, columns, strict=True)]
    for i in range(len(rows)):
        table.add_row(*(Text(texts[i], "dim" if texts[i] == NULL else "") for texts in shown))
    return table


def draw_results(query: Query, results: pa.Table) -> Table:
    """Result rows of a query; its grouping keys are names, whatever their type."""
    keys = {o.name for o in query.outputs if {c[:1] for c in o.expr.columns} == {"k"}}
    return draw(results.column_names, list(zip(*map(values_of, results.columns), strict=True)), plain=keys)


def by_time(results: pa.Table) -> pa.Table:
    """Result rows in the order of their windows, then of their other columns."""
    times = [c for c in ("window_end", "window_start") if c in results.column_names]
    rest = [c for c in results.column_names if c not in times]
    return results.sort_by([(c, "ascending") for c in (*times, *rest)])
