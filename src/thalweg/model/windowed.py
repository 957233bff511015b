"""Queries over the windows of one stream."""

from __future__ import annotations

from thalweg.expr.nodes import Expr
from thalweg.model.query import WINDOWED, Aggregate, Output, Query, QueryAggregate, QueryInput, Term
from thalweg.model.target import Target
from thalweg.model.windows import NamedWindow


def windowed(
    name: str,
    stream: str,
    where: tuple[Expr, ...],
    keys: tuple[Expr, ...],
    windows: tuple[NamedWindow, ...],
    aggregates: tuple[Aggregate, ...],
    outputs: tuple[Output, ...],
    having: Expr | None = None,
    text: str = "",
    into: Target | None = None,
) -> Query:
    """A query over the windows of one stream, whatever name it has for it."""
    return Query(
        name=name,
        text=text,
        inputs=(QueryInput(stream, stream, WINDOWED, where=where),),
        keys=tuple(Term(k, (), k) for k in keys),
        windows=windows,
        aggregates=tuple(QueryAggregate(a, 0) for a in aggregates),
        outputs=outputs,
        having=having,
        into=into,
    )
