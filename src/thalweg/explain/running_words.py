"""OVER in words: what each call gives, when rows come, and what is kept of a key."""

from __future__ import annotations

from collections.abc import Callable

from thalweg.explain.words import call_text
from thalweg.expr.quoting import readable
from thalweg.model.query import Query
from thalweg.model.running import ROWS, Running, RunningCall
from thalweg.model.windows import duration_text


def running_text(call: RunningCall) -> str:
    """A call with its frame.

    >>> from thalweg.expr.nodes import Column
    >>> from thalweg.model.query import Aggregate
    >>> from thalweg.model.running import Frame
    >>> price = (Column("price", "BIGINT"),)
    >>> running_text(RunningCall(Aggregate("SUM", price), Frame("rows", 10)))
    'SUM(price) of 10 rows before and itself'
    >>> running_text(RunningCall(Aggregate("LAG", price), Frame("rows", 1)))
    'LAG(price), 1 row away'
    """
    text, length = call_text(call.call), call.frame.length
    if not call.is_aggregate:
        return f"{text}, {_rows(length or 0)} away"
    if length is None:
        return f"{text} of all rows so far"
    if call.frame.kind == ROWS:
        return f"{text} of {_rows(length)} before and itself"
    return (
        f"{text} of the {duration_text(length)} before and its own time"
        if length
        else f"{text} of its own time"
    )


def named_by(query: Query, otherwise: Callable[[str], str] = readable) -> Callable[[str], str]:
    """What stands for a column: for what a call gives, the call."""
    calls = query.running.calls if query.running is not None else ()
    texts = {f"o{i}": f"({running_text(c)})" for i, c in enumerate(calls)}
    return lambda name: texts.get(name) or otherwise(name)


def when_text(running: Running) -> str:
    """When rows come."""
    waited = f" and {_rows(running.ahead)} more of its key" if running.ahead else ""
    return f"rows in the order of event time, each once the watermark has passed it{waited}"


def kept_rows_text(running: Running) -> str:
    """What is kept of each key, beside rows that are not in their place yet; nothing where it is rows of a RANGE alone."""
    if not running.rows:
        return ""
    totals = ", with what all before it make" if any(c.of_all for c in running.calls) else ""
    near = f", and those of {duration_text(running.length)}" if running.length else ""
    return f"the last {_rows(running.rows)}{totals}{near}"


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"
