"""EXPLAIN of a join query for a terminal: what it joins, what computes it, and all the plans that it could have."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from thalweg.explain.join_costs_text import join_cost_lines
from thalweg.explain.join_measured_text import measured_lines
from thalweg.explain.join_model import InputView, JoinView
from thalweg.explain.join_runs_text import INDENT, JOIN_WIDTH, labelled, partitions_text, run_lines
from thalweg.explain.join_words import aggregate_text, condition_texts, having_text, joined_sql, together_texts
from thalweg.explain.words import cut, joined, number, plain_sql, share_text
from thalweg.logical.join import window_text
from thalweg.logical.windows import duration_text


def join_lines(view: JoinView, verbose: bool = False) -> Iterator[str]:
    """Everything about one join query."""
    yield from wrap(join_heading(view), JOIN_WIDTH, subsequent_indent=INDENT * 2)
    yield from _inputs(view)
    for label, text in _facts(view):
        yield from labelled(label, text)
    for run in view.runs:
        yield ""
        yield from run_lines(view, run)
    yield ""
    yield from (INDENT + line for line in join_cost_lines(view, JOIN_WIDTH - 2, verbose))
    if view.is_measured:
        yield ""
        yield from (INDENT + line for line in measured_lines(view))


def join_heading(view: JoinView) -> str:
    """The query and what it joins."""
    return f"{view.query.name}: join of {joined([f'{i.source} {i.alias}' for i in view.query.inputs])}"


def _inputs(view: JoinView) -> Iterator[str]:
    """Each input with what is known of it in columns, its conditions below."""
    names, origins = [input_text(i) for i in view.inputs], [origins_text(i) for i in view.inputs]
    width = min(max(map(len, ["inputs", *names])), JOIN_WIDTH - 34 - max(29, *map(len, origins)))
    yield f"{INDENT}{'inputs':<{width + 2}}{'rows/s':>10}{'keys':>9}{'sets':>9}  statistics"
    for name, origin, i in zip(names, origins, view.inputs, strict=True):
        s = i.statistics
        rate = number(s.rate) if i.given.is_stream else f"{number(s.rows)} rows"
        yield f"{INDENT * 2}{cut(name, width):<{width}}{rate:>10}{number(s.keys):>9}{number(s.sets):>9}  {origin}"
        if i.given.where:
            where = " and ".join(plain_sql(c.sql) for c in i.given.where)
            yield from wrap(
                f"where {where}: {share_text(i.figures.share)}", JOIN_WIDTH, initial_indent=INDENT * 4, subsequent_indent=INDENT * 5
            )


def input_text(view: InputView) -> str:
    """An input as the query has it."""
    return f"{view.given.source} AS {view.given.alias} {window_text(view.given) or '(table)'}"


def origins_text(view: InputView) -> str:
    """Where what is known of an input comes from."""
    f, what = view.figures, "rate" if view.given.is_stream else "rows"
    if f.keys.origin != f.sets.origin:
        return f"{what} {f.rows.origin}, keys {f.keys.origin}, sets {f.sets.origin}"
    return f"{f.rows.origin}" if f.rows.origin == f.keys.origin else f"{what} {f.rows.origin}, rest {f.keys.origin}"


def _facts(view: JoinView) -> Iterator[tuple[str, str]]:
    """What is asked, in lines of a label and a text."""
    q = view.query
    yield "on", " and ".join(condition_texts(q)) or "every pair"
    if q.every is None:
        yield "in time", joined(list(together_texts(q))) or "any time"
        yield "results", "the joined rows, each once, in the batch in which the last of its rows comes"
    else:
        keys = ", ".join(joined_sql(k.sql) for k in q.keys)
        having = f", having {having_text(q)}" if q.having else ""
        groups = f"{keys}: {number(view.statistics.groups)} groups ({view.groups.origin})" if keys else "none"
        yield "groups", groups + having
        yield "aggregates", ", ".join(dict.fromkeys(aggregate_text(q, a) for a in q.aggregates)) or "none"
        yield "results", f"every {duration_text(q.every)}{', the groups that changed' if q.changes else ''}"
    yield "batches", f"{_seconds(view.statistics.batch)} of event time ({view.batch.origin})"
    yield "partitions", partitions_text(view.run, [i.given.alias for i in view.inputs])


def _seconds(micros: float) -> str:
    """A duration that is nowhere exact."""
    return duration_text(int(micros)) if micros % 1e6 == 0 else f"{number(micros / 1e6)} seconds"
