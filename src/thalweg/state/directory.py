"""The session directory: its layout, its version, its lock."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO

from thalweg import __version__
from thalweg.errors import StateError, UsageError
from thalweg.state.local import LocalStore, disk_problem
from thalweg.state.store import Taken

FORMAT = 8
LOCK = "lock"
PRIVATE = 0o700
REFUSED = -1


class Directory:
    """Names and guards everything that a session keeps on disk.

    Any thread may look after the lock. Who writes down what was told holds `telling`, and so does who lets the directory go.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root).resolve()
        self.checkpoint = self.root / "checkpoint"
        self.manifests = self.root / "manifests"
        self.plans = self.root / "plans"
        self.queries = self.root / "queries"
        self.changelog = self.root / "changelog"
        self.state = self.root / "state"
        self.results = self.root / "results"
        self.shared = self.root / "shared"
        self.inbox = self.root / "inbox"
        self.bad = self.root / "bad"
        self.spill = self.root / "spill"
        self.pushing = self.root / "pushing"
        self.course = self.root / "course"
        self.replays = self.root / "replays"
        self.functions = self.root / "functions"
        self._lock: IO[str] | None = None
        self._held: int | None = None
        self._turn = threading.RLock()
        self.telling = threading.RLock()
        self.holds = 0

    @property
    def is_locked(self) -> bool:
        """Whether this process holds it; `holds` tells how often it began to."""
        return self._lock is not None

    @property
    def exists(self) -> bool:
        """Whether a session was ever here."""
        return (self.root / "FORMAT").exists()

    def create(self) -> None:
        """Make the directory, for this user alone, or refuse one that this version can't read."""
        try:
            self.root.mkdir(parents=True, exist_ok=True, mode=PRIVATE)
            if not self.exists and {p.name for p in self.root.iterdir()} <= {self.inbox.name}:
                with suppress(PermissionError):  # it belongs to another user, who decides
                    self.root.chmod(PRIVATE)
            if not self.exists and self.manifests.exists() and any(self.manifests.iterdir()):
                raise StateError(
                    f"{self.root}: the file FORMAT is missing", "restore it, or use another directory"
                )
            for d in (
                self.manifests,
                self.plans,
                self.queries,
                self.changelog,
                self.state,
                self.checkpoint,
                self.results,
                self.course,
            ):
                d.mkdir(exist_ok=True, mode=PRIVATE)
            self._mark()
        except OSError as e:
            raise disk_problem(self.root, e) from e
        self.check_format()

    def _mark(self) -> None:
        """Say which format is written here, unless that is said already."""
        with suppress(Taken):
            if not self.exists:
                LocalStore(self.root).put(
                    "FORMAT", json.dumps({"format": FORMAT, "thalweg": __version__}).encode()
                )

    def check_format(self) -> None:
        """Refuse a directory that another format was written to."""
        path = self.root / "FORMAT"
        try:
            found = json.loads(path.read_text())
            version, writer = int(found["format"]), found["thalweg"]
        except (FileNotFoundError, NotADirectoryError):
            raise UsageError(
                f"{self.root}: no session directory", "give the directory of a run (--dir)"
            ) from None
        except OSError as e:
            raise disk_problem(path, e) from e
        except (ValueError, KeyError, TypeError) as e:
            raise StateError(
                f"{path}: not readable as a format mark", "restore it from a copy, or use another directory"
            ) from e
        if version != FORMAT:
            hint = f"run it with Thalweg {writer} (pip install thalweg=={writer}), or start anew in another directory"
            raise StateError(
                f"{self.root}: written in state format {version} by Thalweg {writer}, this version reads format {FORMAT}",
                hint,
            )

    def lock(self) -> None:
        """Keep a second process out until this one ends, however it ends.

        The directory itself is locked too, where the disk can do that: a lock file can be deleted, and another made in its place.
        """
        with self._turn:
            self._held = _locked_directory(self.root)
            if self._held is REFUSED:
                self._held = None
                raise self._in_use()
            try:
                self._lock = self._locked_file()
            except UsageError:
                self.unlock()
                raise
            self._sign()
            self.holds += 1

    def _sign(self) -> None:
        assert self._lock is not None
        self._lock.truncate(0)
        self._lock.write(f"process {os.getpid()}")
        self._lock.flush()

    def _locked_file(self) -> IO[str]:
        handle = (self.root / LOCK).open("a+")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            handle.close()
            raise self._in_use() from None
        return handle

    def _in_use(self) -> UsageError:
        with suppress(FileNotFoundError):
            if owner := (self.root / LOCK).read_text().strip():
                return UsageError(
                    f"{self.root}: in use by {owner}", "stop it first, or use another directory"
                )
        return UsageError(
            f"{self.root}: in use by another process", "stop it first, or use another directory"
        )

    def guard(self) -> None:
        """Stop before anything is committed or deleted in a directory that another process has taken."""
        with self._turn:
            if self._lock is not None:
                self._check_mine(self._lock)

    def _check_mine(self, lock: IO[str]) -> None:
        found, mine = _identity(self.root / LOCK), os.fstat(lock.fileno())
        if found == (mine.st_dev, mine.st_ino):
            return
        if found is None and self._held is not None and _identity(self.root) == _identity(self._held):
            lock.close()
            self._lock = self._locked_file()
            self._sign()
            return
        hint = "let only one process use the directory: stop the other one, then run again. Nothing that was committed is lost"
        raise StateError(
            f"{self.root}: another process has taken it (its lock file is not the one that this process made)",
            hint,
        )

    def unlock(self) -> None:
        """Let others in."""
        with self._turn:
            if self._lock is not None:
                self._lock.close()
                self._lock = None
            if self._held is not None:
                os.close(self._held)
                self._held = None


def _locked_directory(root: Path) -> int | None:
    """A lock on a directory itself: REFUSED where another process has it, None where the disk can't do that."""
    held = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(held)
        return REFUSED
    except OSError:
        os.close(held)
        return None
    return held


def _identity(where: Path | int) -> tuple[int, int] | None:
    """Which file or directory it is, whatever its name."""
    try:
        found = os.stat(where)  # noqa: PTH116
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
