"""The application: routes, probes, metrics and the console behind one gate."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI, Response
from fastapi.responses import FileResponse, JSONResponse

from thalweg.service import following, pushing, results, routes
from thalweg.service.gate import Access, App, Gate
from thalweg.service.metrics import metrics_text
from thalweg.service.refusals import Refused, answer_errors
from thalweg.service.routes import Served
from thalweg.service.service import Service
from thalweg.service.sight import answer
from thalweg.version import __version__

CONSOLE = Path(__file__).with_name("console")
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def application(service: Service, access: Access) -> App:
    """What answers every request."""
    app = FastAPI(
        title="Thalweg", version=__version__, openapi_url="/v1/openapi.json", docs_url=None, redoc_url=None
    )
    app.state.service = service
    answer_errors(app)
    app.include_router(routes.router)
    app.include_router(results.router)
    app.include_router(following.router)
    app.include_router(pushing.router)
    app.add_api_route(
        "/metrics", _metrics, response_class=Response, summary="Metrics in Prometheus' text format"
    )
    app.add_api_route("/health", _health, summary="Whether the process answers; needs no token")
    app.add_api_route("/ready", _ready, summary="Whether batches run, or wait for a query; needs no token")
    app.add_api_route("/", _page, include_in_schema=False)
    app.add_api_route("/console/{name}", _file, include_in_schema=False)
    return Gate(app, access, service.limits)


async def _metrics(service: Served) -> Response:
    at = service.sight()
    text = answer(at, "metrics", lambda: metrics_text(at.look, service.record).encode())
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


async def _health() -> JSONResponse:
    return JSONResponse({"status": "ok"})


async def _ready(service: Served) -> JSONResponse:
    """503 while a session with queries does not run."""
    at = service.sight().look
    is_ready = at.status == "running" or (not at.catalog.queries and service.problem is None)
    return JSONResponse(
        {"status": at.status if at.catalog.queries else "waiting for a query"}, 200 if is_ready else 503
    )


def _page() -> FileResponse:
    return _file("index.html")


def _file(name: str) -> FileResponse:
    """A file of the console, of those that there are."""
    there = {path.name: path for path in CONSOLE.iterdir()}
    if name not in there or there[name].suffix not in KINDS:
        raise Refused(404, "there is no such file of the console", "begin at /")
    return FileResponse(there[name], media_type=KINDS[there[name].suffix])
