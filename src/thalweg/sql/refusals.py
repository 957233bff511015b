"""Valid SQL that is not supported: refused by name, at its place."""

from __future__ import annotations

from sqlglot import exp

from thalweg.sql.aggregates import groups_rows
from thalweg.sql.over import has_over
from thalweg.sql.source import Source, Span, span_of

SUPPORTED = frozenset({"expressions", "from_", "where", "group", "having", "qualify"})
SUPPORTED_IN_JOINS = SUPPORTED | {"joins", "every", "emit"}
CLAUSES = {
    "with_": "WITH (a common table expression)",
    "distinct": "SELECT DISTINCT",
    "order": "ORDER BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "joins": "a join inside a join",
    "laterals": "LATERAL VIEW",
    "windows": "a WINDOW clause",
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "hint": "a hint",
    "into": "SELECT INTO",
    "every": "EVERY without a window in FROM",
    "emit": "EMIT without a window in FROM",
    "sample": "TABLESAMPLE",
    "pivots": "PIVOT",
}
HINTS = {
    "distinct": "group by the columns instead",
    "order": "results are a stream; sort them where you read them",
    "limit": "results are a stream; limit them where you read them",
    "every": "the windows in GROUP BY say when results are final; write EMIT EVERY 5 SECONDS to have them told while they are open",
    "emit": "results are emitted once, when their window is final; leave it out",
    "joins": "write each ON right after its JOIN",
    "into": "write CREATE QUERY name INTO 'path' AS SELECT ...",
}
SOURCES: dict[type[exp.Expr], str] = {
    exp.Subquery: "a subquery",
    exp.Select: "a subquery",
    exp.Lateral: "LATERAL",
    exp.Unnest: "UNNEST",
    exp.Values: "VALUES",
}


def refuse_unsupported(source: Source, query: exp.Query) -> exp.Select:
    """The query as a plain SELECT, or an error that names what else it has."""
    if not isinstance(query, exp.Select):
        raise source.at(
            query, f"{SOURCES.get(type(query), query.key)} is not supported here", "write a plain SELECT"
        )
    says_when = is_join(query) or has_over(query) or (query.args.get("emit") and groups_rows(query))
    refuse_clauses(source, query, SUPPORTED_IN_JOINS if says_when else SUPPORTED)
    return query


def is_join(select: exp.Select) -> bool:
    """Whether a SELECT reads several inputs, or one with a window of its own."""
    from_ = select.args.get("from_")
    return bool(select.args.get("joins")) or (from_ is not None and from_.this.args.get("window") is not None)


def table_references(source: Source, select: exp.Select) -> tuple[exp.Table, ...]:
    """The references to what is read, in the order of FROM."""
    from_ = select.args.get("from_")
    if from_ is None:
        raise source.at(select, "the SELECT has no FROM", "name the stream after FROM")
    joins = select.args.get("joins") or []
    for join in joins:
        refuse_clauses(source, join, frozenset({"this", "on", "using", "kind", "side", "method"}))
    return tuple(_table_reference(source, node) for node in (from_.this, *(j.this for j in joins)))


def _table_reference(source: Source, table: exp.Expr) -> exp.Table:
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        raise source.at(
            table, f"{SOURCES.get(type(table), table.key)} in FROM is not supported", "name a stream"
        )
    if table.args.get("db"):
        raise source.at(table, "names of streams have no qualifier", f"write {table.name}")
    refuse_clauses(source, table, frozenset({"this", "db", "catalog", "alias", "time", "window", "as_of"}))
    alias = table.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        raise source.at(table, "renaming columns in FROM is not supported", "use AS in SELECT")
    return table


def refuse_clauses(source: Source, node: exp.Expr, supported: frozenset[str]) -> None:
    """Refuse what a node has besides what is supported, by name and at its place."""
    present = [
        (k, v[0] if isinstance(v, list) else v) for k, v in node.args.items() if k not in supported and v
    ]
    placed = [(_span(source, node, v), k) for k, v in present]
    if placed:
        span, key = min(placed)
        hint = HINTS.get(key, "leave it out; thalweg help queries has all that a query may say")
        raise source.error(f"{CLAUSES.get(key, key.rstrip('_').upper())} is not supported", span, hint)


def _span(source: Source, node: exp.Expr, value: object) -> Span:
    own = span_of(value) if isinstance(value, exp.Expr) else None
    if own is None and isinstance(value, exp.Hint):
        start = source.text.find("/*+")
        return (start, source.text.find("*/", start) + 2)
    return own or span_of(node) or (0, len(source.text))
