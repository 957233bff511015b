"""SHOW QUERIES | STREAMS | VIEWS | FUNCTIONS | STATISTICS | CHANGES as listings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from thalweg.api.outcomes import Listing
from thalweg.errors import ThalwegError
from thalweg.model.catalog import Catalog
from thalweg.model.query import Query, window_text
from thalweg.model.stream import Stream
from thalweg.model.windows import duration_text
from thalweg.state.manifest import Counts, Manifest
from thalweg.state.switches import Switches


class Shown(Protocol):
    """What is listed of a query."""

    @property
    def query(self) -> Query:
        """What it asks."""

    @property
    def directory(self) -> str:
        """Where its results are."""

    @property
    def status(self) -> str:
        """How it is."""

    @property
    def error(self) -> ThalwegError | None:
        """What went wrong."""


def queries(handles: Mapping[str, Shown]) -> Listing:
    """SHOW QUERIES."""
    rows = [
        (n, ", ".join(h.query.sources), _windows(h.query), len(h.query.aggregates), h.directory, _status(h))
        for n, h in handles.items()
    ]
    return Listing("QUERIES", ("query", "stream", "windows", "aggregates", "results", "status"), tuple(rows))


def texts(asked: Iterable[Shown]) -> str:
    """Queries with what they ask, for a notebook."""
    rows = tuple((h.query.name, h.status, h.query.text) for h in asked)
    return Listing("QUERIES", ("query", "status", "SQL"), rows)._repr_html_() if rows else ""


def _status(handle: Shown) -> str:
    return handle.status if (error := handle.error) is None else f"{handle.status}: {error.message}"


def _windows(query: Query) -> str:
    if windows := query.windows or query.told:
        return ", ".join(w.id for w in windows)
    return ", ".join(f"{i.alias} {window_text(i)}" for i in query.inputs if window_text(i))


def streams(catalog: Catalog) -> Listing:
    """SHOW STREAMS."""
    rows = [
        (
            s.name,
            s.declared_format,
            "-" if s.is_pushed else s.path or "-",
            s.time,
            duration_text(s.delay),
            len(s.columns),
        )
        for s in catalog.streams.values()
    ]
    return Listing("STREAMS", ("stream", "format", "path", "time", "watermark", "columns"), tuple(rows))


def views(catalog: Catalog) -> Listing:
    """SHOW VIEWS."""
    rows = [
        (v.name, ", ".join(c.name for c in v.columns), " ".join(v.text.split()))
        for v in catalog.views.values()
    ]
    return Listing("VIEWS", ("view", "columns", "select"), tuple(rows))


def functions(catalog: Catalog) -> Listing:
    """SHOW FUNCTIONS: those in Python."""
    users = {n: _users(catalog, n) for n in catalog.functions}
    rows = [(n, f.signature, f.identity[:12], ", ".join(users[n])) for n, f in catalog.functions.items()]
    return Listing("FUNCTIONS", ("function", "types", "identity", "called by"), tuple(rows))


def _users(catalog: Catalog, name: str) -> list[str]:
    """The queries and streams that call a function."""
    callers: tuple[Query | Stream, ...] = (*catalog.queries.values(), *catalog.streams.values())
    return [c.name for c in callers if any(n == name for n, _ in c.functions)]


def statistics(catalog: Catalog, manifest: Manifest) -> Listing:
    """SHOW STATISTICS."""
    rows = [("stream", n, *_counts(manifest.streams, n)) for n in catalog.streams]
    rows += [("query", n, *_counts(manifest.queries, n)) for n in catalog.queries]
    return Listing(
        "STATISTICS",
        ("kind", "name", "rows", "late rows", "without time", "bad rows", "bad files"),
        tuple(rows),
    )


def changes(switches: Switches) -> Listing:
    """SHOW CHANGES."""
    header = ("batch", "at", "what", "window updates a batch", "join ms/s", "batch ms")
    rows = [
        (s.batch, s.at, s.what, _pair(*s.updates), _pair(*s.join_ms), _pair(s.before_ms, s.after_ms))
        for s in switches
    ]
    return Listing("CHANGES", header, tuple(rows))


def _pair(before: float | None, after: float | None) -> str:
    """What a change brought.

    >>> _pair(1234.56, 99.3), _pair(None, 0.25), _pair(0.0, 0.0)
    ('1,230 -> 99.3', '? -> 0.25', '-')
    """
    return f"{_figure(before)} -> {_figure(after)}" if before or after else "-"


def _figure(value: float | None) -> str:
    return "?" if value is None else f"{float(f'{value:.3g}'):,.10g}"


def _counts(counts: dict[str, Counts], name: str) -> tuple[int, ...]:
    found = counts.get(name, Counts())
    return found.rows, found.late, found.untimed, found.bad_rows, found.bad_files
