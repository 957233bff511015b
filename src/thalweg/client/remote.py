"""`thalweg.connect`: a session of a service, with the methods of `Session` where they make sense."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any
from urllib.parse import quote, unquote, urlsplit
from uuid import uuid4

import pyarrow as pa

from thalweg.api.outcomes import Listing, Outcomes
from thalweg.api.pushing import Body, body_of
from thalweg.api.status import Status
from thalweg.client.outcomes import RemotelyExplained, outcomes_of
from thalweg.client.wire import Lost, Wire
from thalweg.connectors.pushed import Receipt
from thalweg.errors import SqlError, ThalwegError, UsageError
from thalweg.expr.quoting import readable, spark_quoted
from thalweg.sql.statements import checked_name, is_name
from thalweg.state.records import decoder

AT_ONCE = 50_000
"""Rows of one answer."""
LOOK, AGAIN, TRIES = 0.1, 1.0, 30
"""Seconds between two looks at a query that is waited for, and between tries to take up a line that was cut; how many of these."""
PUSHES = 3
"""How often rows are sent where the line is cut."""
KINDS = {"json": "application/x-ndjson", "csv": "text/csv", "arrow": "application/vnd.apache.arrow.stream"}


def connect(url: str = "http://127.0.0.1:8642", token: str | None = None) -> RemoteSession:
    """A session of a running service. The link that it printed has the token in it; else give it, or set THALWEG_TOKEN."""
    where = urlsplit(url)
    in_link = unquote(where.fragment.removeprefix("token=")) if where.fragment.startswith("token=") else None
    found = token or in_link or os.environ.get("THALWEG_TOKEN")
    if where.scheme not in ("http", "https") or not where.hostname:
        raise UsageError(f"{url}: no address of a service", "write http://HOST:PORT")
    if not found:
        raise UsageError(
            f"{url}: no token", "give the link that the service printed, token=..., or set THALWEG_TOKEN"
        )
    session = RemoteSession(Wire(where._replace(fragment="", query="").geturl().rstrip("/"), found))
    session.status_data()
    return session


class RemoteSession:
    """A session that runs in a service. Any thread may use it; it holds no connection."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def sql(self, text: str) -> Outcomes:
        """Run a script of statements; returns what became of each."""
        return outcomes_of(self._wire.json("POST", "/v1/statements", {"sql": text})["outcomes"])

    def query(self, sql: str, name: str, into: str | None = None, replace: bool = False) -> RemoteQuery:
        """Create a query from a SELECT. With `replace` it takes the place of the query of its name, if there is one."""
        goes = f" INTO {spark_quoted(into)}" if into is not None else ""
        head = f"CREATE {'OR REPLACE ' if replace else ''}QUERY {checked_name(name, 'query')}{goes} AS"
        try:
            self.sql(f"{head}\n{sql}")
        except SqlError as e:
            at = None if e.line is None or e.line < 2 else e.line - 1
            raise SqlError(
                e.message, e.hint, text=sql, line=at, column=e.column if at else None, length=e.length
            ) from None
        return RemoteQuery(self._wire, name)

    def push(self, stream: str, rows: Any, id: str | None = None) -> Receipt:
        """Push rows to a stream that was declared WITH (format = 'push'): an Arrow table, a pandas DataFrame, dicts, or a `Body`.

        They are on disk when this returns. Rows under an `id` count once, however often they are pushed; without one they get one, and
        are sent again where the line is cut. While too much waits to be read they are refused (`Backlog`).
        """
        given = rows if isinstance(rows, Body) else body_of(rows)
        body = given if isinstance(given, Body) else Body("arrow", _ipc(given))
        told = self._pushed(stream, body, id or uuid4().hex)
        return Receipt(told["rows"], told["new"])

    def _pushed(self, stream: str, body: Body, id: str) -> dict[str, Any]:
        path, tries = f"/v1/streams/{quote(stream, safe='')}/rows", 0
        while True:
            try:
                told: dict[str, Any] = self._wire.send(path, KINDS[body.form], body.data, id=id)
                return told
            except Lost:
                tries += 1
                if tries == PUSHES:
                    raise
                time.sleep(AGAIN)

    def drop(self, query: str | RemoteQuery) -> None:
        """Drop a query, by name or handle; its results stay."""
        self._wire.json("DELETE", _path(query if isinstance(query, str) else query.name))

    def handle(self, name: str) -> RemoteQuery:
        """A query that lives, has failed, or was dropped."""
        self._wire.json("GET", _path(name))
        return RemoteQuery(self._wire, name)

    @property
    def queries(self) -> dict[str, RemoteQuery]:
        """The queries that live or have failed, by name."""
        return {q["name"]: RemoteQuery(self._wire, q["name"]) for q in self.listed}

    def set(self, key: str, value: str) -> None:
        """Change a setting."""
        self.sql(f"SET {key} = {spark_quoted(value)}")

    def explain(self, query: str | None = None, verbose: bool = False) -> RemotelyExplained:
        """How the queries are computed, with what the last batch measured, how one of them is, by name, or how a SELECT would be beside
        them: `str` has it in words, `data` for programs; a notebook shows it."""
        if query is not None and is_name(query):
            (said,) = self.sql(f"EXPLAIN QUERY {readable(query)}")
            assert isinstance(said, RemotelyExplained)
            return said
        if query is not None:
            found = self._wire.json("POST", "/v1/explain", {"sql": query}, marginal="true")
            return RemotelyExplained("EXPLAIN", found["text"], found["plan"])
        words = self._wire.ask("GET", "/v1/explain", verbose=str(verbose).lower()).body.decode()
        drawn = self._wire.ask("GET", "/v1/plan.svg").body.decode()
        return RemotelyExplained("EXPLAIN", words, self._wire.json("GET", "/v1/plan"), drawn)

    def support(self) -> str:
        """All that somebody who helps needs to know, as one JSON text: no rows, no tokens."""
        return self._wire.ask("GET", "/v1/support").body.decode()

    def directory_status(self) -> Status:
        """What `thalweg status` says of the directory of the session."""
        found: Status = decoder(Status)(self._wire.json("GET", "/v1/directory"))
        return found

    @property
    def status(self) -> str:
        """`new`, `running`, `stopped` or `failed`."""
        return str(self.status_data()["status"])

    def status_data(self) -> dict[str, Any]:
        """The session as a whole: rates, lag, state, and what is wrong."""
        found: dict[str, Any] = self._wire.json("GET", "/v1/status")
        return found

    @property
    def streams(self) -> list[dict[str, Any]]:
        """All streams: how they are declared, and what has come of them."""
        found: list[dict[str, Any]] = self._wire.json("GET", "/v1/streams")
        return found

    @property
    def tables(self) -> list[dict[str, Any]]:
        """All static tables."""
        found: list[dict[str, Any]] = self._wire.json("GET", "/v1/tables")
        return found

    @property
    def views(self) -> list[dict[str, Any]]:
        """All views."""
        found: list[dict[str, Any]] = self._wire.json("GET", "/v1/views")
        return found

    @property
    def listed(self) -> list[dict[str, Any]]:
        """All that the service says of the queries that live or have failed."""
        found: list[dict[str, Any]] = self._wire.json("GET", "/v1/queries")
        return found

    @property
    def url(self) -> str:
        """The address of the service, without a token."""
        return self._wire.url

    @property
    def changes(self) -> list[dict[str, Any]]:
        """What changed in the plan, oldest first."""
        found: list[dict[str, Any]] = self._wire.json("GET", "/v1/changes")
        return found

    def _repr_html_(self) -> str:
        rows = tuple((q["name"], q["status"], q["sql"]) for q in self.listed)
        table = Listing("QUERIES", ("query", "status", "SQL"), rows)._repr_html_() if rows else ""
        return f"<p><b>{escape(self.url)}</b>: {self.status}</p>{table}"

    def __repr__(self) -> str:
        return f"<session at {self._wire.url}>"


