"""Streams, tables and queries of a session as clients see them, from what the driver has in memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from thalweg.api.handle import QueryHandle
from thalweg.api.session import Session
from thalweg.api.status import FragmentStatus, instant
from thalweg.api.usage import catching_up_text
from thalweg.errors import ThalwegError
from thalweg.model.catalog import Catalog
from thalweg.model.query import Query
from thalweg.model.stream import Column
from thalweg.model.windows import duration_text
from thalweg.service.record import Batch, Record
from thalweg.service.shapes import ColumnView, QueryView, StreamView, TableView, ViewView
from thalweg.state.lives import Life
from thalweg.state.manifest import Counts, Manifest

SPARKLINE = 60
"""Batches whose result rows are told beside a query."""


@dataclass(frozen=True)
class Kept:
    """State that a query uses, of its own or with others."""

    rows: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class Look:
    """A session as it is at one moment: nothing here waits for a batch."""

    status: str
    error: ThalwegError | None
    catalog: Catalog
    manifest: Manifest
    lives: Mapping[str, Life]
    batches: tuple[Batch, ...]
    rates: Mapping[str, float]
    waiting: Mapping[str, int]
    state: Mapping[str, Kept]
    stream_rates: Mapping[str, float]
    catching_up: Mapping[str, str] = field(default_factory=dict)


def look(
    session: Session, record: Record, standing: tuple[str, Exception | None], state: Mapping[str, Kept]
) -> Look:
    """What is there to see now; `standing` is whether it runs, `state` what queries use of it."""
    (status, error), batches = standing, record.batches()
    lives = {life.name: life for life in session.lives()}
    found = error if isinstance(error, ThalwegError) else None
    return Look(
        status,
        found,
        session.catalog,
        session.latest_manifest(),
        lives,
        batches,
        record.rates(),
        session.pushing.waiting(),
        state,
        record.stream_rates(),
        dict(_catching_up(session, lives)),
    )


def _catching_up(session: Session, lives: Mapping[str, Life]) -> Iterator[tuple[str, str]]:
    """The queries for which earlier batches are run again, and how far that is."""
    for name, query in session.catalog.queries.items():
        if query.history is not None and (name not in lives or lives[name].number != query.number):
            steps = QueryHandle(session, name, query).catching_up
            if steps is not None and steps[0] < steps[1]:
                yield name, catching_up_text(*steps)


def state_of(pieces: Iterable[FragmentStatus]) -> dict[str, Kept]:
    """The state that a batch left, by the queries that use it."""
    found: dict[str, Kept] = {}
    for piece in pieces:
        for query in piece.queries:
            before = found.get(query, Kept())
            found[query] = Kept(before.rows + piece.rows, before.bytes + piece.bytes)
    return found


def streams_of(at: Look) -> Iterator[StreamView]:
    """All streams."""
    for s in at.catalog.streams.values():
        counts, frontier = at.manifest.streams.get(s.name, Counts()), at.manifest.frontiers.get(s.name)
        yield StreamView(
            name=s.name,
            format=s.declared_format,
            path=None if s.is_pushed else s.path,
            time=s.time,
            watermark=duration_text(s.delay),
            columns=_columns(s.columns),
            queries=tuple(q.name for q in at.catalog.queries.values() if s.name in q.sources),
            rows=counts.rows,
            rows_per_second=round(at.stream_rates.get(s.name, 0.0), 3),
            late=counts.late,
            untimed=counts.untimed,
            bad_rows=counts.bad_rows,
            bad_files=counts.bad_files,
            set_aside=tuple(f"{a.file}: {a.words}" for a in at.manifest.set_aside if a.stream == s.name),
            frontier=time_text(frontier),
            lag=None if frontier is None else round(time.time() - frontier / 1e6, 3),
            waiting=at.waiting.get(s.name, 0) if s.is_pushed else None,
        )


def tables_of(at: Look) -> Iterator[TableView]:
    """All static tables."""
    for r in at.catalog.relations.values():
        yield TableView(r.name, r.format, r.path, _columns(r.columns))


def views_of(at: Look) -> Iterator[ViewView]:
    """All views."""
    for v in at.catalog.views.values():
        yield ViewView(v.name, v.text, _columns(v.columns))


def queries_of(at: Look, place_of: Callable[[Query], str]) -> Iterator[QueryView]:
    """All queries that live, then those that have failed; `place_of` says where results go."""
    for name in (*at.catalog.queries, *at.catalog.failed):
        if (view := query_of(at, name, place_of)) is not None:
            yield view


def query_of(at: Look, name: str, place_of: Callable[[Query], str]) -> QueryView | None:
    """A query that lives or has failed, if there is one of this name."""
    if (failure := at.catalog.failed.get(name)) is not None:
        return _view(at, failure.query, "failed", failure.directory, failure.message, failure.hint)
    if (query := at.catalog.queries.get(name)) is None:
        return None
    status = _status(at, query)
    error = at.error if status == "failed" else None
    told = (error.message, error.hint) if error else (None, None)
    return _view(at, query, status, place_of(query), *told)


def _status(at: Look, query: Query) -> str:
    """`waiting` for its first batch, or `catching up: 12 of 60 batches` before that; `running`, or as the session is."""
    if at.status != "running":
        return "failed" if at.status == "failed" else "stopped"
    return at.catching_up.get(query.name) or ("running" if _life(at, query) is not None else "waiting")


def _life(at: Look, query: Query) -> Life | None:
    """What the batches say of a query, if that is the one of its name that is meant."""
    life = at.lives.get(query.name)
    return life if life is not None and life.number == query.number else None


def _view(at: Look, query: Query, status: str, place: str, error: str | None, hint: str | None) -> QueryView:
    counts, life = at.manifest.queries.get(query.name, Counts()), _life(at, query)
    kept = at.state.get(query.name, Kept()) if life else Kept()
    return QueryView(
        name=query.name,
        status=status,
        sql=query.text,
        streams=query.sources,
        tables=query.relations,
        columns=tuple(ColumnView(o.name, o.type) for o in query.outputs),
        results=place,
        rows=counts.rows,
        late=counts.late,
        rows_per_second=round(at.rates.get(query.name, 0.0), 3),
        recent=tuple(b.results.get(query.name, 0) for b in at.batches[-SPARKLINE:]),
        lag=lag_of(at, query.sources),
        state_rows=kept.rows,
        state_bytes=kept.bytes,
        epoch=life.epoch if life else None,
        begins=_times(life) if life else None,
        ended=life.ended if life else None,
        error=error,
        hint=hint,
    )


def dropped_view(handle: QueryHandle) -> QueryView:
    """A query that is no more; its results can still be read."""
    asked, begins = handle.asked, handle.begins
    return QueryView(
        name=handle.name,
        status=handle.status,
        sql=handle.text,
        streams=asked.streams if asked else tuple(begins or ()),
        tables=asked.relations if asked else (),
        columns=tuple(ColumnView(n, t) for n, t in handle.columns.items()),
        results=handle.directory,
        rows=0,
        late=0,
        rows_per_second=0.0,
        recent=(),
        lag=None,
        state_rows=0,
        state_bytes=0,
        epoch=handle.epoch,
        begins=None if begins is None else {s: time_text(t) for s, t in begins.items()},
        ended=handle.ended,
        error=None,
        hint=None,
    )


def lag_of(at: Look, streams: Iterable[str]) -> float | None:
    """How many seconds ago the event time is up to which all rows of some streams are known; None where one has brought none."""
    known = [at.manifest.frontiers.get(s) for s in streams]
    found = [f for f in known if f is not None]
    return round(time.time() - min(found) / 1e6, 3) if found and len(found) == len(known) else None


def _times(life: Life) -> dict[str, str | None]:
    return {stream: time_text(t) for stream, t in life.begins.items()}


def time_text(micros: int | None) -> str | None:
    """An event time.

    >>> time_text(1_500_000)
    '1970-01-01T00:00:01.500000Z'
    """
    return None if micros is None else instant(micros).isoformat().replace("+00:00", "Z")


def _columns(columns: Iterable[Column]) -> tuple[ColumnView, ...]:
    return tuple(ColumnView(c.name, c.type) for c in columns)
