"""SHOW QUERIES | STREAMS | PLAN | STATISTICS as tables of text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thalweg.logical.windows import duration_text
from thalweg.state.manifest import Counts

if TYPE_CHECKING:
    from thalweg.session import Session


@dataclass(frozen=True)
class Table:
    """Rows under a header; the command line draws it, `str` is plain text."""

    header: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def __str__(self) -> str:
        lines = [self.header, *(tuple(map(str, r)) for r in self.rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.header))]
        return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines)


def show(session: Session, what: str) -> Any:
    """What SHOW asks for."""
    return {"QUERIES": _queries, "STREAMS": _streams, "PLAN": lambda s: s.explain(), "STATISTICS": _statistics}[what](session)


def _queries(session: Session) -> Table:
    rows = [
        (q.name, q.stream, ", ".join(w.id for w in q.windows), len(q.aggregates), session.output_of(q))
        for q in session.catalog.queries.values()
    ]
    return Table(("query", "stream", "windows", "aggregates", "results"), tuple(rows))


def _streams(session: Session) -> Table:
    rows = [(s.name, s.format, s.path or "-", s.time, duration_text(s.delay), len(s.columns)) for s in session.catalog.streams.values()]
    return Table(("stream", "format", "path", "time", "watermark", "columns"), tuple(rows))


def _statistics(session: Session) -> Table:
    manifest = session.latest_manifest()
    rows = [("stream", n, c.rows, c.late, c.untimed, c.bad_files) for n, c in _all(session.catalog.streams, manifest.streams)]
    rows += [("query", n, c.rows, c.late, c.untimed, c.bad_files) for n, c in _all(session.catalog.queries, manifest.queries)]
    return Table(("kind", "name", "rows", "late rows", "without time", "bad files"), tuple(rows))


def _all(names: Any, counts: dict[str, Counts]) -> list[tuple[str, Counts]]:
    return [(n, counts.get(n, Counts())) for n in names]
