"""Results of queries: pages of them, and new ones as they come."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Response
from fastapi.concurrency import run_in_threadpool
from sse_starlette import EventSourceResponse, ServerSentEvent

from thalweg.api.handle import QueryHandle
from thalweg.service.encoding import FILES, columns_data, plain_rows
from thalweg.service.overview import status_of
from thalweg.service.pages import Cursor, Page, cursor_of, last_page, page_after
from thalweg.service.refusals import Refused
from thalweg.service.routes import Served, handle_of
from thalweg.service.service import Service

router = APIRouter(prefix="/v1")
LOOK = 0.1
"""Seconds between two looks for something new."""
PING, SLOW = 15, 30.0
"""Seconds between signs of life, and those that a client may leave what was sent untaken."""
AT_ONCE = 1_000
"""Rows of one event at most."""
STATUS_EVERY = 1.0
Format = Literal["json", "csv", "arrow"]


@router.get("/queries/{name}/results", summary="Results of a query", response_class=Response)
def read_results(
    service: Served,
    name: str,
    after: Annotated[
        str, Query(description="A batch, or the `next` of an earlier answer: later rows are given.")
    ] = "-1",
    last: Annotated[int | None, Query(ge=1, description="Instead: so many of the last rows.")] = None,
    limit: Annotated[int, Query(ge=1, description="Rows to give at most.")] = 1_000,
    format: Annotated[Format, Query()] = "json",
) -> Response:
    """Rows in the order of batches. The place after them is `next` in JSON and the header Thalweg-Next, whether there are more `more` and
    Thalweg-More."""
    handle, most = handle_of(service, name), service.limits.rows
    if (asked := max(limit, last or 0)) > most:
        raise Refused(
            400,
            f"{asked:,} rows are too many for one answer",
            f"ask for at most {most:,}, and go on with after=",
        )
    cursor, shown = cursor_of(after), service.record.shown
    page = last_page(handle, last, shown) if last is not None else page_after(handle, cursor, limit, shown)
    headers = {"thalweg-next": str(page.next), "thalweg-more": str(page.more).lower()}
    if format != "json":
        kind, content = FILES[format](page.rows)
        return Response(content, media_type=kind, headers=headers)
    data = {
        "columns": columns_data(handle.columns),
        "rows": plain_rows(page.rows),
        "next": str(page.next),
        "more": page.more,
    }
    return Response(json.dumps(data, ensure_ascii=False), media_type="application/json", headers=headers)


@router.get(
    "/queries/{name}/state", summary="Present rows of a query that tells changes", response_class=Response
)
def read_state(
    service: Served,
    name: str,
    where: Annotated[
        str, Query(description='Values that rows must have, as a JSON object: `{"auction": 7}`.')
    ] = "{}",
    format: Annotated[Format, Query()] = "json",
) -> Response:
    """What its changes leave: the newest row of each group that is not gone."""
    handle, most = handle_of(service, name), service.limits.rows
    rows = handle.state(_values(where))
    if rows.num_rows > most:
        raise Refused(400, f"{rows.num_rows:,} rows are too many for one answer", "ask for some, with where=")
    if format != "json":
        kind, content = FILES[format](rows)
        return Response(content, media_type=kind)
    columns = {n: t for n, t in handle.columns.items() if n in rows.column_names}
    data = {"columns": columns_data(columns), "rows": plain_rows(rows)}
    return Response(json.dumps(data, ensure_ascii=False), media_type="application/json")


def _values(text: str) -> dict[str, Any]:
    """Values by column."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or any(isinstance(v, dict | list) for v in found.values()):
        raise Refused(400, "where= is no JSON object of values", 'write {"column": value}')
    return found


@router.get("/queries/{name}/follow", summary="New results of a query", response_class=EventSourceResponse)
async def follow_results(
    service: Served,
    name: str,
    after: Annotated[
        str | None,
        Query(description="A batch, or the id of an event: later rows are given. Default: those to come."),
    ] = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> EventSourceResponse:
    """Server-sent events: `columns` once, then `rows` as batches bring them, each with the place after it as its id; `end` when the query
    was dropped or replaced. A client that sends the last id as Last-Event-ID goes on where it was: no row is lost or comes twice."""
    handle = await run_in_threadpool(handle_of, service, name)
    given = last_event_id or after
    cursor = cursor_of(given) if given is not None else Cursor(service.record.shown + 1)
    return _stream(service, _rows(service, handle, cursor))


@router.get("/events", summary="What batches do", response_class=EventSourceResponse)
async def follow_events(
    service: Served, last_event_id: Annotated[str | None, Header()] = None
) -> EventSourceResponse:
    """Server-sent events: `batch` for every batch, with its number as id, and `status` now and then."""
    after = cursor_of(last_event_id).batch - 1 if last_event_id else service.record.shown
    return _stream(service, _events(service, after))


def _stream(service: Service, events: AsyncIterator[ServerSentEvent]) -> EventSourceResponse:
    """An answer that goes on until the client or the service has enough."""
    service.check_followers()

    async def counted() -> AsyncIterator[ServerSentEvent]:
        with service.following():
            async for event in events:
                yield event

    return EventSourceResponse(counted(), ping=PING, send_timeout=SLOW, headers={"x-accel-buffering": "no"})


async def _rows(service: Service, handle: QueryHandle, cursor: Cursor) -> AsyncIterator[ServerSentEvent]:
    yield _event("columns", columns_data(handle.columns))
    while not service.is_closing:
        shown = service.record.shown
        if cursor.batch <= shown:
            page: Page = await run_in_threadpool(page_after, handle, cursor, AT_ONCE, shown)
            cursor = page.next
            if page.rows.num_rows:
                yield _event("rows", {"rows": await run_in_threadpool(plain_rows, page.rows)}, str(cursor))
            if page.more:
                continue
        ended = await run_in_threadpool(_ended, handle)
        if ended is not None and ended <= cursor.batch:
            yield _event("end", {"reason": f"query {handle.name} was dropped or replaced"})
            return
        await _news(service, shown)


def _ended(handle: QueryHandle) -> int | None:
    """The first batch that a query is no more part of; of one that never was, any."""
    return None if handle.is_live else (handle.ended if handle.epoch is not None else 0)


async def _news(service: Service, shown: int) -> None:
    """Wait for a batch later than one, or for a second."""
    for _ in range(round(STATUS_EVERY / LOOK)):
        if service.record.shown != shown or service.is_closing:
            return
        await asyncio.sleep(LOOK)


async def _events(service: Service, after: int) -> AsyncIterator[ServerSentEvent]:
    while not service.is_closing:
        for batch in service.record.batches(after):
            after = batch.batch
            yield _event(
                "batch",
                {**vars(batch), "results": dict(batch.results), "streams": dict(batch.streams)},
                str(batch.batch),
            )
        yield _event("status", asdict(await run_in_threadpool(status_of, service)))
        await asyncio.sleep(STATUS_EVERY)


def _event(name: str, data: Any, id: str | None = None) -> ServerSentEvent:
    return ServerSentEvent(json.dumps(data, ensure_ascii=False), event=name, id=id)
