"""The names of rows that were pushed, after the files with those rows are gone: for a week, and no more than a million."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path

from thalweg.errors import StateError
from thalweg.state.checks import damaged, opened, sealed
from thalweg.state.local import flush, write_file

PREFIX = ".names-"
WEEK = 7 * 86_400.0
MOST = 1_000_000
PER_FILE = 10_000


class Names:
    """Marks of names in hidden files of some thousand; `highest` is the highest number of a file that is gone."""

    def __init__(self, path: Path, durable: bool = True) -> None:
        self._path, self._durable = path, durable
        self._parts = {
            int(p.name.removeprefix(PREFIX)): _part(p) for p in sorted(path.glob(f"{PREFIX}*[0-9]"))
        }
        self._known = {mark for _, marks in self._parts.values() for mark in marks}
        self.highest = max((highest for highest, _ in self._parts.values()), default=-1)

    def __contains__(self, mark: str) -> bool:
        return mark in self._known

    def add(self, marks: Iterable[str], highest: int) -> None:
        """Know more names, on disk when this returns; those that are too old, or too many, are forgotten."""
        now = time.time()
        self.highest = max(self.highest, highest)
        last = max(self._parts, default=0)
        kept = self._parts.get(last, (-1, {}))[1]
        if len(kept) >= PER_FILE:
            last, kept = last + 1, {}
        kept = {**kept, **dict.fromkeys(marks, now)}
        self._write(last, kept)
        self._parts[last] = self.highest, kept
        self._known |= kept.keys()
        self._forget(now)

    def _write(self, number: int, marks: dict[str, float]) -> None:
        hidden = self._path / f"{PREFIX}{number:06d}.tmp"
        hidden.unlink(missing_ok=True)
        body = json.dumps({"highest": self.highest, "names": marks}, separators=(",", ":"))
        write_file(hidden, sealed(body), self._durable, self._path)
        hidden.replace(self._path / f"{PREFIX}{number:06d}")
        if self._durable:
            flush([self._path])

    def _forget(self, now: float) -> None:
        """Remove the oldest files whose names are all too old, or more than are kept; never the last, which has the highest number."""
        for number in sorted(self._parts)[:-1]:
            marks = self._parts[number][1]
            if len(self._known) <= MOST and max(marks.values(), default=0.0) > now - WEEK:
                return
            (self._path / f"{PREFIX}{number:06d}").unlink(missing_ok=True)
            self._known -= self._parts.pop(number)[1].keys()


def _part(path: Path) -> tuple[int, dict[str, float]]:
    try:
        found = json.loads(opened(str(path), path.read_bytes())[1])
        return int(found["highest"]), {str(mark): float(at) for mark, at in found["names"].items()}
    except StateError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise damaged(str(path), "not readable") from e
