"""Windows over the results of inner queries: taken over from them where the ends of these are grouped by, or equated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sqlglot import exp

from thalweg.model.nesting import RESULT_TIME
from thalweg.sql.aggregates import groups_rows
from thalweg.sql.builder import unwrapped
from thalweg.sql.inner import ENDS, STARTS, Inner
from thalweg.sql.nested_scope import Part
from thalweg.sql.nodes import Duration, StreamWindow, WindowCall
from thalweg.sql.over import over_calls
from thalweg.sql.source import Source, placed
from thalweg.sql.windows import is_window

TIME = "window_time"
"""What Flink calls the event time of a window's results."""


def has_window(select: exp.Select) -> bool:
    """Whether GROUP BY has a window."""
    group = select.args.get("group")
    return group is not None and any(is_window(unwrapped(i)) for i in group.expressions)


def check_times(source: Source, select: exp.Select, part: Part) -> None:
    """Windows of results go by the time that these have, whether they name it (as the end of the inner window, or `window_time`) or not."""
    inner, time = part.inner, part.node.args.get("time")
    if inner is None:
        return
    if time is not None and not groups_rows(select):
        raise source.at(
            part.node,
            "a window of an inner query's results goes with GROUP BY",
            "group by window_start, window_end",
        )
    times = inner.columns_of(ENDS) | {RESULT_TIME} | inner.times
    shown = {shown.lower() for shown, stored in inner.columns.items() if stored in times}
    for holder in [part.node, *(n for n in select.walk() if isinstance(n, WindowCall))]:
        named = holder.args.get("time")
        if named is None:
            continue
        if not isinstance(named, exp.Column) or named.name.lower() not in (*shown, TIME):
            hint = f"write {next(iter(sorted(shown)), 'TUMBLE and a length alone')}"
            which = "that of what is united" if inner.query.unites else "the end of its windows"
            message = f"{source.written(named)} is not the event time of {part.alias}, which is {which}"
            raise source.at(named, message, hint)
        holder.set("time", None)


def with_inner_window(source: Source, select: exp.Select, parts: Sequence[Part]) -> None:
    """Groups by the start or the end of the inner window, without a window of their own, are of the inner one's instances."""
    group, inner = select.args.get("group"), _only_inner(parts)
    if group is None or inner is None or has_window(select) or not _names_end(inner, _items(select)):
        return
    group.set("expressions", [*group.expressions, placed(_window(source, group, inner), group)])


def with_ranked_windows(source: Source, select: exp.Select, parts: Sequence[Part]) -> None:
    """Rows that are ranked by the start or the end of the inner window are ranked in each of the inner one's instances."""
    if (inner := _only_inner(parts)) is None:
        return
    for call in over_calls(*select.expressions, select.args.get("qualify")):
        items = call.args.get("partition_by") or []
        if _names_end(inner, map(unwrapped, items)) and not any(is_window(unwrapped(i)) for i in items):
            call.set("partition_by", [*items, placed(_window(source, call, inner), call)])


def _only_inner(parts: Sequence[Part]) -> Inner | None:
    """The inner query that a SELECT reads alone, and without a window of its own."""
    read = [p for part in parts for p in (part.bases or (part,))]
    return read[0].inner if len(read) == 1 and read[0].node.args.get("window") is None else None


def _names_end(inner: Inner, items: Iterable[exp.Expr]) -> bool:
    ends = inner.columns_of(ENDS) | inner.columns_of(STARTS)
    return any(isinstance(i, exp.Column) and i.name in ends for i in items)


def _window(source: Source, node: exp.Expr, inner: Inner) -> WindowCall:
    if (window := inner.window) is None:
        sessions = any(w.window.session for w in inner.query.windows)
        what = "sessions, which end at any time" if sessions else "several windows"
        raise source.at(node, f"the groups are of {what}", "add a window to GROUP BY")
    return WindowCall(range=Duration(micros=window.range), offset=Duration(micros=window.offset))


def _items(select: exp.Select) -> Iterator[exp.Expr]:
    """What GROUP BY names, with positions replaced."""
    shown = [unwrapped(i.this if isinstance(i, exp.Alias) else i) for i in select.expressions]
    for item in map(unwrapped, select.args["group"].expressions):
        is_place = (
            isinstance(item, exp.Literal) and item.name.isdecimal() and 1 <= int(item.name) <= len(shown)
        )
        yield shown[int(item.name) - 1] if is_place else item


def with_equal_windows(select: exp.Select, parts: Sequence[Part]) -> None:
    """Results whose windows' ends are equated meet where these are equal, so they need no other window."""
    read = {p.alias: p for part in parts for p in (part.bases or (part,)) if p.is_stream}
    if len(read) < 2 or any(p.inner is None or p.node.args.get("window") is not None for p in read.values()):
        return
    first, *_ = read
    met = {first}
    for _ in read:
        for a, b in _equated(select, {n: p.inner for n, p in read.items() if p.inner is not None}):
            met |= {a, b} if met & {a, b} else set()
    if met == set(read):
        for part in read.values():
            part.node.set("window", StreamWindow(kind="RANGE", duration=Duration(micros=1)))


def _equated(select: exp.Select, inner: Mapping[str, Inner]) -> Iterator[tuple[str, str]]:
    """Pairs of inputs whose windows' ends are equated by ON or WHERE."""
    trees = [j.args["on"] for j in select.args.get("joins") or () if j.args.get("on") is not None]
    trees += [select.args["where"].this] if select.args.get("where") is not None else []
    for condition in (c for tree in trees for c in _conjuncts(tree) if isinstance(c, exp.EQ)):
        left, right = unwrapped(condition.this), unwrapped(condition.expression)
        if _is_end(left, inner) and _is_end(right, inner):
            yield str(left.args["table"].name), str(right.args["table"].name)


def _is_end(node: exp.Expr, inner: Mapping[str, Inner]) -> bool:
    """Whether a node is the end of the window of an input."""
    return (
        isinstance(node, exp.Column)
        and node.table in inner
        and node.name in inner[node.table].columns_of(ENDS)
    )


def _conjuncts(tree: exp.Expr) -> Iterator[exp.Expr]:
    tree = unwrapped(tree)
    if isinstance(tree, exp.And):
        yield from _conjuncts(tree.this)
        yield from _conjuncts(tree.expression)
    else:
        yield tree
