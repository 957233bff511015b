"""What is refused before it runs: files that are not as declared, directories used twice, queries that nobody can have meant."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from thalweg.api.changes import Changes, asks_same, changes, check_redefined
from thalweg.api.places import rows_beside
from thalweg.api.results import result_files
from thalweg.connectors.files import check_apart, check_first_file
from thalweg.engine.kernel.relations import check_relation
from thalweg.errors import UsageError
from thalweg.model.catalog import Catalog
from thalweg.model.query import Query
from thalweg.plan.narrowed import covers


def check_catalog(
    catalog: Catalog, ran: Mapping[str, Query], root: Path, outputs: Mapping[str, str]
) -> Changes:
    """What changed since what `ran`; refused if nobody can have meant it, or if streams are read where the session or its queries write."""
    found = changes(ran, catalog.queries)
    check_redefined(found, catalog.redefined)
    check_no_feedback(catalog, root, outputs)
    return found


def check_no_feedback(catalog: Catalog, root: Path, outputs: Mapping[str, str]) -> None:
    """Refuse streams that would read what the session or its queries write."""
    written = {str(root): "the session's directory"} | {
        path: f"what query {name} writes" for name, path in outputs.items()
    }
    for stream in catalog.streams.values():
        written |= {
            path: f"where {kind} rows of stream {stream.name} go"
            for kind, path in rows_beside(stream).items()
        }
    for stream in catalog.streams.values():
        check_apart(stream, written)


def check_sessions(before: Query, query: Query) -> None:
    """Refuse to replace a query with session windows, or with windows that are told while they are open, unless the new one goes on with what is
    computed for it: there is no event time at which all windows of the one are over and none of the other has begun."""
    told = bool(before.told or query.told)
    if not (told or any(w.window.session for w in before.windows)):
        return
    if not asks_same(before, query) and not covers(before, query):
        what = "windows that are told early" if told else "sessions that are not over"
        way = "" if told else "change only columns that are shown and HAVING, or "
        raise UsageError(
            f"query {query.name} has {what}, and the new one would not go on with them",
            f"{way}drop it and create the new one",
        )


def check_relations(catalog: Catalog, query: Query) -> None:
    """Refuse tables of a query that can't be read as declared."""
    for name in query.tables:
        check_relation(catalog.relations[name])


def check_files(catalog: Catalog) -> tuple[str, ...]:
    """Refuse declared columns that the first files have not; returns the paths that are not there yet, without refusing them."""
    paths = [(s.path, partial(check_first_file, s)) for s in catalog.streams.values() if s.path]
    paths += [(r.path, partial(check_relation, r)) for r in catalog.relations.values()]
    for path, check in paths:
        if Path(path).exists():
            check()
    return tuple(path for path, _ in paths if not Path(path).exists())


def check_history(catalog: Catalog, query: Query, ran: Mapping[str, Query], way: str) -> None:
    """Refuse a history of rows that are not kept, and of a query that takes the place of another; `ran` are those of the last batch."""
    if query.nested:
        raise UsageError(
            f"query {query.name}: a query over the results of others has no history",
            "leave history out, or write it over the streams alone",
        )
    for name in query.sources:
        if catalog.streams[name].is_stamped:
            raise UsageError(
                f"query {query.name}: stream {name} has a column of the time at which rows are read, which is not kept, so there is no history",
                "leave history out",
            )
        if catalog.streams[name].path is None:
            hint = f"leave history out, or let stream {name} read files"
            raise UsageError(
                f"query {query.name}: stream {name} is read from a DataFrame, whose rows are not kept, so there is no history",
                hint,
            )
    if way != "CREATE" and query.name in {**catalog.queries, **catalog.failed}:
        hint = f"drop it, then create it, or leave history out: CREATE OR REPLACE QUERY {query.name} AS ..."
        raise UsageError(
            f"query {query.name} exists: one that takes its place begins where it ends, and has no history",
            hint,
        )
    if query.name in ran and query.name not in catalog.queries:
        hint = "use another name, or create it after the next batch"
        raise UsageError(
            f"query {query.name} was dropped, and the next batch has still to leave it out", hint
        )


def check_ttl(query: Query) -> None:
    """Refuse to forget groups of what does not remember them for ever."""
    if query.ttl is None or (
        query.accumulates
        and not (query.unnested or query.told or query.of_changes)
        and len(query.streams) == 1 == sum(i.is_stream for i in query.inputs)
    ):
        return
    raise UsageError(
        f"query {query.name}: ttl is for groups of one stream that have no window and are told where they change",
        "leave it out: windows say how long their groups are remembered",
    )


def check_new_output(query: Query, directory: str) -> None:
    """Refuse to mix the results of a query with those of an earlier one."""
    if result_files(directory):
        hint = f"remove them, or give query {query.name} another name or another INTO directory"
        raise UsageError(f"{directory}: holds results of an earlier query", hint)
