"""What can be asked of a session: statements, queries, streams, tables, the plan, changes, status."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response

from thalweg.api.handle import QueryHandle
from thalweg.api.outcomes import Explained, Outcome, plain
from thalweg.api.status import kept_state, read_status
from thalweg.errors import UsageError
from thalweg.model.query import Query as Asked
from thalweg.service.costs import costs_of, nodes_of, shares_of
from thalweg.service.encoding import plain_rows
from thalweg.service.overview import status_of
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
from thalweg.service.support import bundle_of
from thalweg.service.views import dropped_view, queries_of, streams_of, tables_of, views_of
from thalweg.statistics.sampling import newest_rows

router = APIRouter(prefix="/v1")
SAMPLE = 20
"""Rows of a sample."""


def service_of(request: Request) -> Service:
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


@router.get("/queries", summary="All queries")
def list_queries(service: Served) -> list[QueryView]:
    """The queries that live, and those that have failed."""
    return list(queries_of(service.look(), service.session.output_of))


@router.get("/queries/{name}", summary="One query")
def one_query(service: Served, name: str, marginal: Marginal = False) -> QueryDetail:
    """A query, live or dropped, with the state that it uses and what it costs."""
    handle, at = handle_of(service, name), service.look()
    view = next(
        (q for q in queries_of(at, _place_of(service, name)) if q.name == name), None
    ) or dropped_view(handle)
    manifest, plan = service.session.last_batch()
    state = kept_state(plan, manifest) if manifest.batch >= 0 else ()
    mine = tuple(
        StateView(s.id, s.stream, s.window, s.keys, s.rows, s.bytes, s.queries)
        for s in state
        if name in s.queries
    )
    if name not in at.catalog.queries:
        return QueryDetail(view, mine, None)
    explained, added = service.plan().data, service.session.marginal_cost(name) if marginal else None
    cost, nodes = shares_of(explained).get(name), tuple(nodes_of(explained, name))
    return QueryDetail(view, mine, cost, added, nodes)


@router.get("/costs", summary="What queries cost")
def list_costs(service: Served) -> list[CostView]:
    """The part of every query in the predicted cost, which is divided among those who share it."""
    return list(costs_of(shares_of(service.plan().data)))


def _place_of(service: Service, name: str) -> Any:
    """Where results of one query go; those of the others are not asked for."""

    def place(query: Asked) -> str:
        return service.session.output_of(query) if query.name == name else ""

    return place


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


@router.get("/streams", summary="All streams")
def list_streams(service: Served) -> list[StreamView]:
    """How streams are declared, and what has come of them."""
    return list(streams_of(service.look()))


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


@router.get("/tables", summary="All static tables")
def list_tables(service: Served) -> list[TableView]:
    """How tables are declared."""
    return list(tables_of(service.look()))


@router.get("/views", summary="All views")
def list_views(service: Served) -> list[ViewView]:
    """What views select."""
    return list(views_of(service.look()))


@router.get("/plan", summary="The shared plan")
def the_plan(service: Served) -> dict[str, Any]:
    """The plan of all queries, as EXPLAIN gives it to programs, with what the last batch measured."""
    return service.plan().data


@router.get("/plan.svg", summary="The shared plan as a picture", response_class=Response)
def the_picture(service: Served) -> Response:
    """The plan of all queries, drawn."""
    return Response(service.plan().svg(), media_type="image/svg+xml")


@router.get("/explain", summary="The shared plan in words", response_class=Response)
def the_words(service: Served, verbose: bool = False) -> Response:
    """What EXPLAIN says of all queries."""
    return Response(service.plan().say(verbose), media_type="text/plain; charset=utf-8")


@router.get("/changes", summary="What changed in the plan")
def list_changes(service: Served) -> list[ChangeView]:
    """The last 200 changes of the plan, oldest first: when, what, why, and what it brought."""
    found = service.session.changes
    return [ChangeView(s.batch, s.at, s.what, s.updates, s.join_ms, s.before_ms, s.after_ms) for s in found]


@router.get("/status", summary="The session as a whole")
def the_status(service: Served) -> StatusView:
    """Rates, lag, state, and what is wrong now."""
    return status_of(service)


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


@router.get("/batches", summary="The last batches")
def list_batches(service: Served, after: Annotated[int, Query()] = -1) -> list[BatchView]:
    """What the last batches did, oldest first: at most 900, of this run of the service."""
    return [
        BatchView(**{**vars(b), "results": dict(b.results), "streams": dict(b.streams)})
        for b in service.record.batches(after)
    ]
