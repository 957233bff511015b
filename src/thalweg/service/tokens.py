"""Who may ask: tokens, kept in files that only their user can read."""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from thalweg.errors import EnvironmentProblem, UsageError

FILE = "token"
READ_ONLY = "read-only"
SHORTEST = 16


@dataclass(frozen=True)
class Token:
    """A token, of which only a digest is kept, and whether its owner may only read."""

    digest: bytes
    reads_only: bool = False


def token_of(text: str, reads_only: bool = False) -> Token:
    """A token by its text."""
    return Token(sha256(text.encode()).digest(), reads_only)


def found(text: str, tokens: Iterable[Token]) -> Token | None:
    """The token of a text. All are looked at, so that the time tells nothing."""
    given = sha256(text.encode()).digest()
    same = [t for t in tokens if hmac.compare_digest(t.digest, given)]
    return same[0] if same else None


def made_token(path: Path) -> str:
    """The token of a session directory; made when there is none, in a file for this user alone."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read(path)[0][0]
    except OSError as e:
        raise EnvironmentProblem(
            f"{path}: {(e.strerror or '').lower()}", "let this user write there"
        ) from None
    text = secrets.token_urlsafe(32)
    with os.fdopen(handle, "w") as file:
        file.write(text + "\n")
    return text


def tokens_in(path: Path) -> tuple[Token, ...]:
    """The tokens of a file: one a line, followed by `read-only` where its owner may only read; `#` begins a comment."""
    return tuple(token_of(text, reads_only) for text, reads_only in _read(path))


def _read(path: Path) -> list[tuple[str, bool]]:
    try:
        mode, lines = path.stat().st_mode, path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as e:
        why = (e.strerror or "").lower() if isinstance(e, OSError) else "not a text"
        raise UsageError(f"{path}: {why}", "give a file of tokens that this user may read") from None
    if mode & 0o077:
        raise UsageError(f"{path}: others may read or write it (mode {mode & 0o777:o})", f"chmod 600 {path}")
    said = [line.partition("#")[0].split() for line in lines]
    for number, words in enumerate(said, 1):
        if words and (len(words[0]) < SHORTEST or words[1:] not in ([], [READ_ONLY])):
            hint = f"write a token of at least {SHORTEST} characters, and after it {READ_ONLY} where its owner may only read"
            raise UsageError(f"{path}:{number}: not a token", hint)
    if not any(said):
        raise UsageError(f"{path}: no token in it", "write one a line")
    return [(words[0], bool(words[1:])) for words in said if words]
