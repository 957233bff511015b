"""What a session takes over from its directory, and what of it stays beside what a script declares."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from thalweg.api.changes import asks_same
from thalweg.api.declaring import query_of
from thalweg.errors import ThalwegError, UsageError
from thalweg.model.catalog import Catalog
from thalweg.model.query import Query
from thalweg.model.recorded import Recorded
from thalweg.model.settings import Config, with_setting
from thalweg.model.stream import Stream
from thalweg.sql.statements import ParsedSelect, parse_select
from thalweg.sql.views import functions_named, views_read

QUERY, STREAM, TABLE, VIEW, FUNCTION, SETTING = "query", "stream", "table", "view", "function", "setting"
Things = frozenset[str]


def thing(kind: str, name: str) -> str:
    """What is declared, as it is told apart from all else.

    >>> thing(QUERY, "q")
    'query q'
    """
    return f"{kind} {name}"


def things(catalog: Catalog) -> dict[str, Any]:
    """All that is declared, with what it is."""
    queries = {**catalog.failed, **catalog.queries}
    named = (
        (STREAM, catalog.streams),
        (TABLE, catalog.relations),
        (VIEW, catalog.views),
        (FUNCTION, catalog.functions),
        (QUERY, queries),
    )
    parts = (*named, (SETTING, dict(catalog.config.given)))
    return {thing(kind, name): value for kind, found in parts for name, value in found.items()}


def catalog_of(recorded: Recorded) -> Catalog:
    """What a directory remembers, as a catalog."""
    config = configured(recorded.settings.items())
    return Catalog(
        recorded.streams,
        recorded.relations,
        recorded.queries,
        config,
        failed=recorded.failed,
        views=recorded.views,
        functions=recorded.functions,
    )


def recorded_of(catalog: Catalog, places: Mapping[str, str], lasting: Collection[str]) -> Recorded:
    """A catalog as a directory remembers it."""
    settings = dict(catalog.config.given)
    marks = dict.fromkeys(sorted(lasting), True)
    return Recorded(
        catalog.streams,
        catalog.relations,
        catalog.queries,
        places,
        settings,
        marks,
        catalog.failed,
        catalog.views,
        catalog.functions,
    )


def configured(settings: Iterable[tuple[str, str]]) -> Config:
    """The configuration that some settings make."""
    config = Config()
    for key, value in settings:
        config = with_setting(config, key, value)
    return config


def reduced(catalog: Catalog, kept: Collection[str]) -> Catalog:
    """Without what is not kept; a stream, a table or a view that a kept query reads is, and so are functions that are called."""
    queries = {n: q for n, q in catalog.queries.items() if thing(QUERY, n) in kept}
    views = {v for q in queries.values() for v in views_read(q.text, catalog.views)}
    views |= {
        v
        for n in catalog.views
        if thing(VIEW, n) in kept
        for v in (n, *views_read(catalog.views[n].text, catalog.views))
    }
    read = {source for q in queries.values() for source in (*q.sources, *q.tables)}
    read |= {source for n in views for source in catalog.views[n].reads}
    streams = {n: s for n, s in catalog.streams.items() if n in read or thing(STREAM, n) in kept}
    callers: tuple[Query | Stream, ...] = (*queries.values(), *streams.values())
    called = {name.lower() for caller in callers for name, _ in caller.functions}
    called = called.union(*(functions_named(catalog.views[n].text) for n in views))
    return replace(
        catalog,
        queries=queries,
        functions={
            n: f for n, f in catalog.functions.items() if n.lower() in called or thing(FUNCTION, n) in kept
        },
        failed={n: f for n, f in catalog.failed.items() if thing(QUERY, n) in kept},
        streams=streams,
        relations={n: r for n, r in catalog.relations.items() if n in read or thing(TABLE, n) in kept},
        views={n: v for n, v in catalog.views.items() if n in views},
        config=configured((k, v) for k, v in catalog.config.given if thing(SETTING, k) in kept),
    )


def says_all(own: Iterable[str]) -> bool:
    """Whether a session says what is to run, as a script does: it declares a stream and a query before it runs.

    Then what an earlier one said so, and it does not, is no more. What was declared while batches ran stays in any case.

    >>> says_all(["stream s", "query q"]), says_all(["query q", "setting trigger"])
    (True, False)
    """
    return {t.partition(" ")[0] for t in own} >= {STREAM, QUERY}


def check_fitting(catalog: Catalog, before: Recorded, own: Collection[str]) -> None:
    """Refuse streams and tables that this session declares otherwise than before, where a remembered query could not go on over them."""
    old = {**before.streams, **before.relations}
    now = {**catalog.streams, **catalog.relations}
    for name, query in catalog.queries.items():
        if thing(QUERY, name) not in own and any(
            old.get(s) != now[s] for s in (*query.sources, *query.tables)
        ):
            _check_same(catalog, query)


def _check_same(catalog: Catalog, query: Query) -> None:
    hint = (
        f"declare what it reads as before, or drop it: session.drop({query.name!r}), DROP QUERY {query.name}"
    )
    try:
        found = query_of(catalog, parse_select(query.text), query.name)
    except ThalwegError as e:
        raise UsageError(f"query {query.name} of an earlier run can't go on: {e.message}", hint) from e
    if not asks_same(found, query):
        raise UsageError(
            f"query {query.name} of an earlier run would ask something else by what is declared now", hint
        )


def as_it_was(catalog: Catalog, before: Query | None, select: ParsedSelect, query: Query) -> Query:
    """A query that a script says again: that from before its streams got more columns, for which `*` stands by now, too."""
    if before is None or asks_same(before, query) or select.sql != before.text:
        return query
    fewer = {
        n: replace(s, columns=tuple(c for c in s.columns if not c.optional))
        for n, s in catalog.streams.items()
    }
    try:
        found = query_of(replace(catalog, streams=fewer), select, before.name)
    except ThalwegError:
        return query
    if not asks_same(found, before):
        return query
    return replace(before, into=query.into, history=query.history, ttl=query.ttl)
