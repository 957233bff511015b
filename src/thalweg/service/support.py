"""All that somebody who helps needs to know of a session, in one document without rows and without tokens."""

from __future__ import annotations

import platform
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from thalweg.api.outcomes import plain
from thalweg.api.status import read_status
from thalweg.service.overview import status_of
from thalweg.service.service import Service
from thalweg.service.views import queries_of, streams_of, tables_of, views_of
from thalweg.state.runs import now_text
from thalweg.version import __version__

PACKAGES = ("pyspark", "duckdb", "pyarrow", "sqlglot", "fastapi", "uvicorn", "sse-starlette")
BATCHES = 100
"""The last batches that are told."""


def bundle_of(service: Service) -> dict[str, Any]:
    """The document. Values that stood in rows which were set aside are left out; constants in the SQL of queries are not."""
    at = service.sight().look
    kept = asdict(read_status(service.session.directory.root))
    status = asdict(status_of(service, at))
    found = {
        "made": now_text(),
        "versions": _versions(),
        "machine": {"system": platform.platform(), "python": platform.python_version()},
        "status": status,
        "directory": {**kept, "streams": [_without_values(s) for s in kept["streams"]]},
        "streams": [{**asdict(s), "set_aside": len(s.set_aside)} for s in streams_of(at)],
        "tables": [asdict(t) for t in tables_of(at)],
        "views": [asdict(v) for v in views_of(at)],
        "queries": [asdict(q) for q in queries_of(at, service.session.output_of)],
        "plan": service.planned.fresh().data,
        "batches": [{**vars(b), "results": dict(b.results)} for b in at.batches[-BATCHES:]],
        "errors": service.log.texts,
    }
    made: dict[str, Any] = plain(found)
    return made


def _without_values(stream: dict[str, Any]) -> dict[str, Any]:
    """A stream of which is told where rows were set aside and why, not what stood in them."""
    return {**stream, "set_aside": [{**a, "value": None} for a in stream["set_aside"]]}


def _versions() -> dict[str, str]:
    return {"thalweg": __version__, **{name: _version(name) for name in PACKAGES}}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
