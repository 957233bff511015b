"""A store on a local or shared directory, and the few ways in which files are written to disk."""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from thalweg.errors import EnvironmentProblem
from thalweg.state.store import Missing, Taken

UNFINISHED = ".unfinished-"
AT_ONCE = 16
NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


class LocalStore:
    """Files in one directory. Two processes that put the same name: one of them gets `Taken`."""

    def __init__(self, root: str | os.PathLike[str], durable: bool = True) -> None:
        self.root, self.durable = Path(root), durable

    def put(self, name: str, data: Any, flush: bool = True) -> None:
        """Write a hidden file, then give it its name by a link, which fails where the name is taken."""
        hidden = self.root / f"{UNFINISHED}{uuid.uuid4().hex}"
        flush = flush and self.durable
        write_file(hidden, data, flush, self.root / name)
        try:
            _link(hidden, self.root / name)
        finally:
            hidden.unlink(missing_ok=True)
        if flush:
            _flush(self.root)

    def get(self, name: str) -> Any:
        """The bytes of a file, mapped into memory."""
        path = self.root / name
        try:
            if path.stat().st_size == 0:
                return pa.py_buffer(b"")
            with pa.memory_map(str(path)) as source:
                return source.read_buffer()
        except FileNotFoundError:
            raise Missing(str(path)) from None
        except OSError as e:
            raise disk_problem(path, e) from e

    def list(self) -> list[str]:
        """The names, in order."""
        if not self.root.exists():
            return []
        with os.scandir(self.root) as found:
            return sorted(e.name for e in found if not e.name.startswith(".") and e.is_file())

    def delete(self, name: str) -> None:
        """Remove a file if it is there."""
        (self.root / name).unlink(missing_ok=True)

    def flush(self, names: Iterable[str]) -> None:
        """Write files and their directory through to the disk."""
        names = list(names)
        if self.durable and names:
            flush([*(self.root / name for name in names)])
            _flush(self.root)

    def tidy(self) -> None:
        """Remove hidden files that never got a name."""
        for path in self.root.glob(f"{UNFINISHED}*"):
            path.unlink(missing_ok=True)


def _link(hidden: Path, path: Path) -> None:
    try:
        path.hardlink_to(hidden)
    except FileExistsError:
        raise Taken(str(path)) from None
    except OSError as e:
        if e.errno not in NO_LINKS:
            raise disk_problem(path, e) from e
        if path.exists():
            raise Taken(str(path)) from None
        hidden.replace(path)


def write_file(path: Path, data: Any, flush: bool, shown: Path | None = None) -> None:
    """Write a file that was not there before, or none; what the disk refuses is told with `shown`, a full disk with its directory."""
    try:
        fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
            if flush:
                os.fsync(fd)
        finally:
            os.close(fd)
    except OSError as e:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        shown = shown or path
        raise disk_problem(shown.parent if e.errno in FULL else shown, e) from e


def flush(paths: Iterable[Path]) -> None:
    """Write files, and the names in directories, through to the disk: at once, as a disk makes one journal entry of what comes together."""
    paths = list(dict.fromkeys(paths))
    if len(paths) < 2:
        list(map(_flush, paths))
        return
    with ThreadPoolExecutor(min(len(paths), AT_ONCE)) as threads:
        list(threads.map(_flush, paths))


def _flush(path: Path) -> None:
    try:
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
    except OSError as e:
        raise disk_problem(path, e) from e


FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
HINTS = {
    **dict.fromkeys(FULL, "free some space there, then run again: nothing is lost"),
    errno.EACCES: "give this user the right to write there, or use another directory",
    errno.EROFS: "use a directory on a writable disk",
    errno.ENOTDIR: "a part of the path is a file: use another directory",
    errno.EEXIST: "there is a file of that name: use another directory",
    errno.EIO: "check the disk, then run again: what was committed is kept",
}


def disk_problem(path: Path, error: OSError) -> EnvironmentProblem:
    """An operating-system error as a message that says which thing and what to do."""
    return EnvironmentProblem(
        f"{path}: {(error.strerror or str(error)).lower()}", HINTS.get(error.errno or 0)
    )
