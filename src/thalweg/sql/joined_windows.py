"""Windows in GROUP BY beside a join of one stream with tables: the rows of the join are a SELECT in FROM, which the windows are over."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from thalweg.model.stream import Stream
from thalweg.sql.builder import is_star
from thalweg.sql.inner_windows import has_window
from thalweg.sql.inputs import Known
from thalweg.sql.rows import is_window_reference
from thalweg.sql.source import placed

_INNER = ("from_", "joins", "where")


def with_rows_apart(query: exp.Query, known: Known) -> exp.Query:
    """A SELECT whose windows are over rows of one stream with what tables have of them, as one over a SELECT of these rows."""
    if not isinstance(query, exp.Select) or not query.args.get("joins") or not has_window(query):
        return query
    tables = [query.args["from_"].this, *(j.this for j in query.args["joins"])]
    if any(not isinstance(t, exp.Table) or t.args.get("window") or t.args.get("windowing") for t in tables):
        return query
    origins = [known.find(t.name) for t in tables]
    streams = [n for n, o in enumerate(origins) if isinstance(o, Stream)]
    if None in origins or len(streams) != 1 or any(_stars(query)):
        return query
    stream, table = origins[streams[0]], tables[streams[0]]
    assert isinstance(stream, Stream)
    time = exp.column(stream.time, table=table.alias_or_name, quoted=True)
    names = {c.name.lower() for o in origins if o is not None for c in o.columns}
    names |= {name.lower() for name in stream.fields}
    return _apart(query.copy(), time, names, {t.alias_or_name.lower() for t in tables})


def _stars(select: exp.Select) -> Iterator[bool]:
    return (is_star(n) for n in select.find_all(exp.Column) if n.table)


def _apart(select: exp.Select, time: exp.Column, names: set[str], inputs: set[str]) -> exp.Select:
    """The SELECT over one of all that it reads of its inputs, which have columns of some names."""
    shown: dict[tuple[str, str], exp.Expr] = {
        ("", ""): placed(exp.Alias(this=time, alias=_quoted("row_time")), select)
    }
    select.set("expressions", [_named(item) for item in select.expressions])
    for column in [c for part in _read(select) for c in part.find_all(exp.Column)]:
        known = column.table.lower() in inputs if column.table else column.name.lower() in names
        if not known or (is_window_reference(column) and not column.table):
            continue
        key = column.table.lower(), column.name.lower()
        alias = f"{column.table}_{column.name}" if column.table else column.name
        shown.setdefault(key, placed(exp.Alias(this=column.copy(), alias=_quoted(alias)), column))
        column.replace(placed(exp.column(shown[key].alias, quoted=True), column))
    inner = exp.Select(expressions=list(shown.values()), **{k: select.args.get(k) for k in _INNER})
    for clause in _INNER:
        select.set(clause, None)
    select.set("from_", exp.From(this=placed(exp.Subquery(this=placed(inner, select)), select)))
    return select


def _named(item: exp.Expr) -> exp.Expr:
    """A column of SELECT under its own name, which that of the SELECT in FROM is not."""
    is_bare = isinstance(item, exp.Column) and not is_star(item) and not is_window_reference(item)
    return placed(exp.Alias(this=item, alias=_quoted(item.name)), item) if is_bare else item


def _read(select: exp.Select) -> Iterator[exp.Expr]:
    yield from select.expressions
    yield from (part for key in ("group", "having") if (part := select.args.get(key)) is not None)


def _quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)
