"""Commands against a running service: status, results, plans; each says what it would say of a directory here."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa

from thalweg.cli.explain import Wanted, written_to
from thalweg.cli.results import WRITERS
from thalweg.cli.screen import Screen
from thalweg.cli.script import read_script
from thalweg.cli.status import show
from thalweg.client.remote import RemoteSession
from thalweg.errors import UsageError


def show_status(session: RemoteSession, as_json: bool, changes: bool) -> None:
    """Print how a session is, or what changed in its plan; then what is wrong, if anything is."""
    screen = Screen()
    show(screen, session.directory_status(), as_json, changes)
    if as_json or changes:
        return
    told = session.status_data()
    screen.say()
    screen.title(
        session.url, f"{told['status']}, {told['events_per_second']:,.0f} events/s over the last minute"
    )
    for problem in told["problems"]:
        screen.say(problem["text"], style="red" if problem["severity"] == "error" else "")
        if problem["hint"]:
            screen.say(f"  hint: {problem['hint']}")


def save_bundle(session: RemoteSession, file: Path) -> None:
    """Write all that somebody who helps needs to know into one file."""
    written_to(file, session.support())
    Screen().note(f"written to {file}: plan, status, settings, changes and errors; no rows, no tokens")


def show_results(session: RemoteSession, query: str, format: str, follow: bool) -> None:
    """Print all results so far, or those and all that come."""
    if follow and format == "parquet":
        raise UsageError("results can't be followed as one Parquet file", "use --format csv or json")
    handle = session.handle(query)
    if not follow:
        WRITERS[format](handle.results(), True)
        return
    is_first = True
    for rows in handle.follow(after=-1):
        WRITERS[format](pa.table(rows), is_first)
        is_first = False


def show_plan(session: RemoteSession, script: Path | None, wanted: Wanted) -> None:
    """Print the plan of all queries with what was measured, or how the one query of a script would be computed beside them."""
    if wanted.mermaid or wanted.papers or (wanted.svg is not None and script is not None):
        raise UsageError(
            "a service draws its whole plan, as SVG, and has no --mermaid and no --papers",
            "leave these out, or explain the script here, without --url",
        )
    screen = Screen()
    found = session.explain(None if script is None else read_script(script), wanted.verbose)
    if wanted.svg is not None:
        written_to(wanted.svg, found.svg)
        screen.note(f"plan drawn in {wanted.svg}")
    elif wanted.json:
        screen.say(json.dumps(found.data, indent=2))
    else:
        screen.say(found.text)
