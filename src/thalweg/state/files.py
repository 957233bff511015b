"""State files: Arrow IPC streams, written once, read by memory map. Most are small, and a stream has no footer to write and to look up."""

from __future__ import annotations

import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from thalweg.errors import StateError
from thalweg.state.manifest import StateFile


def write_state(root: str, fragment: str, table: pa.Table, batch: int, part: int, parts: int) -> StateFile:
    """Write one table of instances under a name that no other attempt uses."""
    relative = f"{fragment}/{batch:012d}-{part}of{parts}-{uuid.uuid4().hex[:12]}.arrow"
    path = Path(root) / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    ends = pc.min_max(table.column("slot")).as_py()
    return StateFile(fragment, relative, part, parts, ends["min"], ends["max"], table.num_rows, path.stat().st_size)


def read_state(root: str, file: StateFile) -> pa.Table:
    """The table in a state file, without a copy."""
    path = Path(root) / file.path
    try:
        with pa.memory_map(str(path)) as source:
            table = pa.ipc.open_stream(source).read_all()
    except FileNotFoundError:
        raise StateError(f"{path}: state file is missing", "restore it from a copy, or start anew in another directory") from None
    except (pa.ArrowInvalid, OSError) as e:
        raise StateError(f"{path}: damaged state file ({e})", "restore it from a copy, or start anew in another directory") from e
    if table.num_rows != file.rows:
        raise StateError(f"{path}: damaged state file ({table.num_rows} rows, not {file.rows})", "restore it from a copy")
    return table


def overlaps(file: StateFile, part: int, parts: int) -> bool:
    """Whether a file may hold keys of hash range `part` of `parts`.

    >>> [overlaps(StateFile("f", "p", 1, 2, 0, 0, 0, 0), p, 4) for p in range(4)]
    [False, False, True, True]
    """
    return file.part * parts < (part + 1) * file.parts and part * file.parts < (file.part + 1) * parts


def sweep(root: Path, keep: set[str]) -> int:
    """Remove state files that no manifest names; returns how many."""
    removed = 0
    for folder in root.iterdir() if root.exists() else ():
        for path in folder.glob("*.arrow"):
            if f"{folder.name}/{path.name}" not in keep:
                path.unlink(missing_ok=True)
                removed += 1
        if not any(folder.iterdir()):
            folder.rmdir()
    return removed
