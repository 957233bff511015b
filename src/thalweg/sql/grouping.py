"""GROUP BY: windows and keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from thalweg.expr.nodes import Expr
from thalweg.model.windows import NamedWindow
from thalweg.sql.builder import unwrapped
from thalweg.sql.rows import Rows, Scope, is_window_reference
from thalweg.sql.source import Span, span_of
from thalweg.sql.windows import NO_WINDOW_HINT, bind_windows, is_window


@dataclass(frozen=True)
class Grouping:
    """What results are grouped by."""

    keys: tuple[Expr, ...]
    windows: tuple[NamedWindow, ...]


def bind_grouping(rows: Rows, select: exp.Select) -> Grouping:
    """The keys and windows of a SELECT, in the order of GROUP BY; the window's own columns are implied."""
    group = select.args.get("group")
    if group is None:
        raise rows.source.error("the query has no window", _end(rows, select), NO_WINDOW_HINT)
    items = [i for i in group_items(rows, select) if not names_window(rows, i)]
    windows = bind_windows(rows.source, [i for i in items if is_window(i)], rows.stream)
    keys = [rows.expression(i, "GROUP BY") for i in items if not is_window(i)]
    if not windows:
        raise rows.source.at(group, "the query has no window", NO_WINDOW_HINT)
    return Grouping(tuple(dict.fromkeys(keys)), windows)


def group_items(rows: Scope, select: exp.Select) -> Iterator[exp.Expr]:
    """The items of GROUP BY, with ordinals and aliases of SELECT replaced."""
    group = select.args.get("group")
    for item in group.expressions if group is not None else ():
        node = unwrapped(item)
        if isinstance(node, exp.Literal) and not node.is_string:
            node = _ordinal(rows, select, node)
        elif isinstance(node, exp.Column) and node.args.get("table") is None and rows.column(node) is None:
            node = _aliased(select, node) or node
        yield node


def names_window(rows: Scope, node: exp.Expr) -> bool:
    """Whether an item is a column of the window itself."""
    return isinstance(node, exp.Column) and is_window_reference(node) and rows.column(node) is None


def _ordinal(rows: Scope, select: exp.Select, node: exp.Expr) -> exp.Expr:
    count = len(select.expressions)
    if not node.name.isdecimal() or len(node.name) > 9 or not 1 <= int(node.name) <= count:
        raise rows.source.at(
            node, f"GROUP BY {node.name} is no position in SELECT", f"write a number from 1 to {count}"
        )
    item = select.expressions[int(node.name) - 1]
    return unwrapped(item.this if isinstance(item, exp.Alias) else item)


def _aliased(select: exp.Select, node: exp.Column) -> exp.Expr | None:
    items = [
        i for i in select.expressions if isinstance(i, exp.Alias) and i.alias.lower() == node.name.lower()
    ]
    return unwrapped(items[0].this) if items else None


def _end(rows: Rows, select: exp.Select) -> Span:
    span = span_of(select) or (0, 1)
    return (span[0], span[0] + len("SELECT"))
