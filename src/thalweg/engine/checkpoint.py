"""Spark's own files of a session, which it does not flush: put on disk before a batch counts, and mended after a power cut."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from thalweg.state.manifest import Consumed, Manifest


def files_of(checkpoint: Path, before: Manifest, made: Manifest) -> list[Path]:
    """What Spark has written of a batch before it ran: its offsets, and the logs of the files that its sources found."""
    found = [checkpoint / "offsets" / str(made.batch), checkpoint / "metadata"]
    for stream, taken in made.consumed.items():
        since = before.consumed.get(stream, Consumed()).offset
        names = [f"{n}{end}" for n in range(since + 1, taken.offset + 1) for end in ("", ".compact")]
        found += [checkpoint / "sources" / stream / name for name in names]
    return [path for path in found if path.exists()]


def mend(checkpoint: Path, last: Manifest) -> list[Path]:
    """Remove what a power cut has emptied of a batch that was never committed, and of notes that a batch has ended: Spark makes them anew.

    Whatever else is damaged is left for Spark, or for the check of its logs, to refuse.
    """
    following = checkpoint / "offsets" / str(last.batch + 1)
    lost = [path for path in _uncommitted(checkpoint, last) if _is_empty(path)]
    if (lost or (following.exists() and _is_empty(following))) and following.exists():
        lost.append(following)
    lost += [path for path in checkpoint.glob("commits/[0-9]*") if int(path.name) >= last.batch and _is_empty(path)]
    for path in lost:
        path.unlink()
    return lost


def _uncommitted(checkpoint: Path, last: Manifest) -> Iterator[Path]:
    """The logs of files that no committed batch has taken."""
    for stream, taken in last.consumed.items():
        logs = (checkpoint / "sources" / stream).glob("[0-9]*")
        yield from (path for path in logs if path.stem.isdecimal() and int(path.stem) > taken.offset)


def _is_empty(path: Path) -> bool:
    """Whether a file has nothing, or nothing but zeros, as a disk may leave it that was told its length only."""
    return not path.read_bytes().strip(b"\0")
