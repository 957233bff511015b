"""Spark's own files of a session, which it neither flushes nor checks: put on disk and marked before a batch counts, checked at a start.

A batch names in its manifest the length and the checksum of each file that Spark would read if it were started after it. What Spark wrote
for batches that never counted is removed at a start: Spark makes it anew. So all that it reads then is what it wrote.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path

from thalweg.connectors.source_log import RESTORE
from thalweg.errors import StateError
from thalweg.state.checks import crc
from thalweg.state.manifest import Consumed, Manifest

METADATA = "metadata"
FIRST_COMMIT = b'v1\n{"nextBatchWatermarkMs":0}'


def files_of(checkpoint: Path, before: Manifest, made: Manifest) -> list[Path]:
    """What Spark has written since the batch before: the offsets of this one, that the one before has ended, and the logs of sources."""
    found = [
        checkpoint / "offsets" / str(made.batch),
        checkpoint / "commits" / str(made.batch - 1),
        checkpoint / METADATA,
    ]
    for stream, taken in made.consumed.items():
        since = before.consumed.get(stream, Consumed()).offset
        names = [f"{n}{end}" for n in range(since + 1, taken.offset + 1) for end in ("", ".compact")]
        found += [checkpoint / "sources" / stream / name for name in names]
    return [*(path for path in found if path.exists()), *_others(checkpoint, before, made.consumed)]


def _others(checkpoint: Path, before: Manifest, consumed: Mapping[str, Consumed]) -> Iterator[Path]:
    """New logs of sources that are not our own: of a user's DataFrames."""
    for folder in _folders(checkpoint / "sources"):
        if folder.name in consumed:
            continue
        known = [_number(name) for name in before.checkpoint if name.startswith(f"sources/{folder.name}/")]
        if not known:
            yield from (p for p in folder.iterdir() if _is_log(p.name))
            continue
        for number in count(max(known) + 1):
            new = [p for p in (folder / str(number), folder / f"{number}.compact") if p.exists()]
            if not new:
                break
            yield from new


def _folders(root: Path) -> list[Path]:
    if not root.exists():
        return []
    with os.scandir(root) as found:
        return [Path(e) for e in found if e.is_dir()]


def marks(checkpoint: Path, before: Manifest, made: Manifest) -> dict[str, str]:
    """The marks of all that Spark would read if it were started after a batch, by name."""
    found = {str(path.relative_to(checkpoint)): mark(path) for path in files_of(checkpoint, before, made)}
    known = {**before.checkpoint, **found}
    starts = _starts(known)
    return {name: each for name, each in known.items() if _is_read(name, made.batch, starts)}


def mark(path: Path) -> str:
    """The length and the checksum of a file."""
    data = path.read_bytes()
    return f"{len(data)}-{crc(data):08x}"


def _starts(names: Iterable[str]) -> dict[str, int]:
    """The last compact log of each source, from which on logs are read."""
    found: dict[str, int] = {}
    for name in (n for n in names if n.endswith(".compact")):
        folder = name.rpartition("/")[0]
        found[folder] = max(found.get(folder, 0), _number(name))
    return found


def _is_read(name: str, batch: int, starts: Mapping[str, int]) -> bool:
    """Of offsets and ended batches the last two are read, of logs those from the last compact one on."""
    folder = name.rpartition("/")[0]
    if folder in ("offsets", "commits"):
        return _number(name) >= batch - 1
    return name == METADATA or _number(name) >= starts.get(folder, 0)


def check_marks(checkpoint: Path, last: Manifest) -> None:
    """Refuse to start Spark where a file that it would read is not what it wrote."""
    for name, known in last.checkpoint.items():
        path = checkpoint / name
        if not path.exists():
            raise StateError(f"{path}: a file of Spark's checkpoint is missing", RESTORE)
        if mark(path) != known:
            raise StateError(f"{path}: damaged file of Spark's checkpoint (its checksum differs)", RESTORE)


def forget_uncommitted(checkpoint: Path, last: Manifest, streams: Iterable[str]) -> list[Path]:
    """Remove what Spark wrote for batches that never counted: offsets, and logs of our streams.

    So too the note that the last batch has ended, which comes after its manifest, unless it is as it should be: then Spark gives that batch
    again, which changes nothing.
    """
    lost = [p for p in _logs(checkpoint / "offsets") if _number(p.name) > last.batch]
    lost += [p for p in _logs(checkpoint / "commits") if _number(p.name) > last.batch]
    lost += [
        p
        for p in _logs(checkpoint / "commits")
        if _number(p.name) == last.batch and not _is_as_before(p, last)
    ]
    for stream in {*last.consumed, *streams}:
        offset = last.consumed.get(stream, Consumed()).offset
        lost += [p for p in _logs(checkpoint / "sources" / stream) if _number(p.name) > offset]
    if last.batch < 0:
        lost += [p for p in (checkpoint / METADATA,) if p.exists()]
    for path in lost:
        path.unlink()
    return lost


def _is_as_before(path: Path, last: Manifest) -> bool:
    """Whether it says that a batch has ended as the one before did, which was marked; the last one comes after its manifest."""
    known = last.checkpoint.get(f"commits/{last.batch - 1}")
    return mark(path) == known if known is not None else path.read_bytes() == FIRST_COMMIT


def _logs(folder: Path) -> list[Path]:
    return [p for p in folder.iterdir() if _is_log(p.name)] if folder.exists() else []


def _is_log(name: str) -> bool:
    return name.removesuffix(".compact").isdecimal()


def _number(name: str) -> int:
    return int(name.rpartition("/")[2].removesuffix(".compact"))
