"""Paths of files: those of this machine's file system are supported, those of other stores are refused by name."""

from __future__ import annotations

import re

_SCHEME = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.:-]+):/", re.ASCII)
_READ = (
    "copy the files to a local directory, or give a Spark streaming DataFrame from Python (session.stream)"
)
_WRITTEN = "write to a local directory, and copy its files from there"


def refused_path(path: str, writes: bool) -> tuple[str, str] | None:
    """Why a path can't be used, and what to do instead; None where it can.

    >>> refused_path("data/bid", writes=False)
    >>> refused_path("s3://bucket/out", writes=True)[0]
    "'s3://bucket/out': s3 is not supported yet"
    """
    if not path.strip() or "\0" in path:
        return f"{path!r} is no path", "name a directory or a file"
    found = _SCHEME.match(path)
    if found is None:
        return None
    if found[1].lower() == "file":
        return f"{path!r}: file URLs are not supported", "write the path alone"
    return f"{path!r}: {found[1].lower()} is not supported yet", _WRITTEN if writes else _READ
