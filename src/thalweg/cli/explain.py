"""`thalweg explain`: the plan of a script's queries, without running them and without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thalweg.api.outcomes import Explained, Outcome
from thalweg.cli.screen import Screen
from thalweg.cli.script import default_directory, open_session, read_script, show_outcomes
from thalweg.cli.values import shorter
from thalweg.errors import UsageError
from thalweg.explain import Explanation


@dataclass(frozen=True)
class Wanted:
    """What is asked of `thalweg explain`: the form of the plan, and whether what was measured stands beside it."""

    analyze: bool = False
    verbose: bool = False
    papers: bool = False
    json: bool = False
    mermaid: bool = False
    svg: Path | None = None


def explain_script(
    script: Path,
    directory: Path | None,
    settings: Sequence[str],
    wanted: Wanted,
    functions: Sequence[str] = (),
) -> None:
    """Print what the script's EXPLAIN and SHOW statements say, then the plan of all its queries together."""
    screen = Screen()
    text = read_script(script)
    session = open_session(directory or default_directory(script), settings, functions=functions)
    outcomes = session.sql(text, str(script))
    for path in session.check_files():
        screen.note(f"{shorter(path)}: not there yet, so nothing of it was looked at")
    plan = session.explain(analyze=wanted.analyze)
    if wanted.analyze and plan.view.batch is None:
        screen.note(f"{session.directory.root}: nothing was measured yet, thalweg run {script} does")
    if wanted.svg is not None:
        written_to(wanted.svg, plan.svg(wanted.papers))
        screen.note(f"plan drawn in {wanted.svg}")
    elif wanted.mermaid:
        screen.say(plan.mermaid())
    elif wanted.json:
        screen.say(json.dumps(_document(plan, outcomes), indent=2))
    else:
        show_outcomes(screen, outcomes)
        _say(screen, plan, wanted, script, bool(session.catalog.queries))


def _say(screen: Screen, plan: Explanation, wanted: Wanted, script: Path, has_queries: bool) -> None:
    if has_queries:
        screen.say(plan.say(wanted.verbose, wanted.papers))
    else:
        screen.note(f"{script}: no query is left to plan")


def written_to(path: Path, text: str) -> None:
    """Write a file that the user has named."""
    try:
        path.write_text(text, encoding="utf-8")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as e:
        raise UsageError(
            f"{path}: {(e.strerror or '').lower()}", "give the path of a file in a folder that exists"
        ) from None


def _document(plan: Explanation, outcomes: Iterable[Outcome]) -> dict[str, Any]:
    """The plan at the top, and what each EXPLAIN of the script said under `statements`."""
    return {
        **plan.data,
        "statements": [
            o.data for o in outcomes if isinstance(o, Explained) and not o.statement.startswith("SHOW")
        ],
    }
