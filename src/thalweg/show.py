"""SHOW QUERIES | STREAMS | STATISTICS as tables of text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from thalweg.catalog import Catalog
from thalweg.logical.join import JoinQuery, window_text
from thalweg.logical.query import Query
from thalweg.logical.windows import duration_text
from thalweg.state.manifest import Counts, Manifest


@dataclass(frozen=True)
class Table:
    """Rows under a header; the command line draws it, `str` is plain text."""

    header: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def __str__(self) -> str:
        lines = [self.header, *(tuple(map(str, r)) for r in self.rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.header))]
        return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines)


def queries(catalog: Catalog, output_of: Callable[[Query | JoinQuery], str]) -> Table:
    """SHOW QUERIES."""
    rows = [(q.name, ", ".join(q.streams), _windows(q), len(q.aggregates), output_of(q)) for q in catalog.queries.values()]
    return Table(("query", "stream", "windows", "aggregates", "results"), tuple(rows))


def _windows(query: Query | JoinQuery) -> str:
    if isinstance(query, Query):
        return ", ".join(w.id for w in query.windows)
    return ", ".join(f"{i.alias} {window_text(i)}" for i in query.inputs if i.is_stream)


def streams(catalog: Catalog) -> Table:
    """SHOW STREAMS."""
    rows = [(s.name, s.format, s.path or "-", s.time, duration_text(s.delay), len(s.columns)) for s in catalog.streams.values()]
    return Table(("stream", "format", "path", "time", "watermark", "columns"), tuple(rows))


def statistics(catalog: Catalog, manifest: Manifest) -> Table:
    """SHOW STATISTICS."""
    rows = [("stream", n, *_counts(manifest.streams, n)) for n in catalog.streams]
    rows += [("query", n, *_counts(manifest.queries, n)) for n in catalog.queries]
    return Table(("kind", "name", "rows", "late rows", "without time", "bad files"), tuple(rows))


def _counts(counts: dict[str, Counts], name: str) -> tuple[int, ...]:
    found = counts.get(name, Counts())
    return found.rows, found.late, found.untimed, found.bad_files
