"""State files: Arrow IPC streams, written once, read by memory map. Most are small, and a stream has no footer to write and to look up."""

from __future__ import annotations

import re
import uuid
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thalweg.state.checks import crc, damaged, missing
from thalweg.state.local import LocalStore
from thalweg.state.manifest import StateFile
from thalweg.state.store import Missing, Store


def write_state(root: str, fragment: str, table: pa.Table, batch: int, part: int, parts: int) -> StateFile:
    """Write one table of instances under a name that no other attempt uses. It is not flushed yet."""
    shown = re.sub(r"\W", "_", fragment)[:40]
    name = f"{batch:012d}-{part}of{parts}-{shown}-{uuid.uuid4().hex[:16]}.arrow"
    data = packed(table.combine_chunks())
    LocalStore(root).put(name, data, flush=False)
    ends = pc.min_max(table.column("slot")).as_py()
    return StateFile(
        fragment, name, part, parts, ends["min"], ends["max"], table.num_rows, data.size, crc(data)
    )


def packed(table: pa.Table) -> Any:
    """A table as an Arrow buffer."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def read_state(root: str, file: StateFile) -> pa.Table:
    """The table in a state file, without a copy; its checksum is looked at once per process and version of the file."""
    path = Path(root) / file.path
    try:
        data, seen = LocalStore(root).get(file.path), path.stat()
    except (Missing, FileNotFoundError):
        raise missing(str(path), "state file") from None
    if (
        data.size != file.bytes
        or checksum(str(path), seen.st_ino, seen.st_mtime_ns, seen.st_size) != file.crc
    ):
        checksum.cache_clear()
        raise damaged(str(path), "its checksum differs")
    try:
        return pa.ipc.open_stream(data).read_all()
    except (pa.ArrowInvalid, OSError) as e:
        raise damaged(str(path), str(e)) from e


@lru_cache(maxsize=65_536)
def checksum(path: str, inode: int, changed: int, size: int) -> int:
    """The checksum of a file as it stands on disk."""
    where = Path(path)
    return crc(LocalStore(where.parent).get(where.name))


def overlaps(file: StateFile, part: int, parts: int) -> bool:
    """Whether a file may hold keys of hash range `part` of `parts`.

    >>> [overlaps(StateFile("f", "p", 1, 2, 0, 0, 0, 0), p, 4) for p in range(4)]
    [False, False, True, True]
    """
    return file.part * parts < (part + 1) * file.parts and part * file.parts < (file.part + 1) * parts


def sweep(store: Store, keep: set[str]) -> int:
    """Remove state files that no manifest names; returns how many."""
    store.tidy()
    left = [name for name in store.list() if name not in keep]
    for name in left:
        store.delete(name)
    return len(left)
