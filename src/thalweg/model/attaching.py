"""What follows from inputs that need no partner: who may be NULL, which rows wait for partners that may still come, and how long."""

from __future__ import annotations

from collections.abc import Iterable

from thalweg.model.query import ANTI, FULL, SEMI, Attached, Query

FOR_EVER = 2**60
"""How long rows of a window without end may wait."""


def inner_inputs(query: Query) -> tuple[int, ...]:
    """The inputs of which every result has a row."""
    attached = {a.input for a in query.attached}
    return tuple(n for n in range(len(query.inputs)) if n not in attached)


def inner_streams(query: Query) -> tuple[int, ...]:
    """Those of them that are streams."""
    return tuple(n for n in inner_inputs(query) if query.inputs[n].is_stream)


def is_full(query: Query) -> bool:
    """Whether rows of both sides come out without a partner."""
    return any(a.kind == FULL for a in query.attached)


def hidden_inputs(query: Query) -> frozenset[int]:
    """The inputs that results have nothing of."""
    return frozenset(a.input for a in query.attached if a.kind in (SEMI, ANTI))


def owner(query: Query, inputs: Iterable[int]) -> Attached | None:
    """Whose condition one on some inputs is: that of the last attached input among them; None where all are inner ones."""
    read = set(inputs)
    return next((a for a in reversed(query.attached) if a.input in read), None)


def met_stream(query: Query) -> Attached | None:
    """The stream that is attached to joined rows, so that these wait for its rows."""
    return next((a for a in query.attached if query.inputs[a.input].is_stream), None)


def sides_that_wait(query: Query) -> tuple[tuple[int, ...], ...]:
    """The streams whose rows, together, wait for a partner among the others: nothing where results are of instants, or nothing is attached
    but tables."""
    found = met_stream(query)
    if found is None or query.every is not None:
        return ()
    return (inner_streams(query), *([(found.input,)] if found.kind == FULL else []))


def wait(query: Query, side: Iterable[int]) -> int:
    """Microseconds that rows of some streams wait for a partner at the most: until the first of them leaves its window."""
    lengths = [query.inputs[n].length for n in side]
    return min((n for n in lengths if n is not None), default=FOR_EVER)


def waits(query: Query) -> int:
    """How much older than the least frontier the rows may be that are still to come out."""
    return max((wait(query, side) for side in sides_that_wait(query)), default=0)


def kept_longer(query: Query, number: int) -> int:
    """Microseconds that rows of a stream are kept beyond their window, for rows of others that wait, and that they may be partners of."""
    return max((wait(query, side) for side in sides_that_wait(query) if number not in side), default=0)


def held_back(query: Query, frontier: int | None) -> int | None:
    """The frontier of the results of a query: rows that wait come out later than others.

    >>> from thalweg.model.query import LEFT, RANGE, QueryInput
    >>> inputs = (QueryInput("x", "x", RANGE, 10), QueryInput("y", "y", RANGE, 5))
    >>> held_back(Query("q", "", inputs, (), attached=(Attached(1, LEFT),)), 100)
    91
    """
    longest = waits(query)
    return frontier if frontier is None or not longest else frontier - longest + 1
