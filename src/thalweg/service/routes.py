"""What can be asked of a session: statements, queries, streams, tables, the plan, changes, status."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from thalweg.api.handle import QueryHandle
from thalweg.api.outcomes import Explained, Outcome, plain
from thalweg.api.status import read_status
from thalweg.errors import UsageError
from thalweg.service.costs import costs_of, nodes_of, shares_of
from thalweg.service.encoding import json_of, plain_rows
from thalweg.service.overview import status_answer
from thalweg.service.planned import Made
from thalweg.service.previewing import preview
from thalweg.service.refusals import Refused
from thalweg.service.service import Service
from thalweg.service.shapes import (
    BatchView,
    ChangeView,
    ColumnView,
    CostView,
    QueryDetail,
    QueryView,
    SampleView,
    StateView,
    StatusView,
    StreamView,
    TableView,
    ViewView,
)
from thalweg.service.sight import answer
from thalweg.service.support import bundle_of
from thalweg.service.views import dropped_view, queries_of, query_of, streams_of, tables_of, views_of
from thalweg.statistics.sampling import newest_rows

router = APIRouter(prefix="/v1")
SAMPLE = 20
"""Rows of a sample."""

# What is in memory is answered in the loop of the server itself (`async`): no thread is waited for, and while batches are planned in
# another one, each change of threads may take a millisecond. What reads files, plans or changes something has a thread of its own.


async def service_of(request: Request) -> Service:
    """The service of this process."""
    found: Service = request.app.state.service
    return found


Served = Annotated[Service, Depends(service_of)]
Marginal = Annotated[
    bool, Query(description="Also what it adds to the cost of the others, which is planned for this.")
]


@dataclass(frozen=True)
class Script:
    """SQL statements, separated by semicolons."""

    sql: str


@router.post("/statements", summary="Carry out statements")
def run_statements(service: Served, script: Script) -> dict[str, Any]:
    """Carry out a script. What it changes comes into force together, at the next batch; it is on disk before this answers.

    Where a statement is refused, those before it were carried out. The error has line, column and length of its place.
    """
    return {"outcomes": [plain(_said(o)) for o in service.run(script.sql)]}


def _said(outcome: Outcome) -> dict[str, Any]:
    """An outcome; where it is a plan, in words too."""
    return {**outcome.data, "text": outcome.text} if isinstance(outcome, Explained) else outcome.data


@router.post("/explain", summary="Explain a query before it is created")
def explain_text(service: Served, script: Script, marginal: Marginal = False) -> dict[str, Any]:
    """How a SELECT, or the SELECT of a CREATE QUERY, would be computed beside the queries that there are. Changes nothing."""
    return preview(service.session, script.sql, marginal)


@router.get("/queries", summary="All queries", response_model=list[QueryView])
async def list_queries(service: Served) -> Response:
    """The queries that live, and those that have failed."""
    at = service.sight()
    return told(
        answer(
            at,
            "queries",
            lambda: json_of(list[QueryView], list(queries_of(at.look, service.session.output_of))),
        )
    )


@router.get("/queries/{name}", summary="One query", response_model=QueryDetail)
async def one_query(service: Served, name: str, marginal: Marginal = False) -> Response:
    """A query, live or dropped, with the state that it uses and what it costs. That was found out some seconds ago, if the query was there."""
    asked = service.session.catalog.queries.get(name)
    found = service.planned.lately(asked) if asked is not None else None
    if asked is not None and found is None:
        found = await run_in_threadpool(service.planned.fresh)
    added = await run_in_threadpool(_added, service, name) if asked is not None and marginal else None
    at = service.sight()
    key = "query", name, None if found is None else found.at
    if added is not None or asked is None:
        return told(json_of(QueryDetail, _detail(service, name, found, added)))
    return told(answer(at, key, lambda: json_of(QueryDetail, _detail(service, name, found, None))))


def _detail(service: Service, name: str, found: Made | None, added: dict[str, float] | None) -> QueryDetail:
    """All that is told of a query, `found` being the plan of all."""
    handle, at = handle_of(service, name), service.sight().look
    view = query_of(at, name, service.session.output_of) or dropped_view(handle)
    mine = tuple(
        StateView(s.id, s.stream, s.window, s.keys, s.rows, s.bytes, s.queries)
        for s in service.sights.state()[0]
        if name in s.queries
    )
    if found is None or name not in at.catalog.queries:
        return QueryDetail(view, mine, None)
    return QueryDetail(view, mine, shares_of(found.data).get(name), added, tuple(nodes_of(found.data, name)))


def _added(service: Service, name: str) -> dict[str, float]:
    """What a query adds to the cost of the others, which is planned for this."""
    handle_of(service, name)
    return service.session.marginal_cost(name)


@router.get("/costs", summary="What queries cost", response_model=list[CostView])
async def list_costs(service: Served) -> Response:
    """The part of every query in the predicted cost, which is divided among those who share it; as it was found out some seconds ago, but
    of all queries that there are."""
    queries, found = service.session.catalog.queries, service.planned.lately()
    if found is None or any(found.number_of(q.name) != q.number for q in queries.values()):
        found = await run_in_threadpool(service.planned.fresh)
    shares = {name: share for name, share in shares_of(found.data).items() if name in queries}
    return told(json_of(list[CostView], list(costs_of(shares))))


@router.delete("/queries/{name}", summary="Drop a query")
def drop_query(service: Served, name: str) -> dict[str, Any]:
    """Drop a query; its results can still be read."""
    handle_of(service, name)
    service.drop(name)
    return {"outcome": "dropped", "kind": "query", "name": name}


def handle_of(service: Service, name: str) -> QueryHandle:
    """The query of a name."""
    try:
        return service.session.handle(name)
    except UsageError as e:
        raise Refused(404, e.message, e.hint) from None


@router.get("/streams", summary="All streams", response_model=list[StreamView])
async def list_streams(service: Served) -> Response:
    """How streams are declared, and what has come of them."""
    at = service.sight()
    return told(answer(at, "streams", lambda: json_of(list[StreamView], list(streams_of(at.look)))))


@router.get("/streams/{name}/sample", summary="Some rows of a stream")
def sample_stream(service: Served, name: str) -> SampleView:
    """A few rows of the file that came last; of streams that are read from files."""
    stream = service.session.catalog.streams.get(name)
    if stream is None:
        raise Refused(404, f"there is no stream {name}", "GET /v1/streams lists them")
    rows = newest_rows(stream, SAMPLE)
    if rows is None:
        return SampleView(None, [])
    columns = tuple(ColumnView(c.name, c.type) for c in stream.columns)
    return SampleView(columns, [list(row) for row in plain_rows(rows)])


@router.get("/tables", summary="All static tables", response_model=list[TableView])
async def list_tables(service: Served) -> Response:
    """How tables are declared."""
    at = service.sight()
    return told(answer(at, "tables", lambda: json_of(list[TableView], list(tables_of(at.look)))))


@router.get("/views", summary="All views", response_model=list[ViewView])
async def list_views(service: Served) -> Response:
    """What views select."""
    at = service.sight()
    return told(answer(at, "views", lambda: json_of(list[ViewView], list(views_of(at.look)))))


@router.get("/plan", summary="The shared plan")
def the_plan(service: Served) -> dict[str, Any]:
    """The plan of all queries, as EXPLAIN gives it to programs, with what the last batch measured."""
    return service.planned.fresh().data


@router.get("/plan.svg", summary="The shared plan as a picture", response_class=Response)
def the_picture(service: Served) -> Response:
    """The plan of all queries, drawn."""
    return Response(service.planned.fresh().explanation.svg(), media_type="image/svg+xml")


@router.get("/explain", summary="The shared plan in words", response_class=Response)
def the_words(service: Served, verbose: bool = False) -> Response:
    """What EXPLAIN says of all queries."""
    return Response(service.planned.fresh().explanation.say(verbose), media_type="text/plain; charset=utf-8")


@router.get("/changes", summary="What changed in the plan", response_model=list[ChangeView])
async def list_changes(service: Served) -> Response:
    """The last 200 changes of the plan, oldest first: when, what, why, and what it brought. The predicted cost of one that was made just now
    may not be known yet."""
    found = service.session.changes_so_far
    views = [ChangeView(s.batch, s.at, s.what, s.updates, s.join_ms, s.before_ms, s.after_ms) for s in found]
    return told(json_of(list[ChangeView], views))


@router.get("/status", summary="The session as a whole", response_model=StatusView)
async def the_status(service: Served) -> Response:
    """Rates, lag, state, and what is wrong now."""
    return told(status_answer(service))


@router.get("/directory", summary="What the session directory says of itself")
def the_directory(service: Served) -> dict[str, Any]:
    """What `thalweg status` shows: streams, queries, state, changes, the last run."""
    found: dict[str, Any] = plain(asdict(read_status(service.session.directory.root)))
    return found


@router.get("/support", summary="All that a report needs, in one file")
def the_bundle(service: Served) -> Response:
    """Versions, status, settings, declarations, plan, changes, last batches and last errors: no rows and no tokens."""
    headers = {"content-disposition": 'attachment; filename="thalweg-support.json"'}
    return Response(
        json.dumps(bundle_of(service), indent=1, ensure_ascii=False),
        headers=headers,
        media_type="application/json",
    )


@router.get("/batches", summary="The last batches", response_model=list[BatchView])
async def list_batches(service: Served, after: Annotated[int, Query()] = -1) -> Response:
    """What the last batches did, oldest first: at most 900, of this run of the service."""
    return told(b"[" + b",".join(text for _, text in service.record.told_after(after)) + b"]")


def told(text: bytes) -> Response:
    """JSON as it is."""
    return Response(text, media_type="application/json")
