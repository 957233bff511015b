"""What a session was told, as files: one for what was asked at once, flushed before it is acknowledged, and now and then one with all.

Each follows the one before by its digest. What the last of them says holds from the next batch on, also after a kill.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from thalweg.errors import StateError, UsageError
from thalweg.model.recorded import Recorded, RecordedChange, applied, change_of
from thalweg.plan.codec import dumps, loads
from thalweg.state.checks import damaged, missing, opened, sealed
from thalweg.state.directory import Directory
from thalweg.state.local import LocalStore
from thalweg.state.store import Missing, Taken

CHANGE, BASE = ".json", ".base"
# All is written once there are so many changes, and they have as many bytes as all had.
CHANGES = 32


@dataclass(frozen=True)
class Place:
    """The last file of a log: its number (none yet: -1) and digest, and what was told up to it."""

    number: int = -1
    digest: str = ""
    recorded: Recorded = field(default_factory=Recorded)


class Changelog:
    """The record of a session directory. One thread writes at a time."""

    def __init__(self, store: LocalStore) -> None:
        self.store, self.root = store, str(store.root)
        self.last = Place()
        self._changes, self._bytes, self._base = 0, 0, 0

    def read(self) -> Place:
        """What the directory says by now."""
        names = [n for n in self.store.list() if n.endswith((CHANGE, BASE)) and n.split(".")[0].isdecimal()]
        bases = [n for n in names if n.endswith(BASE)]
        found, self._changes, self._bytes, self._base = Place(), 0, 0, 0
        if bases:
            found, self._base = self._whole(bases[-1])
        for name in (n for n in names if n.endswith(CHANGE) and _number(n) > found.number):
            found, size = self._following(found, name)
            self._changes, self._bytes = self._changes + 1, self._bytes + size
        self.last = found
        return found

    def check_last(self) -> None:
        """Refuse to go on from what another process has changed since it was read."""
        known = self.last
        if self.read().digest != known.digest:
            self.last = known
            raise UsageError(
                f"{self.root}: another process has changed what is declared here", "open the session again"
            )

    def append(self, recorded: Recorded) -> None:
        """Write what is told now, where that is another: from here on it holds, whatever happens."""
        change = change_of(self.last.digest, self.last.recorded, recorded)
        if change == RecordedChange(self.last.digest):
            return
        name = f"{self.last.number + 1:012d}{CHANGE}"
        text = sealed(dumps(change))
        try:
            self.store.put(name, text)
        except Taken:
            raise StateError(
                f"{self.root}/{name}: written by another process", "let only one process use the directory"
            ) from None
        self.last = Place(self.last.number + 1, opened(name, text)[0], recorded)
        self._changes, self._bytes = self._changes + 1, self._bytes + len(text)
        if self._changes >= CHANGES and self._bytes >= self._base:
            self._write_base()

    def _write_base(self) -> None:
        """Write all as a change of nothing, and remove what that makes superfluous."""
        text = sealed(dumps(RecordedChange(self.last.digest, self.last.recorded)))
        name = f"{self.last.number:012d}{BASE}"
        self.store.put(name, text)
        self._changes, self._bytes, self._base = 0, 0, len(text)
        for other in self.store.list():
            if other != name:
                self.store.delete(other)

    def _whole(self, name: str) -> tuple[Place, int]:
        change, _, size = self._content(name)
        return Place(_number(name), change.prior, change.made), size

    def _following(self, before: Place, name: str) -> tuple[Place, int]:
        change, digest, size = self._content(name)
        if change.prior != before.digest or _number(name) != before.number + 1:
            raise damaged(f"{self.root}/{name}", "it does not follow the one before")
        return Place(_number(name), digest, applied(before.recorded, change)), size

    def _content(self, name: str) -> tuple[RecordedChange, str, int]:
        """What a file says, its digest and its bytes."""
        where = f"{self.root}/{name}"
        try:
            data = self.store.get(name).to_pybytes()
        except Missing:
            raise missing(where, "what was declared") from None
        digest, text = opened(where, data)
        try:
            found: RecordedChange = loads(text)
        except (ValueError, KeyError, TypeError) as e:
            raise damaged(where, str(e)) from e
        return found, digest, len(data)


def changelog_of(directory: Directory) -> Changelog:
    """The changelog of a session directory, read."""
    if directory.exists:
        directory.check_format()
    found = Changelog(LocalStore(directory.changelog))
    found.read()
    return found


def _number(name: str) -> int:
    return int(name.split(".")[0])
