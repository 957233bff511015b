"""`thalweg explain`: the plan of a script's queries, without running them and without Spark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thalweg.cli.screen import Screen
from thalweg.cli.script import default_directory, open_session, read_script, show_outputs
from thalweg.errors import UsageError
from thalweg.explain import Explanation


@dataclass(frozen=True)
class Wanted:
    """What is asked of `thalweg explain`: the form of the plan, and whether what was measured stands beside it."""

    analyze: bool = False
    verbose: bool = False
    json: bool = False
    mermaid: bool = False
    svg: Path | None = None


def explain_script(script: Path, directory: Path | None, settings: Sequence[str], wanted: Wanted) -> None:
    """Print what the script's EXPLAIN and SHOW statements say, then the plan of all its queries together."""
    screen = Screen()
    text = read_script(script)
    session = open_session(directory or default_directory(script), settings)
    outputs = session.sql(text, str(script))
    plan = session.explain(analyze=wanted.analyze)
    if wanted.analyze and plan.view.batch is None:
        screen.note(f"{session.directory.root}: nothing was measured yet, thalweg run {script} does")
    if wanted.svg is not None:
        _write(wanted.svg, plan.svg())
        screen.note(f"plan drawn in {wanted.svg}")
    elif wanted.mermaid:
        screen.say(plan.mermaid())
    elif wanted.json:
        screen.say(json.dumps(_document(plan, text, outputs), indent=2))
    else:
        show_outputs(screen, text, outputs)
        _say(screen, plan, wanted.verbose, script, bool(session.catalog.queries))


def _say(screen: Screen, plan: Explanation, verbose: bool, script: Path, has_queries: bool) -> None:
    if has_queries:
        screen.say(plan.verbose if verbose else plan.text)
    else:
        screen.note(f"{script}: no query is left to plan")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as e:
        raise UsageError(f"{path}: {(e.strerror or '').lower()}", "give the path of a file in a folder that exists") from None


def _document(plan: Explanation, text: str, outputs: list[Any]) -> dict[str, Any]:
    """The plan at the top, and what each EXPLAIN of the script said under `statements`."""
    from thalweg.sql.statements import Explain, parse_script

    explained = zip(parse_script(text), outputs, strict=True)
    statements = [{"statement": s.text, **o.data} for s, o in explained if isinstance(s, Explain) and isinstance(o, Explanation)]
    return {**plan.data, "statements": statements}
