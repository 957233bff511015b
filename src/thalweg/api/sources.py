"""What a stream may be read from in Python: a path, a streaming DataFrame, tables of Arrow or pandas. One function for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from thalweg.api.declaring import absolute, frame_stream_of, stream_of
from thalweg.connectors.base import Source
from thalweg.connectors.dataframe import FrameSource
from thalweg.connectors.files import FileSource
from thalweg.connectors.inbox import Inbox, InboxSource, is_table
from thalweg.connectors.pushed import PushedSource
from thalweg.errors import UsageError
from thalweg.expr.python import Function
from thalweg.model.stream import Stream


@dataclass(frozen=True)
class Given:
    """A stream as Python declares it: its name, what it is read from, its columns and options, where inboxes are, and what computed
    columns may call."""

    name: str
    source: Any
    columns: str | None
    options: Mapping[str, Any]
    inboxes: Path
    functions: Mapping[str, Function] = field(default_factory=dict)


def source_of(given: Given) -> Source:
    """The source that is meant by what was given."""
    for is_kind, made in KINDS:
        if is_kind(given.source):
            return made(given)
    hint = "give a path, a streaming DataFrame, an Arrow table, a pandas DataFrame, or an iterable of these tables"
    raise UsageError(f"stream {given.name}: can't read from {type(given.source).__name__}", hint)


def declared_source(stream: Stream, inboxes: Path) -> Source:
    """What a stream that SQL declares is read from, which stays the same when the current directory changes."""
    if stream.is_pushed:
        return PushedSource(_placed(replace(stream, path=str(inboxes / stream.name))), inboxes)
    return FileSource(_placed(stream))


def remembered_source(stream: Stream, inboxes: Path) -> Source:
    """What a stream of an earlier run is read from."""
    return PushedSource(stream, inboxes) if stream.is_pushed else FileSource(_placed(stream))


def _placed(stream: Stream) -> Stream:
    return replace(
        stream,
        path=absolute(stream.path),
        late_rows=absolute(stream.late_rows),
        bad_rows=absolute(stream.bad_rows),
    )


def _files(given: Given) -> Source:
    return FileSource(
        _placed(
            stream_of(
                given.name, given.columns, path=str(given.source), functions=given.functions, **given.options
            )
        )
    )


def _frame(given: Given) -> Source:
    return FrameSource(
        _placed(frame_stream_of(given.name, given.source, functions=given.functions, **given.options)),
        given.source,
    )


def _table(given: Given) -> Source:
    return _tables(replace(given, source=[given.source]))


def _tables(given: Given) -> Source:
    """Tables bring their columns where none are declared: those of the first one, which is waited for."""
    inbox = Inbox(given.inboxes / given.name, given.source)
    columns = given.columns if given.columns is not None else inbox.columns()
    options = {"files_per_batch": 1, "on_bad_file": "stop", **given.options}
    return InboxSource(
        _placed(stream_of(given.name, columns, path=str(inbox.path), functions=given.functions, **options)),
        inbox,
    )


KINDS: tuple[tuple[Callable[[Any], bool], Callable[[Given], Source]], ...] = (
    (lambda source: isinstance(source, str | Path), _files),
    (lambda source: hasattr(source, "isStreaming"), _frame),
    (is_table, _table),
    (lambda source: isinstance(source, Iterable), _tables),
)
