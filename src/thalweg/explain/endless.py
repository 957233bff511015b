"""State that nothing bounds, in words."""

from __future__ import annotations

from thalweg.explain.words import joined
from thalweg.model.query import UNBOUNDED, Query


def endless_text(query: Query) -> str:
    """What a query keeps for ever, and what would bound it; nothing where all that it keeps goes some time.

    >>> from thalweg.model.query import QueryInput
    >>> endless_text(Query("q", "", (QueryInput("a", "auction", UNBOUNDED), QueryInput("b", "bid", UNBOUNDED)), ()))
    'rows of auction and bid are kept for ever: windows after them, such as [RANGE 1 HOUR], would bound that'
    """
    for inner in query.nested:
        if inner.takes_back and (text := endless_text(inner)):
            return text
    found = list(dict.fromkeys(i.source for i in query.inputs if i.kind == UNBOUNDED))
    if not found or query.forgets is not None:
        return ""
    if sum(i.is_stream for i in query.inputs) > 1:
        return f"rows of {joined(found)} are kept for ever: windows after them, such as [RANGE 1 HOUR], would bound that"
    if not query.accumulates:
        return ""
    if query.unnested:
        return "the first rows of each group are kept for ever: a window would bound that"
    return f"a row for each group is kept for ever{'' if query.of_changes else BOUND}"


BOUND = ": WITH (ttl = '1 day') would bound that"
