"""A query as it would be computed, before anybody has created it."""

from __future__ import annotations

from typing import Any

from thalweg.api.declaring import free_name, query_of
from thalweg.api.session import Session
from thalweg.service.refusals import Refused
from thalweg.sql import statements as st
from thalweg.sql.statement_syntax import NAME

HINT = "write SELECT ..., EXPLAIN SELECT ..., or CREATE QUERY name AS SELECT ..."


def preview(session: Session, text: str, marginal: bool = False) -> dict[str, Any]:
    """The plan of the one query of a text, in words and for programs, and its columns; with `marginal` what it adds to the cost of the
    others. Errors have their place in the text."""
    select, name = _select(text)
    catalog = session.catalog
    query = query_of(catalog, select, name or free_name(catalog))
    found = session.explain(query, marginal=marginal)
    return {
        "query": query.name,
        "columns": [{"name": o.name, "type": o.type} for o in query.outputs],
        "text": found.text,
        "plan": found.data,
        "marginal": {k: v for k, v in found.data["adds"].items() if k != "others"} if marginal else None,
    }


def _select(text: str) -> tuple[st.ParsedSelect, str | None]:
    """The SELECT that is meant, and the name that it is to have."""
    if _begins_with_select(text):
        return st.parse_select(text), None
    statements = st.parse_script(text)
    if len(statements) != 1:
        raise Refused(400, f"expected one query, not {len(statements)} statements", HINT)
    match statements[0]:
        case st.CreateQuery(name, _, select):
            return select, name
        case st.Explain(_, st.ParsedSelect() as select):
            return select, None
    raise Refused(400, "there is no query in this text", HINT)


def _begins_with_select(text: str) -> bool:
    """Whether the first word that is no comment is SELECT or WITH."""
    lines = [line.strip() for line in text.splitlines()]
    first = next((line for line in lines if line and not line.startswith("--")), "")
    word = NAME.match(first)
    return word is not None and word[0].upper() in ("SELECT", "WITH")
