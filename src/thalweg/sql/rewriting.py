"""What is written in other ways than queries are bound from: each becomes the one that says the same."""

from __future__ import annotations

from sqlglot import exp

from thalweg.sql.inputs import Known
from thalweg.sql.joined_windows import with_rows_apart
from thalweg.sql.nesting import Named, is_nested, unnested
from thalweg.sql.own_names import with_own_names
from thalweg.sql.source import Source
from thalweg.sql.struct_fields import with_fields
from thalweg.sql.subqueries import has_subqueries
from thalweg.sql.unions import as_select


def rewritten(source: Source, query: exp.Query, known: Known, named: Named) -> exp.Query:
    """A query as it is bound, over streams and tables alone; the tree that was parsed stays as it is. To copy it takes as long as to bind
    it, so that is done only where there is something to rewrite."""
    query = with_rows_apart(with_own_names(with_fields(query, known, named)), known)
    if isinstance(query, exp.SetOperation):
        return unnested(source, as_select(query.copy()), known, named)
    if not isinstance(query, exp.Select) or not (is_nested(query, named) or has_subqueries(query)):
        return query
    return unnested(source, query.copy(), known, named)
