"""EVERY and EMIT: when the aggregates of a join are computed, and which of them are emitted."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from sqlglot import exp

from thalweg.model.query import RANGE, TUMBLE
from thalweg.model.windows import UNITS, duration_text
from thalweg.sql.inputs import Input
from thalweg.sql.refusals import table_references
from thalweg.sql.source import Source
from thalweg.sql.windows import fixed_length

_MINUTE = dict(UNITS)["minute"]


def bind_every(source: Source, select: exp.Select, inputs: Sequence[Input]) -> int:
    """The distance of two instants, in microseconds."""
    every = select.args.get("every")
    given = None if every is None else fixed_length(source, every.expressions[0], "EVERY")
    tumble = _tumbling(source, select, inputs)
    if tumble is None:
        return given or default_every([i.length or 0 for i in inputs if i.kind == RANGE])
    if every is not None and given != tumble:
        text = duration_text(tumble)
        raise source.at(
            every, f"results of TUMBLE {text} come every {text}", f"write EVERY {text}, or leave it out"
        )
    return tumble


def _tumbling(source: Source, select: exp.Select, inputs: Sequence[Input]) -> int | None:
    """The length of the TUMBLE windows, of which an instant is the end of one; so they must have the same."""
    found: int | None = None
    for table, i in zip(table_references(source, select), inputs, strict=True):
        if i.kind == TUMBLE and found is not None and i.length != found:
            message = "the TUMBLE windows of an aggregate over a join must be of the same length"
            hint = f"write [TUMBLE {duration_text(found)}], or RANGE or UNBOUNDED"
            raise source.at(table.args["window"], message, hint)
        found = i.length if i.kind == TUMBLE else found
    return found


def default_every(lengths: Sequence[int]) -> int:
    """The distance of instants for sliding windows of some lengths: a sixtieth, a tenth or all of what divides them.

    >>> duration_text(default_every([3600 * 1_000_000, 7200 * 1_000_000])), duration_text(default_every([]))
    ('1 minute', '1 minute')
    """
    common = gcd(*lengths) or 60 * _MINUTE
    if common % 60 == 0 and common // 60 >= 1000:
        return common // 60
    return common // 10 if common % 10 == 0 else common


def emits_changes(select: exp.Select) -> bool:
    """Whether only what changed since the last instant is emitted."""
    emit = select.args.get("emit")
    return emit is not None and emit.name.upper() == "CHANGES"
