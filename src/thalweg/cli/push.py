"""`thalweg push`: rows of a file, or of what comes in, to a stream of a running service; in pieces, each of which counts once."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.api.pushing import Body
from thalweg.cli.screen import Screen
from thalweg.client.remote import RemoteSession
from thalweg.errors import Backlog, UsageError

FORMATS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet"}
PIECE = 4_000_000
"""Bytes of one request, of those that lines are sent in."""
ROWS = 100_000
"""Rows of one request, of those that a Parquet file is sent in."""


def push_file(session: RemoteSession, stream: str, file: str, format: str | None, id: str | None) -> None:
    """Push rows; with an id, a file that was pushed in part goes on where it was."""
    form = format or FORMATS.get(Path(file).suffix.lower(), "json" if file == "-" else "")
    if form not in FORMATS.values():
        raise UsageError(f"{file}: the format is not known", "give --format json, csv or parquet")
    rows = new = 0
    for number, piece in enumerate(_pieces(file, form)):
        done = _pushed(session, stream, piece, None if id is None else f"{id}/{number}")
        rows, new = rows + done[0], new + done[1]
    there = f", {rows - new:,} were there already" if new < rows else ""
    Screen().say(f"{new:,} rows pushed to {stream}{there}")


def _pushed(session: RemoteSession, stream: str, piece: Body | pa.Table, id: str | None) -> tuple[int, int]:
    """How many rows a piece has, and how many of them are new; while too much waits, this does too."""
    while True:
        try:
            done = session.push(stream, piece, id)
            return done.rows, done.rows * done.is_new
        except Backlog as e:
            time.sleep(e.seconds)


def _pieces(file: str, form: str) -> Iterator[Body | pa.Table]:
    try:
        if form == "parquet":
            yield from (pa.Table.from_batches([b]) for b in pq.ParquetFile(file).iter_batches(ROWS))
        elif file == "-":
            yield from _lines(sys.stdin.buffer, form)
        else:
            with Path(file).open("rb") as opened:
                yield from _lines(opened, form)
    except (OSError, pa.ArrowException) as e:
        said = (e.strerror or "").lower() if isinstance(e, OSError) else ""
        raise UsageError(f"{file}: {said or 'can not be read'}", "give a file with rows, or -") from None


def _lines(source: BinaryIO, form: str) -> Iterator[Body]:
    """Lines as bodies of some bytes; of CSV each with the header."""
    head = source.readline() if form == "csv" else b""
    for piece in pieces(source, form == "csv"):
        yield Body(form, head + piece)


def pieces(lines: Iterable[bytes], is_quoted: bool, size: int = PIECE) -> Iterator[bytes]:
    r"""Lines together, up to some bytes and a few; where values may be quoted, none is cut in two.

    >>> list(pieces([b'1\n', b'"a\n', b'b"\n', b'2\n'], is_quoted=True, size=4))
    [b'1\n"a\nb"\n', b'2\n']
    """
    found, quotes = bytearray(), 0
    for line in lines:
        found += line
        quotes += line.count(b'"') if is_quoted else 0
        if len(found) >= size and quotes % 2 == 0:
            yield bytes(found)
            found.clear()
    if found.strip():
        yield bytes(found)
