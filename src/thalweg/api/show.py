"""SHOW QUERIES | STREAMS | STATISTICS as listings."""

from __future__ import annotations

from collections.abc import Callable

from thalweg.api.outcomes import Listing
from thalweg.model.catalog import Catalog
from thalweg.model.query import Query, window_text
from thalweg.model.windows import duration_text
from thalweg.state.manifest import Counts, Manifest


def queries(catalog: Catalog, output_of: Callable[[Query], str]) -> Listing:
    """SHOW QUERIES."""
    rows = [(q.name, ", ".join(q.streams), _windows(q), len(q.aggregates), output_of(q)) for q in catalog.queries.values()]
    return Listing("QUERIES", ("query", "stream", "windows", "aggregates", "results"), tuple(rows))


def _windows(query: Query) -> str:
    if query.windows:
        return ", ".join(w.id for w in query.windows)
    return ", ".join(f"{i.alias} {window_text(i)}" for i in query.inputs if i.is_stream)


def streams(catalog: Catalog) -> Listing:
    """SHOW STREAMS."""
    rows = [(s.name, s.format, s.path or "-", s.time, duration_text(s.delay), len(s.columns)) for s in catalog.streams.values()]
    return Listing("STREAMS", ("stream", "format", "path", "time", "watermark", "columns"), tuple(rows))


def statistics(catalog: Catalog, manifest: Manifest) -> Listing:
    """SHOW STATISTICS."""
    rows = [("stream", n, *_counts(manifest.streams, n)) for n in catalog.streams]
    rows += [("query", n, *_counts(manifest.queries, n)) for n in catalog.queries]
    return Listing("STATISTICS", ("kind", "name", "rows", "late rows", "without time", "bad files"), tuple(rows))


def _counts(counts: dict[str, Counts], name: str) -> tuple[int, ...]:
    found = counts.get(name, Counts())
    return found.rows, found.late, found.untimed, found.bad_files