class RemoteQuery:
    """A query of a service. What it tells is asked for every time."""

    def __init__(self, wire: Wire, name: str) -> None:
        self._wire, self.name = wire, name

    @property
    def data(self) -> dict[str, Any]:
        """All that the service says of it."""
        found: dict[str, Any] = self._wire.json("GET", _path(self.name))["query"]
        return found

    @property
    def status(self) -> str:
        """`waiting`, `running`, `stopped`, `failed` or `dropped`."""
        return str(self.data["status"])

    @property
    def epoch(self) -> int | None:
        """The first batch that it is part of; None before that is committed."""
        found: int | None = self.data["epoch"]
        return found

    @property
    def columns(self) -> Mapping[str, str]:
        """The columns of its results, with their types."""
        return {c["name"]: c["type"] for c in self.data["columns"]}

    @property
    def error(self) -> ThalwegError | None:
        """What stopped it."""
        told = self.data
        return UsageError(f"query {self.name}: {told['error']}", told["hint"]) if told["error"] else None

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is part of a batch (True), or the time is up (False); what stopped it is raised."""
        end = None if timeout is None else time.monotonic() + timeout
        while self.epoch is None:
            if (error := self.error) is not None:
                raise error
            if end is not None and time.monotonic() >= end:
                return False
            time.sleep(LOOK)
        return True

    def results(self, format: str = "arrow") -> Any:
        """All results so far: `arrow` (a pyarrow.Table) or `pandas`."""
        if format not in ("arrow", "pandas"):
            raise UsageError(f"no result format {format!r}", "use arrow or pandas")
        table = pa.concat_tables(rows for rows, _ in self._pages("-1"))
        return table if format == "arrow" else table.to_pandas()

    def state(self, where: Mapping[str, Any] | None = None, format: str = "arrow") -> Any:
        """The present rows of a query that tells changes, all or those with some values, as `arrow` or `pandas`."""
        if format not in ("arrow", "pandas"):
            raise UsageError(f"no result format {format!r}", "use arrow or pandas")
        values = json.dumps(dict(where or {}), default=str)
        answer = self._wire.ask("GET", f"{_path(self.name)}/state", where=values, format="arrow")
        table = pa.ipc.open_stream(answer.body).read_all()
        return table if format == "arrow" else table.to_pandas()

    def follow(self, after: int | str | None = None) -> Iterator[pa.Table]:
        """New rows as they come, a table or more a batch: from now on, or after a batch (-1: all).

        Ends when the query is dropped or replaced. A line that was cut is taken up where it was: every row comes once.
        """
        place = str(after) if after is not None else self._place()
        tries = 0
        while tries < TRIES:
            try:
                with self._wire.events(f"{_path(self.name)}/follow", after=place) as events:
                    for event in events:
                        tries = 0
                        if event.name == "end":
                            return
                        if event.name == "rows" and _order(event.id or "") > _order(place):
                            for rows, reached in self._pages(place):
                                place = reached
                                yield rows
            except Lost:
                pass
            tries += 1
            time.sleep(AGAIN)
        raise Lost(
            f"{self._wire.url}: the line was cut, and no service answers since",
            "follow again from the last batch that was seen",
        )

    def _place(self) -> str:
        """The place after all results that there are."""
        return self._wire.ask("GET", f"{_path(self.name)}/results", last=1, format="arrow").headers[
            "thalweg-next"
        ]

    def _pages(self, after: str) -> Iterator[tuple[pa.Table, str]]:
        """Rows after a place, and the place after them, until there are no more."""
        more = True
        while more:
            answer = self._wire.ask(
                "GET", f"{_path(self.name)}/results", after=after, limit=AT_ONCE, format="arrow"
            )
            after, more = answer.headers["thalweg-next"], answer.headers["thalweg-more"] == "true"
            yield pa.ipc.open_stream(answer.body).read_all(), after

    def drop(self) -> None:
        """Take it out of the workload; its results stay."""
        self._wire.json("DELETE", _path(self.name))

    def _repr_html_(self) -> str:
        told = self.data
        return f"<p><b>{escape(self.name)}</b>: {told['status']}</p><pre>{escape(told['sql'])}</pre>"

    def __repr__(self) -> str:
        return f"<query {self.name} at {self._wire.url}>"


def _ipc(table: pa.Table) -> bytes:
    made = pa.BufferOutputStream()
    with pa.ipc.new_stream(made, table.schema) as writer:
        writer.write_table(table)
    data: bytes = made.getvalue().to_pybytes()
    return data


def _path(name: str) -> str:
    return f"/v1/queries/{quote(name, safe='')}"


def _order(place: str) -> tuple[int, int]:
    """Places in the order of rows: after a batch, or after some of its rows.

    >>> _order("12") > _order("12:500") > _order("11")
    True
    """
    batch, _, row = place.partition(":")
    return (int(batch), int(row)) if row else (int(batch) + 1, 0)
