"""`thalweg explain`: the plan of a script's queries, without running them and without Spark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg.cli.screen import Screen
from thalweg.cli.script import default_directory, open_session, read_script, show_outputs
from thalweg.explain import Explanation

if TYPE_CHECKING:
    from thalweg.session import Session


def explain_script(script: Path, settings: Sequence[str], as_json: bool) -> None:
    """Print what the script's EXPLAIN and SHOW statements say, then the plan of all its queries together."""
    screen = Screen()
    text = read_script(script)
    session = open_session(default_directory(script), settings)
    outputs = session.sql(text, str(script))
    if as_json:
        screen.say(json.dumps(_document(session, text, outputs), indent=2))
        return
    show_outputs(screen, text, outputs)
    if session.catalog.queries:
        screen.say(str(session.explain()))
    else:
        screen.note(f"{script}: no query is left to plan")


def _document(session: Session, text: str, outputs: list[Any]) -> dict[str, Any]:
    """The plan at the top, and what each EXPLAIN of the script said under `statements`."""
    from thalweg.sql.statements import Explain, parse_script

    explained = zip(parse_script(text), outputs, strict=True)
    statements = [{"statement": s.text, **o.data} for s, o in explained if isinstance(s, Explain) and isinstance(o, Explanation)]
    return {**session.explain().data, "statements": statements}
