"""What may stand in FROM as a SELECT of its own: one with groups, or one that filters and projects. All else is refused by name, with
what there is instead."""

from __future__ import annotations

from sqlglot import exp

from thalweg.sql.aggregates import groups_rows
from thalweg.sql.over import has_over
from thalweg.sql.refusals import CLAUSES, refuse_clauses
from thalweg.sql.source import Source, span_of

PLAIN = frozenset({"expressions", "from_", "where", "joins", "with_", "qualify"})
_HINTS = {
    "distinct": "group by the columns in a query of its own",
    "order": "results are a stream; sort them where you read them",
    "limit": "results are a stream; limit them where you read them",
    "every": "it goes with an aggregate; leave it out",
    "emit": "it goes with an aggregate; leave it out",
}


def is_computed(query: exp.Expr) -> bool:
    """Whether a nested query has groups, or instants at which rows are ranked, so that its results are computed before what reads them."""
    if not isinstance(query, exp.Select):
        return False
    timed = query.args.get("every") is not None or query.args.get("emit") is not None
    return groups_rows(query) or (timed and has_over(query))


def check_reference(source: Source, node: exp.Expr) -> None:
    """Refuse what may not stand with a name, or a SELECT, in FROM."""
    refuse_clauses(source, node, frozenset({"this", "db", "catalog", "alias", "time", "window"}))
    if (alias := node.args.get("alias")) is not None and alias.args.get("columns"):
        raise source.at(node, "renaming columns in FROM is not supported", "use AS in SELECT")


def check_plain(outer: Source, node: exp.Expr, source: Source, query: exp.Expr) -> exp.Select:
    """A nested query as the plain SELECT that it must be."""
    inside, where = source == outer, "a view" if node is query else "FROM"
    if node is not query:
        check_reference(outer, node)
    if not isinstance(query, exp.Select):
        raise outer.at(node, f"parentheses in {where} hold a SELECT", "write the names without them")
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
