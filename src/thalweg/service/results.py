"""Results of queries, a page at a time: those of rows in memory are answered at once."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from fastapi.concurrency import run_in_threadpool

from thalweg.api.handle import QueryHandle
from thalweg.service.encoding import FILES, columns_data, plain_rows
from thalweg.service.pages import Cursor, NotInMemory, Page, cursor_of, last_page, page_after
from thalweg.service.refusals import Refused
from thalweg.service.routes import Served, handle_of
from thalweg.service.shelf import Recent

router = APIRouter(prefix="/v1")
AT_ONCE = 1_000
"""Rows of an answer at most that is made in the loop of the server: others wait meanwhile."""
Format = Literal["json", "csv", "arrow"]


@router.get("/queries/{name}/results", summary="Results of a query", response_class=Response)
async def read_results(
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
    if (asked := max(limit, last or 0)) > (most := service.limits.rows):
        raise Refused(
            400,
            f"{asked:,} rows are too many for one answer",
            f"ask for at most {most:,}, and go on with after=",
        )
    handle = handle_of(service, name)
    wanted = Wanted(handle, cursor_of(after), last, limit, handle.readable(service.record.shown), format)
    if asked <= AT_ONCE:
        with suppress(NotInMemory):
            return _results(wanted, reads=False)
    return await run_in_threadpool(_results, wanted, reads=True)


@dataclass(frozen=True)
class Wanted:
    """A page that somebody wants."""

    handle: QueryHandle
    cursor: Cursor
    last: int | None
    limit: int
    shown: int
    format: str

    @property
    def key(self) -> Hashable:
        """Whoever wants the same gets the same."""
        handle = self.handle
        creation = handle.name, handle.number, handle.directory, handle.ended
        return creation, self.cursor, self.last, self.limit, self.shown, self.format


@dataclass(frozen=True)
class Answer:
    """What whoever wants a page gets."""

    kind: str
    content: bytes
    headers: Mapping[str, str]


def _size(answer: Answer) -> int:
    return len(answer.content) + 1_000


ANSWERS: Recent[Answer] = Recent(16_000_000, _size)
"""Answers that were given lately: pages for people ask for the same again and again."""


def _results(wanted: Wanted, reads: bool) -> Response:
    """The page; unless it `reads`, of rows that are in memory."""
    found = ANSWERS.get(wanted.key)
    if found is None:
        found = _answer(wanted, _page_of(wanted, reads))
        if wanted.handle.epoch is not None:
            ANSWERS.put(wanted.key, found)
    return Response(found.content, media_type=found.kind, headers=found.headers)


def _page_of(w: Wanted, reads: bool) -> Page:
    if w.last is not None:
        return last_page(w.handle, w.last, w.shown, reads)
    return page_after(w.handle, w.cursor, w.limit, w.shown, reads)


def _answer(wanted: Wanted, page: Page) -> Answer:
    headers = {"thalweg-next": str(page.next), "thalweg-more": str(page.more).lower()}
    if wanted.format != "json":
        return Answer(*FILES[wanted.format](page.rows), headers)
    data = {
        "columns": columns_data(wanted.handle.columns),
        "rows": plain_rows(page.rows),
        "next": str(page.next),
        "more": page.more,
    }
    return Answer("application/json", json.dumps(data, ensure_ascii=False).encode(), headers)


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
