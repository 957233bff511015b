"""What may stand in FROM as a SELECT of its own: one that filters and projects. All else is refused by name, with what there is instead."""

from __future__ import annotations

from sqlglot import exp

from thalweg.sql.aggregates import groups_rows
from thalweg.sql.refusals import CLAUSES, refuse_clauses
from thalweg.sql.source import Source, span_of

PLAIN = frozenset({"expressions", "from_", "where", "joins", "with_"})
_OWN_QUERY = "create it as a query INTO 'dir', and a stream that reads that directory"
_HINTS = {
    "distinct": "group by the columns in a query of its own",
    "order": "results are a stream; sort them where you read them",
    "limit": "results are a stream; limit them where you read them",
    "every": _OWN_QUERY,
    "emit": _OWN_QUERY,
}


def check_plain(outer: Source, node: exp.Expr, source: Source, query: exp.Expr) -> exp.Select:
    """A nested query as the plain SELECT that it must be."""
    inside, where = source == outer, "a view" if node is query else "FROM"
    if node is not query:
        refuse_clauses(outer, node, frozenset({"this", "db", "catalog", "alias", "time", "window"}))
    if (alias := node.args.get("alias")) is not None and alias.args.get("columns"):
        raise outer.at(node, "renaming columns in FROM is not supported", "use AS in SELECT")
    if isinstance(query, exp.SetOperation):
        span = query.meta.get("keyword") if inside else None
        raise outer.error(
            f"{query.key.upper()} in {where} is not supported",
            span or span_of(node) or (0, 1),
            "write a query for each part",
        )
    if not isinstance(query, exp.Select):
        raise outer.at(node, f"parentheses in {where} hold a SELECT", "write the names without them")
    if groups_rows(query):
        at = next(
            (n for n in (query.args.get("group"), *query.expressions) if n is not None and inside), node
        )
        raise outer.at(at, f"an aggregate in {where} is not supported", _OWN_QUERY)
    for key, value in query.args.items():
        if value and key not in PLAIN:
            part = value[0] if isinstance(value, list) else value
            at = part if inside and isinstance(part, exp.Expr) and span_of(part) else node
            name = CLAUSES.get(key, key.rstrip("_").upper())
            raise outer.at(
                at,
                f"{name} in {where} is not supported",
                _HINTS.get(key, "write a SELECT with FROM and WHERE alone"),
            )
    return query
