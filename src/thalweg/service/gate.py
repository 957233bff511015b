"""What every request must pass before a route sees it: the name it came by, its origin, its pace, its token, its size."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from thalweg.service.limits import Limits, Pace
from thalweg.service.refusals import Refused
from thalweg.service.tokens import Token, found

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Any, Receive, Send], Awaitable[None]]

LOOPBACK = ("localhost", "127.0.0.1", "::1")
PROBES = ("/health", "/ready")
CONSOLE = "/console/"
READING = ("/v1/explain",)
"""What is posted, and yet changes nothing."""
NAME = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\[\]:@/?#\s]+))(?::[0-9]+)?")
"""What stands in Host: a name or an address, and a port."""
PUSHED = re.compile(r"/v1/streams/[^/]+/rows")
"""Where rows are pushed: requests that may be larger than others."""
AT_ONCE = 8
"""So many of the largest may be on their way at a time."""
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
ENCODED = {k.encode(): v.encode() for k, v in HEADERS.items()}


@dataclass(frozen=True)
class Access:
    """The tokens that are known, and the names that the service may be called by."""

    tokens: tuple[Token, ...]
    hosts: tuple[str, ...] = LOOPBACK


class Gate:
    """Passes requests on to an application, or answers in its place."""

    def __init__(self, app: App, access: Access, limits: Limits) -> None:
        self._app, self._access, self._limits = app, access, limits
        self._pace = Pace(limits.requests)
        self._coming = 0

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        send = _with_headers(send)
        try:
            headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
            self._check(scope, headers)
            if "content-length" in headers or "transfer-encoding" in headers:
                receive = _again(await self._body(scope, receive), receive)
        except Refused as refused:
            await refused.response(scope, receive, send)
            return
        with suppress(Exception):  # a defect: it is in the log, and answered, where it could be
            await self._app(scope, receive, send)

    def _check(self, scope: Any, headers: dict[str, str]) -> None:
        path, method = scope["path"], scope["method"]
        if path in PROBES and method in ("GET", "HEAD"):
            return
        _check_host(headers, self._access.hosts)
        _check_origin(headers)
        if not self._pace.takes((scope.get("client") or ("", 0))[0]):
            hint = f"at most {self._limits.requests} requests a second are taken from one client; wait, then ask again"
            raise Refused(429, "too many requests", hint, {"retry-after": "1"})
        if (path == "/" or path.startswith(CONSOLE)) and method in ("GET", "HEAD"):
            return
        token = self._token(headers)
        if token.reads_only and method not in ("GET", "HEAD") and path not in READING:
            raise Refused(403, "this token may only read", "use one without read-only in the file of tokens")

    def _token(self, headers: dict[str, str]) -> Token:
        scheme, _, text = headers.get("authorization", "").partition(" ")
        token = found(text.strip(), self._access.tokens) if scheme.lower() == "bearer" else None
        if token is None:
            what = "this token is not known" if text else "no token"
            hint = "send the header Authorization: Bearer TOKEN; the link that the service printed at its start has one"
            raise Refused(401, what, hint, {"www-authenticate": "Bearer"})
        return token

    async def _body(self, scope: Any, receive: Receive) -> bytes:
        """All that was sent, where that is not too much and does not take too long."""
        try:
            async with asyncio.timeout(self._limits.seconds):
                if PUSHED.fullmatch(scope["path"]):
                    return await self._read_pushed(receive)
                return await self._read(receive, self._limits.bytes, "bytes")
        except TimeoutError:
            hint = f"a request must have come whole within {self._limits.seconds} seconds"
            raise Refused(408, "the request took too long to come", hint, {"connection": "close"}) from None

    async def _read(
        self, receive: Receive, most: int, limit: str, came: Callable[[int], None] = lambda n: None
    ) -> bytes:
        body = bytearray()
        while True:
            message = await receive()
            body += message.get("body", b"")
            came(len(message.get("body", b"")))
            if len(body) > most:
                hint = f"at most {most:,} bytes are taken (--limit {limit}=N)"
                raise Refused(413, "the request is too large", hint, {"connection": "close"})
            if not message.get("more_body"):
                return bytes(body)

    async def _read_pushed(self, receive: Receive) -> bytes:
        """Rows that are pushed, unless those that are on their way already would fill the memory."""
        mine = 0

        def came(number: int) -> None:
            nonlocal mine
            mine, self._coming = mine + number, self._coming + number
            if self._coming > AT_ONCE * self._limits.pushed:
                hint = "send fewer rows at once, or wait for answers"
                raise Refused(
                    429, "too many rows are on their way", hint, {"retry-after": "1", "connection": "close"}
                )

        try:
            return await self._read(receive, self._limits.pushed, "pushed", came)
        finally:
            self._coming -= mine


def _check_host(headers: dict[str, str], hosts: Iterable[str]) -> None:
    """Refuse names that are not ours: a page elsewhere could have had its own name lead here."""
    said = NAME.fullmatch(headers.get("host", "").lower())
    if said is None or (said[1] or said[2]) not in hosts:
        raise Refused(
            421,
            "this service has another name",
            "call it as it was started, or start it with --allow-host NAME",
        )


def _check_origin(headers: dict[str, str]) -> None:
    """Refuse what pages of another origin send."""
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != headers.get("host"):
        raise Refused(403, f"a page of {origin[:100]} may not ask here", "use the console of this service")


def _again(body: bytes, receive: Receive) -> Receive:
    """What was read already, then what comes."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _with_headers(send: Send) -> Send:
    """Answers with what browsers are told of every one of them."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = list(message.get("headers", []))
            there = {name.lower() for name, _ in given}
            message = {**message, "headers": [*given, *(h for h in ENCODED.items() if h[0] not in there)]}
        await send(message)

    return sent
