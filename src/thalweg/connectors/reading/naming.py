"""Files by their names: as Spark gives them, as DuckDB takes them, and in errors."""

from __future__ import annotations

import atexit
import re
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

from thalweg.errors import DataError
from thalweg.expr.quoting import quoted
from thalweg.model.stream import Relation, Stream


def local_path(uri: str) -> str:
    """The path in a Spark file name, which is not percent-encoded.

    >>> local_path("file:///data/a%20b.parquet"), local_path("file:/data/a.parquet")
    ('/data/a%20b.parquet', '/data/a.parquet')
    """
    return "/" + uri.removeprefix("file:").lstrip("/") if uri.startswith("file:") else uri


def listed(paths: Iterable[str]) -> str:
    """The SQL of a list of files, each of which is that file and no other."""
    return "[" + ", ".join(quoted(literal(p)) for p in paths) + "]"


def literal(path: str) -> str:
    """A path that is no pattern: the file's own, or where that would be one another name of the file. A pattern that only it matches would
    do, if DuckDB did not look at all names beside it then, and fail at some of them."""
    return path if as_pattern(path) == path else alias(path)


def alias(path: str) -> str:
    """Another name of a file or folder, without characters that mean something to DuckDB."""
    link = _aliases() / f"{sha256(path.encode()).hexdigest()[:32]}{Path(path).suffix}"
    if not link.is_symlink():
        link.symlink_to(path)
    return str(link)


@cache
def _aliases() -> Path:
    folder = Path(mkdtemp(prefix="thalweg-names-"))
    atexit.register(rmtree, folder, ignore_errors=True)
    return folder


def as_pattern(path: str) -> str:
    """A path as a pattern that only it matches, which is how DuckDB takes the names of files.

    >>> as_pattern("part[1].parquet")
    'part[[]1].parquet'
    """
    return re.sub(r"([*?\[])", r"[\1]", path)


def bad_file(source: Stream | Relation, path: str, why: str) -> DataError:
    """The error that names a file."""
    if isinstance(source, Relation):
        return DataError(
            f"{path}: can't be read as table {source.name}: {why}",
            "repair or remove the file, or correct what CREATE TABLE says of it",
        )
    hint = "repair or remove the file, or correct what CREATE STREAM says of it"
    if source.on_bad_file == "stop":
        hint += "; with on_bad_file = 'skip' what is bad is set aside, and the run goes on"
    return DataError(f"{path}: can't be read as stream {source.name}: {why}", hint)
