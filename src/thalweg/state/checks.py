"""Checksums of what is kept: every file is checked when it is read, and damage is told with its name."""

from __future__ import annotations

import json
import zlib
from hashlib import sha256
from typing import Any

from thalweg.errors import StateError

AGAIN = "restore it from a copy, or start anew in another directory"


def crc(data: Any) -> int:
    """A quick checksum, for large files (3.9 GB/s)."""
    return zlib.crc32(data)


def digest(data: Any) -> str:
    """128 bits that no damage, and no other content, has again."""
    return sha256(data).hexdigest()[:32]


def sealed(body: str) -> bytes:
    """A line of text below a line with its digest.

    >>> opened("x", sealed("{}"))
    ('44136fa355b3678a1146ad16f7e8649e', '{}')
    """
    return f'{{"sha256":"{digest(body.encode())}"}}\n{body}\n'.encode()


def opened(name: str, data: bytes) -> tuple[str, str]:
    """The digest and the text that `sealed` wrote, if it is still that; `name` is what the error says is damaged."""
    try:
        head, body, rest = data.decode().split("\n")
        said = json.loads(head)["sha256"]
    except (ValueError, KeyError, TypeError) as e:
        raise damaged(name, "not readable") from e
    if rest or said != digest(body.encode()):
        raise damaged(name, "its checksum differs")
    return said, body


def damaged(name: str, why: str) -> StateError:
    """The error of a file that is not what was written."""
    return StateError(f"{name}: damaged ({why})", AGAIN)


def missing(name: str, what: str) -> StateError:
    """The error of a file that should be there."""
    return StateError(f"{name}: {what} is missing", AGAIN)
