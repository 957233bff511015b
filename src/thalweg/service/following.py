"""Results of queries: pages of them, and new ones as they come."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Header, Query
from fastapi.concurrency import run_in_threadpool
from sse_starlette import EventSourceResponse, ServerSentEvent

from thalweg.api.handle import QueryHandle
from thalweg.service.encoding import columns_data, plain_rows
from thalweg.service.overview import status_answer
from thalweg.service.pages import Cursor, NotInMemory, Page, cursor_of, page_after
from thalweg.service.routes import Served, handle_of
from thalweg.service.service import Service

router = APIRouter(prefix="/v1")
PING, SLOW = 15, 30.0
"""Seconds between signs of life, and those that a client may leave what was sent untaken."""
AT_ONCE = 1_000
"""Rows of one event at most."""
STATUS_EVERY = 1.0


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
    handle = handle_of(service, name)
    given = last_event_id or after
    cursor = cursor_of(given) if given is not None else Cursor(handle.readable(service.record.shown) + 1)
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
    yield _event("columns", json.dumps(columns_data(handle.columns), ensure_ascii=False))
    while not service.is_closing:
        shown = service.record.shown
        readable = handle.readable(shown)
        if cursor.batch <= readable:
            page = await _page(handle, cursor, readable)
            cursor = page.next
            if page.rows.num_rows:
                rows = json.dumps({"rows": plain_rows(page.rows)}, ensure_ascii=False)
                yield _event("rows", rows, str(cursor))
            if page.more:
                continue
        ended = _ended(handle)
        if ended is not None and ended <= cursor.batch:
            yield _event("end", json.dumps({"reason": f"query {handle.name} was dropped or replaced"}))
            return
        await _news(service, shown)


async def _page(handle: QueryHandle, cursor: Cursor, shown: int) -> Page:
    """The next rows; at once where another has read them already."""
    with suppress(NotInMemory):
        return page_after(handle, cursor, AT_ONCE, shown, reads=False)
    return await run_in_threadpool(page_after, handle, cursor, AT_ONCE, shown)


def _ended(handle: QueryHandle) -> int | None:
    """The first batch that a query is no more part of; of one that never was, any."""
    return None if handle.is_live else (handle.ended if handle.epoch is not None else 0)


async def _news(service: Service, shown: int) -> None:
    """Wait for a batch later than one, or for a second."""
    await service.news.wait(STATUS_EVERY, lambda: service.record.shown != shown or service.is_closing)


async def _events(service: Service, after: int) -> AsyncIterator[ServerSentEvent]:
    while not service.is_closing:
        for batch, text in service.record.told_after(after):
            after = batch
            yield _event("batch", text.decode(), str(batch))
        yield _event("status", status_answer(service).decode())
        await asyncio.sleep(STATUS_EVERY)


def _event(name: str, text: str, id: str | None = None) -> ServerSentEvent:
    """An event whose data is JSON already."""
    return ServerSentEvent(text, event=name, id=id)
