"""`thalweg sql -e`: statements in a service, or in a directory that nobody runs."""

from __future__ import annotations

import json
from pathlib import Path

from thalweg.cli.screen import Screen
from thalweg.cli.script import say_outcome
from thalweg.cli.sites import LOCAL, site


def run_statements(url: str | None, directory: Path | None, text: str, as_json: bool) -> None:
    """Run statements, and print what became of each. In a directory what they change is kept, and comes into force with the next run."""
    screen = Screen()
    asked = site(screen, url or (LOCAL if directory is None else None), directory, runs=False)
    try:
        outcomes = asked.sql(text)
    finally:
        asked.close()
    if as_json:
        screen.say(json.dumps([o.data for o in outcomes], indent=2))
        return
    for outcome in outcomes:
        say_outcome(screen, outcome)
