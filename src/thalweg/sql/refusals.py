"""Valid SQL that is not supported (yet): refused by name, at its place."""

from __future__ import annotations

from sqlglot import exp

from thalweg.sql.source import Source, Span, span_of

SUPPORTED = frozenset({"expressions", "from_", "where", "group", "having"})
CLAUSES = {
    "with_": "WITH (a common table expression)",
    "distinct": "SELECT DISTINCT",
    "order": "ORDER BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "joins": "a join",
    "laterals": "LATERAL VIEW",
    "qualify": "QUALIFY",
    "windows": "a WINDOW clause",
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "hint": "a hint",
    "into": "SELECT INTO",
    "every": "EVERY",
    "emit": "EMIT",
    "sample": "TABLESAMPLE",
    "pivots": "PIVOT",
    "window": "a window of a stream in FROM",
}
HINTS = {
    "distinct": "group by the columns instead",
    "order": "results are a stream; sort them where you read them",
    "limit": "results are a stream; limit them where you read them",
    "every": "the windows in GROUP BY say when results are emitted",
    "emit": "results are emitted once, when their window is final",
    "window": "put TUMBLE or HOP into GROUP BY",
    "joins": "read one stream",
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
    """The query as a plain SELECT of one stream, or an error that names what else it has."""
    if isinstance(query, exp.SetOperation):
        span = query.meta.get("keyword") or span_of(query) or (0, 1)
        raise source.error(f"{query.key.upper()} is not supported", span, "write two queries")
    if not isinstance(query, exp.Select):
        raise source.at(query, f"{SOURCES.get(type(query), query.key)} is not supported here", "write a plain SELECT")
    _refuse_clauses(source, query, SUPPORTED)
    return query


def stream_reference(source: Source, select: exp.Select) -> exp.Table:
    """The reference to the one stream that is read."""
    from_ = select.args.get("from_")
    if from_ is None:
        raise source.at(select, "the SELECT has no FROM", "name the stream after FROM")
    table = from_.this
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        raise source.at(table, f"{SOURCES.get(type(table), table.key)} in FROM is not supported", "name a stream")
    if table.args.get("db"):
        raise source.at(table, "names of streams have no qualifier", f"write {table.name}")
    _refuse_clauses(source, table, frozenset({"this", "db", "catalog", "alias", "time"}))
    alias = table.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        raise source.at(alias, "renaming columns in FROM is not supported", "use AS in SELECT")
    return table


def _refuse_clauses(source: Source, node: exp.Expr, supported: frozenset[str]) -> None:
    present = [(k, v[0] if isinstance(v, list) else v) for k, v in node.args.items() if k not in supported and v]
    placed = [(_span(source, node, v), k) for k, v in present]
    if placed:
        span, key = min(placed)
        name = CLAUSES.get(key, key.rstrip("_").upper())
        raise source.error(
            f"{name} is not supported" + (" yet" if key in ("joins", "every", "emit", "window") else ""), span, HINTS.get(key)
        )


def _span(source: Source, node: exp.Expr, value: object) -> Span:
    own = span_of(value) if isinstance(value, exp.Expr) else None
    return own or span_of(node) or (0, len(source.text))
