"""The session as a whole, for the first page and for programs."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from thalweg.service.encoding import json_of
from thalweg.service.problems import problems_of
from thalweg.service.service import Service
from thalweg.service.shapes import StatusView
from thalweg.service.sight import answer
from thalweg.service.views import Look
from thalweg.version import __version__


def status_answer(service: Service) -> bytes:
    """The status as JSON; made once for all who ask within a second, unless something changes."""
    at = service.sight()
    return answer(at, "status", lambda: json_of(StatusView, status_of(service, at.look)))


def status_of(service: Service, at: Look) -> StatusView:
    """Rates, lag, state, and what is wrong."""
    recent, span = service.record.recent()
    last = at.batches[-1] if at.batches else None
    frontiers = [f for n, f in at.manifest.frontiers.items() if f is not None and n in at.catalog.streams]
    counts = [c for n, c in at.manifest.streams.items() if n in at.catalog.streams]
    return StatusView(
        status=at.status,
        directory=str(service.session.directory.root),
        version=__version__,
        started=service.started,
        batch=at.manifest.batch if at.manifest.batch >= 0 else None,
        batch_at=iso(last.at) if last else None,
        batch_seconds=last.seconds if last else None,
        events_per_second=round(sum(b.rows for b in recent) / span, 3),
        rows=sum(c.rows for c in counts),
        late=sum(c.late for c in counts),
        bad_rows=sum(c.bad_rows for c in counts),
        state_rows=sum(f.rows for f in at.manifest.files),
        state_bytes=sum(f.bytes for f in at.manifest.files),
        lag=round(time.time() - min(frontiers) / 1e6, 3) if frontiers else None,
        queries=len(at.catalog.queries),
        failed=len(at.catalog.failed),
        streams=len(at.catalog.streams),
        tables=len(at.catalog.relations),
        problems=problems_of(at, service.problem),
        settings=dict(at.catalog.config.given),
    )


def iso(seconds: float) -> str:
    """A time of day in UTC.

    >>> iso(1.5)
    '1970-01-01T00:00:01.500000Z'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
