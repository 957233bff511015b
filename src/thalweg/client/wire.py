"""Requests to a service, and its refusals as the errors that a session here would raise."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

from thalweg.errors import (
    Backlog,
    DataError,
    EnvironmentProblem,
    InternalError,
    SqlError,
    ThalwegError,
    UsageError,
)

SILENT = 60.0
"""Seconds without a word after which a service is taken for gone; while it lives it gives a sign every 15."""


@dataclass(frozen=True)
class Event:
    """A server-sent event."""

    name: str
    id: str | None
    data: Any


@dataclass(frozen=True)
class Answer:
    """What came back: the body, and the headers by their names in lower case."""

    body: bytes
    headers: dict[str, str]


@dataclass(frozen=True)
class Wire:
    """An address and a token. Every request is a connection of its own, so that any thread may ask."""

    url: str
    token: str = field(repr=False)

    def ask(self, method: str, path: str, data: Any = None, **query: Any) -> Answer:
        """One request; what is refused is raised."""
        with self._asked(method, path, data, query) as (answer, text):
            return Answer(_checked(answer, text), {k.lower(): v for k, v in answer.headers.items()})

    def send(self, path: str, kind: str, data: bytes, **query: Any) -> Any:
        """One request with something else than JSON; its answer is JSON."""
        with self._asked("POST", path, data, query, {"content-type": kind}) as (answer, text):
            return json.loads(_checked(answer, text))

    def json(self, method: str, path: str, data: Any = None, **query: Any) -> Any:
        """One request whose answer is JSON."""
        return json.loads(self.ask(method, path, data, **query).body)

    @contextmanager
    def events(self, path: str, last: str | None = None, **query: Any) -> Iterator[Iterator[Event]]:
        """Server-sent events, as they come, after the one with an id."""
        with self._asked("GET", path, None, query, {"last-event-id": last} if last is not None else {}) as (
            answer,
            text,
        ):
            if answer.status != 200:
                _checked(answer, text)
            yield _events(answer)

    @contextmanager
    def _asked(
        self, method: str, path: str, data: Any, query: dict[str, Any], more: dict[str, str] | None = None
    ) -> Iterator[tuple[http.client.HTTPResponse, str]]:
        where = urlsplit(self.url)
        make = http.client.HTTPSConnection if where.scheme == "https" else http.client.HTTPConnection
        line = make(where.hostname or "", where.port, timeout=SILENT)
        asked = {k: v for k, v in query.items() if v is not None}
        headers = {
            "authorization": f"Bearer {self.token}",
            "content-type": "application/json",
            **(more or {}),
        }
        body = data if data is None or isinstance(data, bytes) else json.dumps(data)
        try:
            line.request(
                method,
                f"{where.path.rstrip('/')}{path}{f'?{urlencode(asked)}' if asked else ''}",
                body,
                headers,
            )
            yield line.getresponse(), str(data.get("sql", "")) if isinstance(data, dict) else ""
        except (OSError, http.client.HTTPException) as e:
            raise Lost(
                f"{self.url}: no service answers ({e})",
                "start it with thalweg serve, or give another address",
            ) from None
        finally:
            line.close()


class Lost(EnvironmentProblem):
    """The service does not answer, or the line to it was cut."""


def _checked(answer: http.client.HTTPResponse, text: str) -> bytes:
    body = answer.read()
    if answer.status < 400:
        return body
    try:
        error = json.loads(body)["error"]
    except (ValueError, KeyError, TypeError):
        raise EnvironmentProblem(
            f"{answer.status} {answer.reason}", "is this the address of a Thalweg service?"
        ) from None
    if answer.status == 429:
        raise Backlog(error["message"], error.get("hint"), int(answer.headers.get("retry-after", "1")))
    raise _error(answer.status, error, text)


def _error(status: int, error: dict[str, Any], text: str) -> ThalwegError:
    message, hint = error["message"], error.get("hint")
    if error.get("line") is not None:
        return SqlError(
            message, hint, text=text, line=error["line"], column=error["column"], length=error["length"]
        )
    kinds: dict[int, type[ThalwegError]] = {
        400: SqlError,
        422: DataError,
        500: InternalError,
        503: EnvironmentProblem,
    }
    return kinds.get(status, UsageError)(message, hint)


def _events(answer: http.client.HTTPResponse) -> Iterator[Event]:
    found: dict[str, str] = {}
    while line := answer.readline():
        text = line.decode().rstrip("\r\n")
        if text and not text.startswith(":"):
            key, _, value = text.partition(":")
            found[key] = value.removeprefix(" ")
        elif not text and "data" in found:
            yield Event(found.get("event", ""), found.get("id"), json.loads(found["data"]))
            found = {}
