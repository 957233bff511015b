"""HTTP as uvicorn reads it by httptools, which knows no limits: here what stands before a body has a size and a time."""

from __future__ import annotations

import asyncio
from asyncio import TimerHandle

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST = 65_536
"""Bytes of a head (the address and all headers), and those that may come without the parser making anything of them."""


class Limited(HttpToolsProtocol):
    """A connection that is cut where a head grows beyond all measure, or does not come whole in time."""

    seconds = 10.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has come; its request must follow."""
        super().connection_made(transport)
        self._head, self._unknown = 0, 0
        self._late: TimerHandle | None = self.loop.call_later(self.seconds, self._cut)

    def connection_lost(self, exc: Exception | None) -> None:
        """It has gone."""
        self._in_time()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes have come, of a head or of a body."""
        self._unknown += len(data)
        super().data_received(data)
        if self._unknown > MOST + len(data):
            self._cut()

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._head = 0
        if self._late is None:
            self._late = self.loop.call_later(self.seconds, self._cut)

    def on_url(self, url: bytes) -> None:
        """A part of the address."""
        self._grown(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, before a body or after it."""
        self._grown(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._in_time()
        self._unknown = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of the body, which others count."""
        self._unknown = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is whole."""
        self._unknown = 0
        super().on_message_complete()

    def _grown(self, size: int) -> None:
        self._head, self._unknown = self._head + size, 0
        if self._head > MOST:
            raise ValueError("the head of a request is too large")  # the parser tells, and 400 is answered

    def _in_time(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _cut(self) -> None:
        self._late = None
        if not self.transport.is_closing():
            self.transport.close()


def limited(seconds: float) -> type[asyncio.Protocol]:
    """The protocol, with so many seconds for a head."""
    return type("Timed", (Limited,), {"seconds": float(seconds)})
