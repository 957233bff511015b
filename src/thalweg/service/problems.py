"""What is wrong now, in words; and why nothing comes out."""

from __future__ import annotations

from collections.abc import Iterator

from thalweg.errors import ThalwegError
from thalweg.model.query import Query
from thalweg.service.shapes import Problem
from thalweg.service.views import Look, time_text
from thalweg.state.manifest import Counts

LATE_SHARE = 0.01
"""The share of late rows from which on it is worth saying."""


def problems_of(at: Look, refused: Exception | None) -> tuple[Problem, ...]:
    """All that a person should know, the worst first; `refused` is why the session can't start."""
    return (*_session(at, refused), *_failed(at), *_streams(at), *_silent(at))


def _session(at: Look, refused: Exception | None) -> Iterator[Problem]:
    error = refused or at.error
    if isinstance(error, ThalwegError):
        yield Problem("error", f"no batch runs: {error.message}", error.hint)
    elif error is not None:
        yield Problem("error", "no batch runs: internal error", "the log of the service says more")
    elif not at.catalog.streams:
        yield Problem("note", "there is no stream yet", "CREATE STREAM declares one")
    elif not at.catalog.queries:
        yield Problem(
            "note", "no query runs, so nothing is read", "CREATE QUERY name AS SELECT ... makes one"
        )


def _failed(at: Look) -> Iterator[Problem]:
    for name, failure in at.catalog.failed.items():
        hint = f"{failure.hint}; then " if failure.hint else ""
        text = f"query {name} was stopped before batch {failure.batch:,}: {failure.message}"
        yield Problem(
            "error", text, f"{hint}start it again with CREATE OR REPLACE QUERY {name} AS ...", query=name
        )


def _streams(at: Look) -> Iterator[Problem]:
    for name, counts in at.manifest.streams.items():
        if name not in at.catalog.streams:
            continue
        if counts.bad_rows or counts.bad_files:
            what = (
                f"{counts.bad_rows:,} rows and {counts.bad_files:,} files"
                if counts.bad_files
                else f"{counts.bad_rows:,} rows"
            )
            yield Problem(
                "warning",
                f"{what} of stream {name} can't be read as declared and were set aside",
                None,
                stream=name,
            )
        if counts.late > LATE_SHARE * max(counts.rows, 1):
            text = f"{counts.late / max(counts.rows, 1):.1%} of the rows of stream {name} came late and count for nothing"
            yield Problem("warning", text, "declare it with a longer watermark", stream=name)


def _silent(at: Look) -> Iterator[Problem]:
    """Why queries that run have no results yet."""
    for name, query in at.catalog.queries.items():
        if at.status == "running" and name in at.lives and not at.manifest.queries.get(name, Counts()).rows:
            yield Problem("note", f"query {name} has no results yet: {_why(at, query)}", None, query=name)


def _why(at: Look, query: Query) -> str:
    missing = [s for s in query.sources if at.manifest.frontiers.get(s) is None]
    if missing:
        return f"no rows of {', '.join(missing)} have come"
    known = min((f for s in query.sources if (f := at.manifest.frontiers.get(s)) is not None), default=None)
    begins = max((t for t in at.lives[query.name].begins.values() if t is not None), default=None)
    counted = f"it counts rows from {time_text(begins)} on, and " if begins is not None else ""
    return f"{counted}all rows up to {time_text(known)} are known; a window shows once all of its rows are"
