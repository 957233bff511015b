"""`thalweg status`: a session directory as tables, or as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from thalweg.api.show import changes as changes_listed
from thalweg.api.status import FragmentStatus, Status, StreamStatus, read_status
from thalweg.cli.screen import Screen
from thalweg.cli.tables import draw
from thalweg.cli.values import (
    column_texts,
    count_text,
    instant_text,
    seconds_text,
    set_aside_text,
    shorter,
    size_text,
)
from thalweg.state.runs import ENDED, FAILED, NEW, RUNNING, STOPPED, Run
from thalweg.state.switches import Switches

CHANGES = 5
"""Changes of the plan that are shown."""


def show_status(directory: Path, as_json: bool, changes: bool = False) -> None:
    """Print what a session directory says about itself, or what changed in its plan."""
    show(Screen(), read_status(directory), as_json, changes)


def show(screen: Screen, status: Status, as_json: bool, changes: bool) -> None:
    """Print a status, or the changes of its plan."""
    if as_json:
        found = asdict(status)
        screen.say(json.dumps(found["changes"] if changes else found, indent=2, default=_plain))
        return
    if changes:
        listed = changes_listed(status.changes)
        screen.table(draw(listed.header, listed.rows))
        return
    screen.title(status.directory, _last_batch(status))
    _say_run(screen, status.run)
    if status.damaged:
        screen.say(
            "damaged: restore these files from a copy, or start anew in another directory", style="red"
        )
        screen.lines(f"  {line}" for line in status.damaged)
    if status.batch is None:
        return
    screen.say()
    draw_counts(screen, status)
    _draw_changes(screen, status.changes)
    _draw_state(screen, status.fragments)


def draw_counts(screen: Screen, status: Status) -> None:
    """The streams and the queries with their counts, and the files that were left out."""
    header = ("stream", "rows", "late rows", "without time", "bad rows", "bad files", "frontier (UTC)")
    times = _frontiers(status.streams)
    streams = [
        (s.name, s.rows, s.late, s.untimed, s.bad_rows, s.bad_files, t)
        for s, t in zip(status.streams, times, strict=True)
    ]
    screen.table(draw(header, streams))
    screen.say()
    queries = [(q.name, q.rows, q.late, shorter(q.directory)) for q in status.queries]
    screen.table(draw(("query", "result rows", "late rows", "results in"), queries))
    screen.say()
    for query in status.queries:
        if query.catching_up is not None:
            screen.say(f"query {query.name} is {query.catching_up}")
        if query.error is not None:
            screen.say(
                f"query {query.name} was stopped before batch {query.failed:,}: {query.error}", style="red"
            )
            screen.say(
                f"  hint: {f'{query.hint}; then ' if query.hint else ''}start it again with CREATE OR REPLACE QUERY {query.name} AS ..."
            )
    for stream in status.streams:
        if stream.late_rows_in and stream.late:
            screen.say(f"late rows of {stream.name} are in {shorter(stream.late_rows_in)}")
        if stream.bad_rows or stream.bad_files:
            _say_aside(screen, stream)


def _say_aside(screen: Screen, stream: StreamStatus) -> None:
    """What counts nowhere, the first of it, and where all of it is."""
    what = set_aside_text(stream.bad_rows, stream.bad_files)
    screen.say(
        f"warning: {what} of stream {stream.name} set aside; see {shorter(stream.bad_rows_in)}",
        style="yellow",
    )
    screen.lines(f"  {shorter(a.file)}: {a.words}" for a in stream.set_aside)
    for count, unit, shown in ((stream.bad_rows, "more row", True), (stream.bad_files, "more file", False)):
        if left := count - sum((a.place is not None) == shown for a in stream.set_aside):
            screen.say(f"  and {count_text(left, unit)}")


def _draw_changes(screen: Screen, changes: Switches) -> None:
    """The last few changes of the plan, and the time of batches before and after."""
    if not changes:
        return
    screen.title("changes", f"the last {min(CHANGES, len(changes))}; SHOW CHANGES lists {len(changes)}")
    rows = [(row[0], row[1], row[2], row[5]) for row in changes_listed(changes[-CHANGES:]).rows]
    screen.table(draw(("batch", "at", "what", "batch ms"), rows))
    screen.say()


def _draw_state(screen: Screen, fragments: tuple[FragmentStatus, ...]) -> None:
    whole = (
        f"{count_text(sum(f.rows for f in fragments), 'row')}, {size_text(sum(f.bytes for f in fragments))}"
    )
    screen.title("state", whole)
    rows = [
        (f.stream, f.window, ", ".join(f.keys) or "-", f.files, f.rows, f.bytes, ", ".join(f.queries))
        for f in fragments
    ]
    screen.table(draw(("stream", "window", "keys", "files", "rows", "bytes", "used by"), rows))


def _say_run(screen: Screen, run: Run) -> None:
    """Whether it runs, and if not, why."""
    texts = {
        RUNNING: f"running in process {run.process}, since {run.at}",
        STOPPED: f"stopped, {run.at}",
        FAILED: f"failed, {run.at}: {run.message}",
        ENDED: f"ended without a word (killed?) after {run.at}: run it again, it goes on after the last committed batch",
        NEW: "",
    }
    if text := texts[run.status]:
        screen.say(text, style="red" if run.status in (FAILED, ENDED) else "")
    if run.hint:
        screen.say(f"  hint: {run.hint}")


def _last_batch(status: Status) -> str:
    if status.batch is None or status.committed is None:
        return "no batch yet"
    ago = (datetime.now(UTC) - status.committed).total_seconds()
    return f"batch {status.batch:,}, {instant_text(status.committed)} UTC ({seconds_text(max(ago, 0))} ago)"


def _frontiers(streams: tuple[StreamStatus, ...]) -> list[str]:
    times = column_texts([s.frontier for s in streams])
    return [t if s.frontier else "-" for s, t in zip(streams, times, strict=True)]


def _plain(value: Any) -> str:
    """Times in JSON."""
    assert isinstance(value, datetime)
    return value.isoformat().replace("+00:00", "Z")
