"""Commands against a running service: statements, status, results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from thalweg.api.outcomes import Explained, Listing, Outcome
from thalweg.cli.results import WRITERS
from thalweg.cli.screen import Screen
from thalweg.cli.script import show_outcomes
from thalweg.cli.tables import draw
from thalweg.cli.values import shorter
from thalweg.client.outcomes import RemotelyExplained
from thalweg.client.remote import RemoteSession, connect
from thalweg.errors import UsageError

LOCAL = "http://127.0.0.1:8642"


def opened(url: str | None, directory: Path | None) -> RemoteSession:
    """The session of a service; the token is in the link, in THALWEG_TOKEN, or in the directory of a service of this machine."""
    token = None
    if directory is not None:
        try:
            token = (directory / "token").read_text().split()[0]
        except (OSError, IndexError):
            raise UsageError(
                f"{directory}: no token of a service", "give the link that it printed with --url"
            ) from None
    return connect(url or LOCAL, token)


def run_statements(session: RemoteSession, text: str, as_json: bool) -> None:
    """Run statements, and print what became of each."""
    screen, outcomes = Screen(), session.sql(text)
    if as_json:
        screen.say(json.dumps([o.data for o in outcomes], indent=2))
        return
    for outcome in outcomes:
        _say(screen, outcome)


def _say(screen: Screen, outcome: Outcome) -> None:
    if isinstance(outcome, Listing | Explained):
        show_outcomes(screen, [outcome])
    elif isinstance(outcome, RemotelyExplained):
        screen.title(outcome.statement)
        screen.say(outcome.text)
    else:
        screen.say(str(outcome))


def show_status(session: RemoteSession, as_json: bool, changes: bool) -> None:
    """Print how a session is, or what changed in its plan."""
    screen, status = Screen(), session.status_data()
    if as_json:
        screen.say(json.dumps(session.changes if changes else status, indent=2))
    elif changes:
        screen.table(
            draw(("batch", "at", "what"), [(c["batch"], c["at"], c["what"]) for c in session.changes])
        )
    else:
        _draw_status(screen, session, status)


def _draw_status(screen: Screen, session: RemoteSession, status: dict[str, Any]) -> None:
    batch = "no batch yet" if status["batch"] is None else f"batch {status['batch']:,}"
    screen.title(
        status["directory"], f"{status['status']}, {batch}, {status['events_per_second']:,.0f} events/s"
    )
    screen.say()
    streams = [
        (s["name"], s["rows"], s["late"], s["bad_rows"], s["bad_files"], s["frontier"] or "-")
        for s in session.streams
    ]
    screen.table(draw(("stream", "rows", "late rows", "bad rows", "bad files", "frontier (UTC)"), streams))
    screen.say()
    queries = [
        (q.name, d["status"], d["rows"], d["late"], shorter(d["results"]))
        for q in session.queries.values()
        for d in [q.data]
    ]
    screen.table(draw(("query", "status", "result rows", "late rows", "results in"), queries))
    for problem in status["problems"]:
        screen.say()
        screen.say(problem["text"], style="red" if problem["severity"] == "error" else "")
        if problem["hint"]:
            screen.say(f"  hint: {problem['hint']}")


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
