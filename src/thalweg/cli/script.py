"""A script file: its text, the session it asks for, and what its statements show."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.api.outcomes import Explained, Listing, Outcome
from thalweg.cli.screen import Screen
from thalweg.cli.tables import draw
from thalweg.cli.values import shorter
from thalweg.client.outcomes import RemotelyExplained
from thalweg.errors import UsageError

if TYPE_CHECKING:
    from thalweg.api.session import Session


def read_script(path: Path) -> str:
    """The text of a script."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        near = sorted(str(p) for p in path.parent.glob("*.sql")) if path.parent.is_dir() else []
        raise UsageError(
            f"{path}: no such file",
            f"there is {', '.join(near[:5])}" if near else "give the path of an SQL script",
        ) from None
    except IsADirectoryError:
        raise UsageError(f"{path}: a directory, not a script", "give the path of an SQL script") from None
    except UnicodeDecodeError as e:
        raise UsageError(f"{path}: not UTF-8 text (byte {e.start:,})", "save the script as UTF-8") from None
    except (PermissionError, NotADirectoryError) as e:
        raise UsageError(
            f"{path}: {(e.strerror or '').lower()}", "give the path of an SQL script that this user may read"
        ) from None


def default_directory(script: Path) -> Path:
    """Where the session of a script is kept unless the user says.

    >>> str(default_directory(Path("apps/My prices.sql")))
    'thalweg-My-prices'
    """
    name = re.sub(r"[^\w.-]+", "-", script.stem).strip("-")
    return Path(f"thalweg-{name or 'app'}")


def settings_of(pairs: Iterable[str]) -> dict[str, str]:
    """What `--set key=value` options ask for.

    >>> settings_of(["partitions=4"])
    {'partitions': '4'}
    """
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--set {pair}: not a setting", "write --set key=value")
        settings[key.strip()] = value.strip().strip("'")
    return settings


def open_session(
    directory: Path, settings: Iterable[str] = (), master: str | None = None, functions: Iterable[str] = ()
) -> Session:
    """A session with the Python functions of some files; nothing is started or written yet."""
    from thalweg.api.functions import declare_from
    from thalweg.api.session import Session

    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory}: a file, not a directory", "give another one with --dir")
    session = Session(directory, master=master, settings=settings_of(settings))
    for where in functions:
        declare_from(session, where)
    return session


def show_outcomes(screen: Screen, outcomes: Iterable[Outcome]) -> None:
    """What the EXPLAIN and SHOW statements of a script have to say, each under its statement."""
    for outcome in outcomes:
        if isinstance(outcome, Listing):
            screen.title(f"SHOW {outcome.what}")
        elif isinstance(outcome, Explained | RemotelyExplained):
            screen.title(outcome.statement)
        else:
            continue
        say_outcome(screen, outcome)
        screen.say()


def say_outcome(screen: Screen, outcome: Outcome) -> None:
    """What became of a statement."""
    if isinstance(outcome, Listing):
        rows = [[shorter(v) if isinstance(v, str) else v for v in row] for row in outcome.rows]
        screen.table(draw(outcome.header, rows))
    else:
        screen.say(str(outcome))
