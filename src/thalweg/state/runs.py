"""What became of the last run in a session directory: it runs, was stopped, failed and why, or ended without a word."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from thalweg.errors import ThalwegError
from thalweg.state.directory import LOCK

RECORD = "run.json"
LOCKS = Path("/proc/locks")
RUNNING, STOPPED, FAILED, ENDED, NEW = "running", "stopped", "failed", "ended", "new"


@dataclass(frozen=True)
class Run:
    """A run: `running` in a process, `stopped`, `failed` with a message and a hint, `ended` without a word (killed), or `new`: none yet."""

    status: str
    at: str = ""
    process: int | None = None
    message: str | None = None
    hint: str | None = None


def began(root: Path) -> None:
    """Note that a run begins in this process."""
    _write(root, Run(RUNNING, now_text(), os.getpid()))


def ended(root: Path, error: BaseException | None = None) -> None:
    """Note that it has ended, and what was wrong."""
    if error is None:
        _write(root, Run(STOPPED, now_text(), os.getpid()))
    else:
        message = error.message if isinstance(error, ThalwegError) else f"{type(error).__name__}: {error}"
        _write(
            root,
            Run(
                FAILED,
                now_text(),
                os.getpid(),
                message,
                error.hint if isinstance(error, ThalwegError) else None,
            ),
        )


def last_run(root: Path) -> Run:
    """What is known of the last run, without a lock: who says that it runs must still hold the directory."""
    try:
        found = Run(**json.loads((root / RECORD).read_text()))
    except FileNotFoundError:
        return Run(NEW)
    except (ValueError, TypeError):  # the note is for people; a damaged one says nothing
        return Run(RUNNING if is_held(root, None) else ENDED)
    return (
        found
        if found.status != RUNNING or is_held(root, found.process)
        else Run(ENDED, found.at, found.process)
    )


def is_held(root: Path, process: int | None) -> bool:
    """Whether a process holds the lock of a directory; where the system does not list locks, whether that process is there."""
    try:
        inode = (root / LOCK).stat().st_ino
    except FileNotFoundError:
        return False
    with suppress(OSError):
        return any(
            line.split()[5].rpartition(":")[2] == str(inode)
            for line in LOCKS.read_text().splitlines()
            if "->" not in line
        )
    return process is not None and _is_alive(process)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _write(root: Path, run: Run) -> None:
    """Write the note so that it is seen whole; that it can't be written must not end a run."""
    hidden = root / f".{RECORD}.{os.getpid()}"
    with suppress(OSError):
        hidden.write_text(json.dumps(asdict(run)))
        hidden.replace(root / RECORD)


def now_text() -> str:
    """The time of day, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
