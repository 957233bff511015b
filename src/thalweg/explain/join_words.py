"""Joins in words: expressions with the names that the query gives its inputs, windows, and how long something is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from thalweg.explain.model import NodeView
from thalweg.explain.running_words import named_by
from thalweg.explain.words import call_text
from thalweg.expr.nodes import Expr
from thalweg.expr.quoting import readable
from thalweg.expr.wording import conjunct, worded
from thalweg.model.attaching import FOR_EVER, inner_inputs, kept_longer
from thalweg.model.query import ANTI, FULL, LEFT, RANGE, SEMI, TUMBLE, Query, QueryAggregate, QueryInput
from thalweg.model.windows import duration_text


def joined_text(expr: Expr) -> str:
    """An expression over a joined row."""
    return worded(expr, _joined_name)


def _joined_name(name: str) -> str:
    """A column of a joined row: the name of the input, then its own; or one that no input has, as the end of the window."""
    alias, dot, column = name.partition(".")
    return f"{readable(alias)}.{readable(column)}" if dot else readable(name)


def condition_texts(query: Query) -> tuple[str, ...]:
    """What makes rows partners: equalities, then all else."""
    equal = [f"{joined_text(e.left.expr)} = {joined_text(e.right.expr)}" for e in query.equalities]
    return (*equal, *(conjunct(t.expr, _joined_name) for t in query.partnering))


def equated_text(query: Query, columns: Sequence[str]) -> str:
    """What is equated of an input, by the SQL that the engine runs."""
    bare = {t.own: t.bare for e in query.equalities for t in (e.left, e.right) if t.bare is not None}
    return ", ".join(worded(found) if (found := bare.get(c)) is not None else c for c in columns)


def key_texts(query: Query) -> list[str]:
    """What results are grouped by."""
    return [joined_text(k.expr) for k in query.keys]


def aggregate_text(query: Query, aggregate: QueryAggregate) -> str:
    """An aggregate as the query writes it."""
    if aggregate.input is None:
        return call_text(aggregate.call, _joined_name)
    alias = readable(query.inputs[aggregate.input].alias)
    return call_text(aggregate.call, lambda name: f"{alias}.{readable(name)}")


def having_text(query: Query) -> str | None:
    """HAVING with keys and aggregates in place of their numbers."""
    if query.having is None:
        return None
    keys = {f"k{i}": k.expr for i, k in enumerate(query.keys)}
    calls = {f"a{i}": aggregate_text(query, a) for i, a in enumerate(query.aggregates)}
    return worded(query.having.substituted(keys), lambda name: calls.get(name) or _joined_name(name))


def columns_text(side: NodeView, numbers: tuple[int, ...] | None = None) -> str:
    """Columns of a side, all or some, with commas."""
    columns = side.words.columns
    return ", ".join(columns if numbers is None else (columns[i] for i in numbers))


def kept_text(query: Query, join: Query, number: int, side: NodeView) -> str:
    """In what form an input is kept, and for how long: as long as the `join` needs it that a query is computed by."""
    if side.fragment.static:
        return f"table, {form_text(side)}"
    if (until := until_text(query, join, number)) is None:
        why = "" if query.passes else ": no partner can come later"
        return f"rows ({rows_text(side)}), no state{why}"
    return f"{form_text(side)}; kept {until}"


def form_text(side: NodeView) -> str:
    """Rows with their columns, or partial aggregates with what they hold."""
    kept = side.fragment
    if kept.early:
        per = "" if kept.static else f" per {duration_text(kept.slot)}"
        return f"partial aggregates by ({columns_text(side)}){per}: {', '.join(side.words.parts)}"
    return f"rows ({rows_text(side)})"


def rows_text(side: NodeView) -> str:
    """What a row of a side has."""
    columns = [*side.words.columns, *side.words.parts, *(["time"] if side.fragment.timed else [])]
    return ", ".join(dict.fromkeys(columns))


def until_text(query: Query, join: Query, number: int) -> str | None:
    """How long the rows of a stream are kept; None where they are not."""
    given = join.inputs[number]
    others = [i.alias for n, i in enumerate(query.inputs) if i.is_stream and n != number]
    if query.running is not None:
        length = query.running.length if query.running.by_time_alone else 0
        return (
            f"until the watermark is {duration_text(length)} past them"
            if length
            else "until the watermark is past them"
        )
    if query.every is None and not others:
        return None
    if given.length is None:
        return "for ever" if others or not query.accumulates else "until their instant is final"
    watermark = f"the watermark of {', '.join(others)}" if query.every is None else "the watermark"
    longer = kept_longer(query, number)
    if longer == FOR_EVER:
        return "for ever"
    watermark = "all watermarks" if longer else watermark
    if query.every is None and given.kind == TUMBLE:
        return f"until {watermark} leave{'' if longer else 's'} their window of {duration_text(given.length)}"
    past = f"{'are' if longer else 'is'} {duration_text(given.length + longer)} past them"
    return f"until {watermark} {past}{', for rows that wait for partners' if longer else ''}"


def kept_conditions(query: Query) -> str:
    """What is asked of rows once all has been joined."""
    return " and ".join(conjunct(t.expr, named_by(query, _joined_name)) for t in query.kept)


def attached_texts(query: Query) -> Iterator[str]:
    """What inputs that need no partner do: which rows come out for their sake, and when."""
    mine = ", ".join(readable(query.inputs[n].alias) for n in inner_inputs(query))
    for one in query.attached:
        alias, is_stream = readable(query.inputs[one.input].alias), query.inputs[one.input].is_stream
        late = f", once the watermark of {alias} is past their window" if is_stream else ""
        late = late if query.every is None else ""
        both = f"{mine} and {alias}" if one.kind == FULL else mine
        other = ", once the watermark of the other is past their window" if query.every is None else ""
        yield {
            LEFT: f"rows of {mine} without a partner in {alias} come out with NULLs{late}",
            FULL: f"rows of {both} without a partner in the other come out with NULLs{other}",
            SEMI: f"rows of {mine} come out that have a partner in {alias}"
            + (", once, with the first" if query.every is None and is_stream else ""),
            ANTI: f"rows of {mine} come out that have no partner in {alias}{late}",
        }[one.kind]


def together_texts(query: Query) -> Iterator[str]:
    """The condition on time of joined rows: none may have left its window when the last one comes."""
    streams = [i for i in query.inputs if i.is_stream]
    for length in dict.fromkeys(i.length or 0 for i in streams if i.kind == TUMBLE):
        inside = [i for i in streams if i.kind == TUMBLE and i.length == length]
        if len(inside) > 1:
            yield f"{', '.join(i.alias for i in inside)} in the same window of {duration_text(length)}"
        for given, other in product(inside, (i for i in streams if i not in inside)):
            yield f"{other.alias} not after the window of {duration_text(length)} that {given.alias} is in"
    yield from (_after(other, i) for i in streams if i.kind == RANGE for other in streams if other is not i)


def _after(later: QueryInput, given: QueryInput) -> str:
    return f"{later.alias} less than {duration_text(given.length or 0)} after {given.alias}"
