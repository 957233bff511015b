"""Spark's own logs of the files that a stream has taken: `offsets` says how far each batch went, `sources` names the files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote

from thalweg.connectors.reading.naming import local_path
from thalweg.errors import StateError
from thalweg.state.manifest import Consumed

RESTORE = "restore the whole session directory from a copy, or start anew in another directory"


@dataclass(frozen=True)
class Entry:
    """A file that a stream has taken, and the number under which it stands in the log."""

    path: str
    number: int

    @property
    def file(self) -> str:
        """The path of the file; the log has it percent-encoded.

        >>> Entry("file:///data/part%5B1%5D.parquet", 0).file
        '/data/part[1].parquet'
        """
        return local_path(unquote(self.path))


def offsets_of(checkpoint: Path, batch: int) -> dict[str, int]:
    """The last number of each stream of files in a batch; nothing where Spark has logged none."""
    path = checkpoint / "offsets" / str(batch)
    if not path.exists():
        return {}
    lines = (line.partition(":") for line in path.read_text().splitlines()[2:])
    return {name: number for name, _, text in lines if (number := _log_offset(text)) is not None}


def _log_offset(text: str) -> int | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    number = found.get("logOffset") if isinstance(found, dict) else None
    return number if isinstance(number, int) else None


def entries(log: Path, first: int, last: int) -> list[Entry]:
    """What stands in a log under the numbers from first to last."""
    found: list[Entry] = []
    while first <= last:
        plain, compact = log / str(first), log / f"{first}.compact"
        if plain.exists():
            found.extend(_read(plain))
        elif compact.exists():
            found.extend(e for e in _read(compact, first) if e.number == first)
        first += 1
    return found


def all_entries(log: Path, last: int, first: int = 0) -> list[Entry]:
    """All that stands in a log from a number up to another: in the last compact file, and in those after it. Damage is an error that names
    the file."""
    compacts = [n for p in log.glob("*.compact") if (n := _number(p)) is not None and n <= last]
    start = max(compacts, default=-1)
    found = [*_read(log / f"{start}.compact", first)] if start >= first else []
    for number in range(max(start + 1, first), last + 1):
        path = log / str(number)
        if not path.exists():
            raise StateError(f"{path}: a file of Spark's checkpoint is missing", RESTORE)
        found.extend(_read(path))
    return found


def _number(path: Path) -> int | None:
    return int(path.stem) if path.stem.isdecimal() else None


def _read(path: Path, since: int = 0) -> Iterator[Entry]:
    """The entries of a file; only those at its end that have a number from `since` on."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as e:
        raise StateError(f"{path}: damaged file of Spark's checkpoint ({e})", RESTORE) from e
    if not lines or not lines[0].startswith("v"):
        raise StateError(f"{path}: damaged file of Spark's checkpoint (it does not say its version)", RESTORE)
    for line in reversed(lines[1:]):
        entry = _entry(line, path)
        if entry.number < since:
            return
        yield entry


def _entry(line: str, path: Path) -> Entry:
    try:
        found = json.loads(line)
        return Entry(str(found["path"]), int(found["batchId"]))
    except (ValueError, KeyError, TypeError) as e:
        raise StateError(f"{path}: damaged file of Spark's checkpoint (a line of it is none)", RESTORE) from e


def consumed(before: Consumed, offset: int, new: Iterable[Entry]) -> Consumed:
    """What a stream has taken, after more."""
    paths = [e.path for e in new]
    return Consumed(offset, before.files + len(paths), _names(paths, before.names))


def _names(paths: Iterable[str], start: str = "") -> str:
    """A sum over names that no order changes."""
    total = int(start, 16) if start else 0
    for path in paths:
        total ^= int.from_bytes(sha256(path.encode()).digest()[:16], "big")
    return f"{total:032x}"


def check_log(checkpoint: Path, committed: Mapping[str, Consumed]) -> None:
    """Refuse to go on where a log has lost files that were read: they would be read again."""
    for stream, known in committed.items():
        log = checkpoint / "sources" / stream
        found = consumed(
            Consumed(), known.offset, (e for e in all_entries(log, known.offset) if e.number <= known.offset)
        )
        if found != known:
            said = f"it names {found.files:,} files, and not the {known.files:,} that were read"
            raise StateError(f"{log}: damaged log of Spark's checkpoint: {said}", RESTORE)


def check_offset(checkpoint: Path, batch: int, stream: str, last: int, known: Consumed) -> None:
    """Refuse a batch that ends where the log of its stream never was, or before what was read: files would be lost, or read again."""
    log = checkpoint / "sources" / stream
    if last == known.offset or (
        last > known.offset and any((log / name).exists() for name in (str(last), f"{last}.compact"))
    ):
        return
    path = checkpoint / "offsets" / str(batch)
    raise StateError(
        f"{path}: damaged file of Spark's checkpoint (stream {stream} ends at {last:,}, after {known.offset:,})",
        RESTORE,
    )
