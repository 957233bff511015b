"""Which files statements that came over HTTP may name: those below the roots, and none that the session keeps for itself."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os.path import islink, realpath
from pathlib import Path

from thalweg.model.target import CONSOLE
from thalweg.service.refusals import Refused
from thalweg.sql import statements as st

PATTERN = re.compile(r"[*?\[\]{}\\\x00-\x1f]")
"""What a reader could take for more than one path, or for another one than it is here."""


@dataclass(frozen=True)
class Roots:
    """Directories below which statements may read and write; `private` (the session's own, of which only `open` is there for all) and
    files with tokens are never named by them. Links are followed before anything is compared, also those that stand in a directory."""

    roots: tuple[Path, ...]
    private: Path
    open: Path
    tokens: tuple[Path, ...] = ()

    def check(self, statements: Iterable[st.Statement]) -> None:
        """Refuse statements that name other files."""
        for path in (p for statement in statements for p in named(statement)):
            self._check(path)
            for link in links_below(path):
                self._check_place(link)

    def _check(self, path: str) -> None:
        if PATTERN.search(path):
            raise Refused(
                403,
                f"{path!r}: a pattern, or no plain path",
                "name a file or a directory without * ? [ ] { } \\",
            )
        self._check_place(path)

    def _check_place(self, path: str) -> None:
        """Refuse what leads elsewhere."""
        found = Path(realpath(path))
        roots = [Path(realpath(r)) for r in self.roots]
        if not any(found.is_relative_to(r) for r in roots):
            hint = f"statements over HTTP may name files below {', '.join(map(str, roots))} only (--root adds to them)"
            raise Refused(403, f"{path}: outside of what this service may touch", hint)
        private, shown = Path(realpath(self.private)), Path(realpath(self.open))
        if found.is_relative_to(private) and not (found.is_relative_to(shown) and found != shown):
            raise Refused(
                403,
                f"{path}: the session keeps it for itself",
                f"name a directory below {shown}, or outside of {private}",
            )
        if any(Path(realpath(token)).is_relative_to(found) for token in self.tokens):
            raise Refused(403, f"{path}: tokens of this service lie there", "name another directory")


def links_below(path: str) -> Iterator[str]:
    """The links that stand in a directory and in those below it: what they lead to would be read with it."""
    for folder, folders, files in os.walk(path):
        yield from filter(islink, (f"{folder}/{name}" for name in (*folders, *files)))


def named(statement: st.Statement) -> Iterator[str]:
    """The paths that a statement names."""
    match statement:
        case st.CreateStream(stream=stream):
            yield from (path for path in (stream.path, stream.late_rows, stream.bad_rows) if path is not None)
        case st.CreateTable(relation):
            yield relation.path
        case st.CreateQuery() if statement.into not in (None, CONSOLE):
            yield str(statement.into)
