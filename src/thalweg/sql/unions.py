"""UNION ALL: SELECTs whose rows are one stream. Each is bound by itself; columns go together by position, under the names of the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from thalweg.expr.nested import spark_type
from thalweg.expr.nodes import NULL, Cast, Column, Expr
from thalweg.expr.types import together_type
from thalweg.model.nesting import RESULT_TIME, results_of, united
from thalweg.model.query import UNITED, Output, Query, QueryInput, joined_name
from thalweg.sql.inner import Inner, free_name, inner_of
from thalweg.sql.inputs import Known
from thalweg.sql.refusals import refuse_clauses
from thalweg.sql.source import Source, Span, placed, span_of

_MEMBERS = frozenset({"this", "expression", "distinct", "with_"})
_HINTS = {
    exp.Union: "write UNION ALL; GROUP BY the columns where equal rows are to be one",
    exp.Intersect: "join the two, or write a condition",
    exp.Except: "write a condition that leaves rows out",
}


def as_select(union: exp.SetOperation) -> exp.Select:
    """The SELECT that has all that a union has."""
    table = placed(exp.Subquery(this=union), union)
    select = exp.Select(expressions=[placed(exp.Star(), union)], from_=exp.From(this=table))
    placed(select, union)
    return select


def union_of(source: Source, union: exp.SetOperation, known: Known, named: Mapping[str, Any]) -> Inner:
    """A union as another query reads it."""
    nodes = _parts(source, union)
    parts = [_bound(source, n, known, named) for n in nodes]
    first = parts[0]
    for node, part in zip(nodes, parts, strict=True):
        if len(part.shown) != len(first.shown):
            message = f"the parts of this UNION ALL have {len(first.shown)} and {len(part.shown)} columns"
            raise source.error(message, _place(node), "show as many columns in each part")
    types = [_type(source, nodes, parts, n) for n in range(len(first.shown))]
    taken, names = {name.lower() for name in first.names}, list[str]()
    for n, name in enumerate(first.names):
        names.append(RESULT_TIME if all(p.is_time(n) for p in parts) else free_name(name, taken))
    outputs = {s: Output(s, Column(s, t)) for s, t in zip(names, types, strict=True)}
    outputs[RESULT_TIME] = Output(RESULT_TIME, Column(RESULT_TIME, "TIMESTAMP"))
    inner = {q.name: q for p in parts for q in p.inner}
    query = united([p.input(names, types) for p in parts], tuple(outputs.values()), tuple(inner.values()))
    return Inner(query, results_of(query), dict(zip(first.names, names, strict=True)))


@dataclass(frozen=True)
class _Part:
    """A part as rows of a stream: those that satisfy conditions, what is shown of them over bare columns, and their event time; `inner`
    are the queries that this needs."""

    source: str
    where: tuple[Expr, ...]
    names: tuple[str, ...]
    shown: tuple[Expr, ...]
    time: str
    inner: tuple[Query, ...]

    def is_time(self, number: int) -> bool:
        """Whether a column is the event time."""
        return self.shown[number] == Column(self.time, "TIMESTAMP")

    def input(self, names: Sequence[str], types: Sequence[str]) -> QueryInput:
        """The part with its columns as all parts have them."""
        shown = {
            name: Output(name, expr if expr.type == type_ else Cast(expr, type_))
            for name, expr, type_ in zip(names, self.shown, types, strict=True)
        }
        shown[RESULT_TIME] = Output(RESULT_TIME, Column(self.time, "TIMESTAMP"))
        return QueryInput("", self.source, UNITED, where=self.where, shown=tuple(shown.values()))


def _parts(source: Source, node: exp.Expr, is_first: bool = True) -> list[exp.Expr]:
    """What is united, in its order: unions within unions are one, but for those with common table expressions of their own."""
    if isinstance(node, exp.Subquery) and not node.alias:
        return _parts(source, node.this, False)
    if not isinstance(node, exp.SetOperation) or (node.args.get("with_") is not None and not is_first):
        return [node]
    if not isinstance(node, exp.Union) or node.args.get("distinct"):
        raise source.error(f"{node.key.upper()} is not supported", _place(node), _HINTS[type(node)])
    refuse_clauses(source, node, _MEMBERS)
    return [*_parts(source, node.this, False), *_parts(source, node.expression, False)]


def _place(node: exp.Expr) -> Span:
    return node.meta.get("keyword") or span_of(node) or (0, 1)


def _bound(source: Source, node: exp.Expr, known: Known, named: Mapping[str, Any]) -> _Part:
    if not isinstance(node, exp.Query):
        raise source.at(node, "a part of UNION ALL is a SELECT", "write SELECT ... FROM ...")
    query = known.bind(source, node.copy(), known.outside, named)
    if query.changes:
        raise source.at(
            node, "a union of changes is not supported", "give its groups a window, without EMIT CHANGES"
        )
    times, (given, *more) = known.times(query), query.inputs
    if query.passes and not more and not query.residue:
        bare = {joined_name(given.alias, c.name): c.name for c in query.columns}
        shown = tuple(o.expr.renamed(lambda name: bare[name]) for o in query.outputs)
        names = tuple(o.name for o in query.outputs)
        return _Part(given.source, given.where, names, shown, times[given.source], query.nested)
    inner = inner_of(query, times)
    columns = tuple(Column(stored, inner.stream.types[stored]) for stored in inner.columns.values())
    return _Part(inner.stream.name, (), tuple(inner.columns), columns, RESULT_TIME, (inner.query,))


def _type(source: Source, nodes: Sequence[exp.Expr], parts: Sequence[_Part], number: int) -> str:
    """The type of a column of a union."""
    found = parts[0].shown[number].type
    for node, part in zip(nodes[1:], parts[1:], strict=True):
        type_ = part.shown[number].type
        if NULL in (found, type_):
            found = type_ if found == NULL else found
            continue
        if (both := together_type(found, type_)) is None:
            message = f"column {number + 1} of this UNION ALL is {spark_type(found)} and {spark_type(type_)}"
            raise source.error(message, _place_of(node, number), "CAST one of them")
        found = both
    return "INTEGER" if found == NULL else found


def _place_of(node: exp.Expr, number: int) -> Span:
    """Where a part has a column, if that can be seen."""
    items = node.expressions if isinstance(node, exp.Select) else []
    return (span_of(items[number]) if number < len(items) else None) or _place(node)
