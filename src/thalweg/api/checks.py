"""What is refused before it runs: files that are not as declared, directories used twice, queries that nobody can have meant."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from thalweg.api.changes import Changes, changes, check_redefined
from thalweg.api.results import result_files
from thalweg.connectors.files import check_apart, check_first_file
from thalweg.engine.kernel.relations import check_relation
from thalweg.engine.runner import Runner
from thalweg.errors import UsageError
from thalweg.model.catalog import Catalog
from thalweg.model.query import Query


def check_catalog(catalog: Catalog, ran: Mapping[str, Query], root: Path, outputs: Mapping[str, str]) -> Changes:
    """What changed since what `ran`; refused if nobody can have meant it, or if streams are read where the session or its queries write."""
    found = changes(ran, catalog.queries)
    check_redefined(found, catalog.redefined)
    written = {str(root): "the session's directory"} | {path: f"what query {name} writes" for name, path in outputs.items()}
    for stream in catalog.streams.values():
        check_apart(stream, written)
    return found


def check_relations(catalog: Catalog, query: Query) -> None:
    """Refuse tables of a query that can't be read as declared."""
    for name in query.relations:
        check_relation(catalog.relations[name])


def check_files(catalog: Catalog) -> tuple[str, ...]:
    """Refuse declared columns that the first files have not; returns the paths that are not there yet, without refusing them."""
    paths = [(s.path, partial(check_first_file, s)) for s in catalog.streams.values() if s.path]
    paths += [(r.path, partial(check_relation, r)) for r in catalog.relations.values()]
    for path, check in paths:
        if Path(path).exists():
            check()
    return tuple(path for path, _ in paths if not Path(path).exists())


def check_new_output(query: Query, directory: str, runner: Runner) -> None:
    """Refuse to mix the results of a query with those of an earlier one."""
    if result_files(directory) or runner.writes_to(directory):
        hint = f"remove them, or give query {query.name} another name or another INTO directory"
        raise UsageError(f"{directory}: holds results of an earlier query", hint)
