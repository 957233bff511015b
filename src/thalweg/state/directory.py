"""The session directory: its layout, its version, its lock."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import uuid
from pathlib import Path
from typing import IO

from thalweg import __version__
from thalweg.errors import EnvironmentProblem, StateError, UsageError

FORMAT = 4


class Directory:
    """Names and guards everything that a session keeps on disk."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root).resolve()
        self.checkpoint = self.root / "checkpoint"
        self.manifests = self.root / "manifests"
        self.plans = self.root / "plans"
        self.state = self.root / "state"
        self.results = self.root / "results"
        self.inbox = self.root / "inbox"
        self._lock: IO[str] | None = None

    @property
    def exists(self) -> bool:
        """Whether a session was ever here."""
        return (self.root / "FORMAT").exists()

    def create(self) -> None:
        """Make the directory, or refuse one that this version can't read."""
        try:
            for d in (self.root, self.manifests, self.plans, self.state):
                d.mkdir(parents=True, exist_ok=True)
            if not self.exists:
                if any(self.manifests.iterdir()):
                    raise StateError(f"{self.root}: the file FORMAT is missing", "restore it, or use another directory")
                write_atomic(self.root / "FORMAT", json.dumps({"format": FORMAT, "thalweg": __version__}))
        except OSError as e:
            raise disk_problem(self.root, e) from e
        self.check_format()

    def check_format(self) -> None:
        """Refuse a directory that another format was written to."""
        path = self.root / "FORMAT"
        try:
            found = json.loads(path.read_text())
            version, writer = int(found["format"]), found["thalweg"]
        except FileNotFoundError:
            raise UsageError(f"{self.root}: no session directory", "give the directory of a run (--dir)") from None
        except (ValueError, KeyError, TypeError) as e:
            raise StateError(f"{path}: not readable as a format mark", "restore it from a copy, or use another directory") from e
        if version != FORMAT:
            hint = f"use Thalweg {writer}, or start anew in another directory"
            raise StateError(
                f"{self.root}: written in state format {version} by Thalweg {writer}, this version reads format {FORMAT}", hint
            )

    def lock(self) -> None:
        """Keep a second process out until this one ends, however it ends."""
        handle = (self.root / "lock").open("a+")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            handle.seek(0)
            owner = handle.read().strip() or "another process"
            handle.close()
            raise UsageError(f"{self.root}: in use by {owner}", "stop it first, or use another directory") from None
        handle.truncate(0)
        handle.write(f"process {os.getpid()}")
        handle.flush()
        self._lock = handle

    def unlock(self) -> None:
        """Let others in."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def write_atomic(path: Path, text: str) -> None:
    """Write a file so that it is seen whole or not at all, and survives a power cut."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    with temporary.open("w") as f:
        f.write(text)
        f.flush()
        os.fsync(f.fileno())
    temporary.replace(path)


def disk_problem(path: Path, error: OSError) -> EnvironmentProblem:
    """An operating-system error as a message that says which thing and what to do."""
    hints = {
        errno.ENOSPC: "free some space, then run again: nothing is lost",
        errno.EACCES: "give this user the right to write there, or use another directory",
        errno.EROFS: "use a directory on a writable disk",
        errno.ENOTDIR: "a part of the path is a file: use another directory",
        errno.EEXIST: "there is a file of that name: use another directory",
    }
    return EnvironmentProblem(f"{path}: {(error.strerror or str(error)).lower()}", hints.get(error.errno or 0))
