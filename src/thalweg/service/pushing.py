"""Rows of clients, for streams whose rows are pushed."""

from __future__ import annotations

from typing import Annotated, Any

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Header, Query, Request

from thalweg.api.pushing import Body
from thalweg.service.refusals import Refused
from thalweg.service.routes import Served
from thalweg.service.shapes import PushedView

router = APIRouter(prefix="/v1")
JSON, CSV, ARROW = "application/x-ndjson", "text/csv", "application/vnd.apache.arrow.stream"
FORMS = {
    **dict.fromkeys((JSON, "application/jsonl", "application/x-jsonlines", "application/json"), "json"),
    CSV: "csv",
    ARROW: "arrow",
}
WRITERS = 16
"""Requests that are written at a time; reading has threads of its own."""
TAKEN: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {kind: {"schema": {"type": "string", "format": "binary"}} for kind in (JSON, CSV, ARROW)},
    }
}


@router.post("/streams/{name}/rows", summary="Push rows to a stream", openapi_extra=TAKEN)
async def push_rows(
    service: Served,
    request: Request,
    name: str,
    id: Annotated[str | None, Query(description="The same as the header Idempotency-Key.")] = None,
    idempotency_key: Annotated[str | None, Header()] = None,
) -> PushedView:
    """JSON lines, CSV with a header, or an Arrow IPC stream, by Content-Type, for a stream WITH (format = 'push'). They are on disk when
    this answers. All are taken or none: rows that are not as declared are told with their place. Under an Idempotency-Key rows count once,
    however often they are sent."""
    if id is not None and idempotency_key is not None and id != idempotency_key:
        raise Refused(400, "two ids are given, which differ", "give one")
    if name not in service.session.catalog.streams:
        raise Refused(404, f"there is no stream {name[:100]}", "GET /v1/streams lists them")
    body = Body(_form(request), await request.body())
    done = await to_thread.run_sync(
        service.push, name, body, id or idempotency_key, limiter=_writers(request)
    )
    return PushedView(name, done.rows, done.is_new)


def _writers(request: Request) -> CapacityLimiter:
    """One for all requests; made within the loop that answers them."""
    state = request.app.state
    if not hasattr(state, "writers"):
        state.writers = CapacityLimiter(WRITERS)
    found: CapacityLimiter = state.writers
    return found


def _form(request: Request) -> str:
    said = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Refused(415, "rows are taken as they are, not compressed", "send them without Content-Encoding")
    if said not in FORMS:
        what = f"{said[:100]} is no format of rows" if said else "no Content-Type is given"
        raise Refused(415, what, f"send {JSON}, {CSV} (with a header) or {ARROW} as Content-Type")
    return FORMS[said]
