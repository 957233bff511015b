"""Views: SELECTs under names, which become part of the queries that read them."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from thalweg.model.query import Query
from thalweg.model.stream import Column, View
from thalweg.sql.nesting import Nested
from thalweg.sql.plain import check_plain, is_computed
from thalweg.sql.source import Source
from thalweg.sql.statements import ParsedSelect, parse_select


def named_selects(
    query: exp.Expr, views: Mapping[str, View], queries: Mapping[str, Query] | None = None
) -> dict[str, Nested]:
    """The views and queries that a query reads, and those that these read, by name; each is read from its own text."""
    known: dict[str, View | Query] = {n.lower(): q for n, q in (queries or {}).items()}
    known |= {n.lower(): v for n, v in views.items()}
    found: dict[str, Nested] = {}
    pending = list(tables_named(query)) if known else []
    while pending:
        name = pending.pop().lower()
        if name in known and name not in found:
            named = known[name]
            asked = named if isinstance(named, Query) else None
            origin = f"{'view' if asked is None else 'query'} {named.name}"
            parsed = parse_select(named.text, origin).node
            found[name] = Nested(Source(named.text, origin), parsed, found, named.name, asked)
            pending += tables_named(parsed)
    return found


def tables_named(query: exp.Expr) -> tuple[str, ...]:
    """The names that a query reads from, each once: of streams, tables, views and queries."""
    own = {c.alias.lower() for c in query.find_all(exp.CTE)}
    return tuple(dict.fromkeys(t.name for t in query.find_all(exp.Table) if t.name.lower() not in ("", *own)))


def check_view(select: ParsedSelect) -> None:
    """Refuse a view that does more than a SELECT in FROM may."""
    if not is_computed(select.node) and not isinstance(select.node, exp.SetOperation):
        check_plain(select.source, select.node, select.source, select.node)


def view_of(name: str, select: ParsedSelect, bound: Query) -> View:
    """The view that a SELECT makes, which was bound as a query."""
    return View(
        name, select.sql, tuple(Column(o.name, o.type) for o in bound.outputs), tables_named(select.node)
    )


def views_read(query: str, views: Mapping[str, View]) -> frozenset[str]:
    """The views that the text of a query depends on, by name."""
    return (
        frozenset(found.view for found in named_selects(parse_select(query).node, views).values())
        if views
        else frozenset()
    )


def functions_named(text: str) -> frozenset[str]:
    """The names, in small letters, of the functions that the text of a view or query calls."""
    return frozenset(c.name.lower() for c in parse_select(text).node.find_all(exp.Anonymous))
