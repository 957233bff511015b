"""What each statement of a script does to a session, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.api import show
from thalweg.api.declaring import free_name, query_of, stream_bound
from thalweg.api.outcomes import Assigned, Created, Declared, Dropped, Explained, Outcome
from thalweg.api.sources import declared_source
from thalweg.errors import StatementError, UsageError
from thalweg.explain import Explanation
from thalweg.explain.endless import endless_text
from thalweg.model.catalog import known
from thalweg.sql import statements as st
from thalweg.sql.source import Source, Span

if TYPE_CHECKING:
    from thalweg.api.session import Session


def executed(session: Session, statement: st.Statement, source: Source, span: Span) -> Outcome:
    """Carry a statement out; what can't be done is told at its place in the script."""
    try:
        return _execute(session, statement)
    except StatementError:
        raise
    except UsageError as error:
        raise source.refused(error, span) from error


def _execute(session: Session, statement: st.Statement) -> Outcome:
    declared = session._declarations
    match statement:
        case st.CreateStream():
            stream = stream_bound(statement, session.catalog.functions)
            return Declared("stream", declared.stream(declared_source(stream, session.directory.inbox)).name)
        case st.AlterStream(name):
            known(name, session.catalog.streams, "stream")
            declared.more_columns(
                stream_bound(statement.of(session.catalog.streams[name]), session.catalog.functions)
            )
            return Declared("stream", name)
        case st.CreateTable(relation):
            return Declared("table", declared.relation(relation).name)
        case st.CreateView():
            return Declared("view", declared.view(statement).name)
        case st.CreateQuery():
            replaced = statement.name in session.catalog.queries
            handle = session._create(statement)
            history, notice = session.history_of(handle.query), endless_text(handle.query)
            return Created(handle.name, handle.directory, replaced, history, notice)
        case st.Drop("QUERY", name):
            session.drop(name)
            return Dropped("query", name)
        case st.Drop(kind, name):
            declared.drop(kind.lower(), name)
            return Dropped(kind.lower(), name)
        case st.SetOption(key, value):
            session.set(key, value)
            return Assigned(key, value)
        case st.Show(what):
            return _show(session, what)
        case st.Explain():
            return Explained(" ".join(statement.text.split()), _explained(session, statement))


def _show(session: Session, what: str) -> Outcome:
    match what:
        case "QUERIES":
            return show.queries(session.queries)
        case "STREAMS":
            return show.streams(session.catalog)
        case "VIEWS":
            return show.views(session.catalog)
        case "FUNCTIONS":
            return show.functions(session.catalog)
        case "CHANGES":
            return show.changes(session.changes)
        case "STATISTICS":
            return show.statistics(session.catalog, session.latest_manifest())
    return Explained(f"SHOW {what}", session.explain())


def _explained(session: Session, statement: st.Explain) -> Explanation:
    catalog = session.catalog
    if statement.select is not None:
        query = query_of(catalog, statement.select, free_name(catalog))
        return session.explain(query, analyze=statement.analyze)
    if statement.query is not None:
        known(statement.query, catalog.queries, "query")
        return session.explain(catalog.queries[statement.query], analyze=statement.analyze)
    return session.explain(analyze=statement.analyze)
