"""Fields of structs in a SELECT: `bid.price` names a column of an input where there is one of that name, else a field of a column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from sqlglot import exp

from thalweg.expr.nested import is_nested
from thalweg.model.stream import Relation, Stream
from thalweg.sql.inputs import Known
from thalweg.sql.source import placed, span_of

Q = TypeVar("Q", bound=exp.Expr)
_MAKERS = ("STRUCT", "NAMED_STRUCT", "FROM_JSON")
_PARTS = ("catalog", "db", "table", "this")


def with_fields(query: Q, known: Known, named: Mapping[str, Any]) -> Q:
    """A query whose references to fields are told from those to columns of inputs; the same one where it can have none."""
    names = _struct_names(query, known, named)
    if not names or not any(_parts(c) for c in query.find_all(exp.Column)):
        return query
    copied = query.copy()
    _visit(copied, known, names, frozenset())
    return copied


def with_own_fields(value: exp.Expr, stream: Stream) -> exp.Expr:
    """The same of an expression over the columns of one stream."""
    names = frozenset(c.name.lower() for c in stream.columns if is_nested(c.type))
    whole = placed(exp.Paren(this=value.copy()), value)
    for column in list(whole.find_all(exp.Column)) if names else ():
        if parts := _parts(column):
            held = _held(parts, frozenset({stream.name.lower()}), names, frozenset())
            if held and len(parts) > held:
                column.replace(_fields(column, parts, held))
    return whole if names else value


def _struct_names(query: exp.Expr, known: Known, named: Mapping[str, Any]) -> frozenset[str]:
    """The names that columns with fields may have: in what is read, and as results of what is nested."""
    sources: tuple[Stream | Relation, ...] = (
        *known.streams.values(),
        *known.relations.values(),
        *(i.stream for i in known.within.values()),
    )
    found = {c.name.lower() for s in sources for c in s.columns if is_nested(c.type)}
    asked = [n.query for n in named.values() if n.query is not None]
    found |= {o.name.lower() for q in asked for o in q.outputs if is_nested(o.type)}
    trees = [query, *(n.node for n in named.values())]
    if found or any(_makes_structs(t) for t in trees):
        found |= {a.alias.lower() for t in trees for a in t.find_all(exp.Alias)}
    return frozenset(found)


def _makes_structs(tree: exp.Expr) -> bool:
    return any(c.name.upper() in _MAKERS for c in tree.find_all(exp.Anonymous))


def _visit(node: exp.Expr, known: Known, names: frozenset[str], outer: frozenset[str]) -> None:
    """A query and those within it, each with the inputs that it sees."""
    inputs = dict(_inputs(node)) if isinstance(node, exp.Select) else {}
    seen = outer | inputs.keys()
    for child in list(node.walk(prune=lambda n: n is not node and isinstance(n, exp.Query))):
        if isinstance(child, exp.Query) and child is not node:
            _visit(child, known, names, seen)
        elif isinstance(child, exp.Column) and (parts := _parts(child)):
            columns = _columns(known, inputs.get(parts[0].name.lower()))
            held = _held(parts, seen, names, columns)
            if held and len(parts) > held:
                child.replace(_fields(child, parts, held))


def _inputs(select: exp.Select) -> Iterator[tuple[str, exp.Expr]]:
    from_ = select.args.get("from_")
    for node in () if from_ is None else (from_.this, *(j.this for j in select.args.get("joins") or ())):
        yield node.alias_or_name.lower(), node


def _columns(known: Known, node: exp.Expr | None) -> frozenset[str]:
    """The columns of an input that is a stream or table, in small letters."""
    found = known.find(node.name) if isinstance(node, exp.Table) else None
    return frozenset() if found is None else frozenset(c.name.lower() for c in found.columns)


def _parts(column: exp.Column) -> list[exp.Identifier]:
    """The identifiers of a reference that is qualified."""
    found = [p for key in _PARTS if isinstance(p := column.args.get(key), exp.Identifier)]
    return found if len(found) > 1 else []


def _held(
    parts: list[exp.Identifier], seen: frozenset[str], names: frozenset[str], columns: frozenset[str]
) -> int:
    """How many identifiers of a reference name the column, with its input; those after it are fields. 0 where all are to stay."""
    first, second = parts[0].name.lower(), parts[1].name.lower()
    if first in seen:
        is_own_column = bool(columns) and second not in columns and first in columns
        return 1 if is_own_column else 2
    return 1 if first in names else 0


def _fields(column: exp.Column, parts: list[exp.Identifier], held: int) -> exp.Expr:
    made: exp.Expr = exp.Column(
        this=parts[held - 1].copy(), **({"table": parts[0].copy()} if held > 1 else {})
    )
    spans = [span_of(p) for p in parts]
    for number, part in enumerate(parts[held:], held):
        start, end = spans[0], spans[number - 1]
        if start is not None and end is not None:
            made.meta["span"] = (start[0], end[1])
        made = exp.Dot(this=made, expression=part.copy())
    return placed(made, column)
