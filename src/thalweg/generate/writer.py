"""Generated streams as directories of files that a streaming reader may follow while they are written."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from thalweg.errors import EnvironmentProblem, UsageError
from thalweg.generate.encode import ENCODERS, Encoder
from thalweg.generate.generator import Generator
from thalweg.model.stream import FILE_FORMATS

_MILLISECOND = 1_000_000


@dataclass(frozen=True)
class Summary:
    """What was written: files, events over all streams, and events by stream."""

    files: int
    events: int
    streams: dict[str, int]


def write(
    generator: Generator,
    directory: str | Path,
    format: str = "parquet",
    events_per_file: int = 100_000,
    progress: Callable[[int], None] | None = None,
    overwrite: bool = False,
) -> Summary:
    """Write every stream into its own folder of `directory`; a file n holds what arrived among the n-th `events_per_file` events.

    `progress` is called with the number of events done so far. With `overwrite`, files of an earlier run are removed first.
    """
    if format not in FILE_FORMATS:
        raise UsageError(f"unknown format '{format}'", f"choose one of {', '.join(FILE_FORMATS)}")
    if events_per_file < 1:
        raise UsageError(f"{events_per_file} events per file", "give 1 or more")
    try:
        return _write(
            generator, _folders(generator, Path(directory), overwrite), format, events_per_file, progress
        )
    except OSError as error:
        raise EnvironmentProblem(
            f"can't write to {directory}: {error.strerror or error}", "check the disk and its permissions"
        ) from error


def _write(
    generator: Generator,
    folders: dict[str, Path],
    format: str,
    size: int,
    progress: Callable[[int], None] | None,
) -> Summary:
    digits = max(6, len(str(generator.events // size)))
    published = Publisher(ENCODERS[format]())
    rows = Counter(dict.fromkeys(folders, 0))
    for number, tables in enumerate(generator.chunks(size)):
        for stream, table in tables.items():
            published.add(table, folders[stream] / f"part-{number:0{digits}}.{format}")
            rows[stream] += table.num_rows
        if progress:
            progress(rows.total())
    return Summary(published.files, rows.total(), dict(rows))


class Publisher:
    """Makes files visible only when whole, each with a later modification time than the one before."""

    def __init__(self, encode: Encoder) -> None:
        self.files = 0
        self._encode = encode
        self._last = 0

    def add(self, table: pa.Table, path: Path) -> None:
        """Write a table under a hidden name, then give it its own; an empty one leaves no file."""
        if table.num_rows == 0:
            return
        hidden = path.with_name(f".{path.name}.tmp")
        try:
            self._encode(table, hidden)
            self._last = max(time.time_ns() // _MILLISECOND, self._last + 1)
            os.utime(hidden, ns=(self._last * _MILLISECOND, self._last * _MILLISECOND))
            hidden.replace(path)
        finally:
            hidden.unlink(missing_ok=True)
        self.files += 1


def _folders(generator: Generator, directory: Path, overwrite: bool) -> dict[str, Path]:
    """A folder per stream, there and without data."""
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is not a directory", "choose another one")
    if directory.is_dir() and any(directory.iterdir()) and not overwrite:
        raise UsageError(
            f"{directory} is not empty", "choose another directory, or give --overwrite (overwrite=True)"
        )
    folders = {stream: directory / stream for stream in generator.schemas}
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
        for old in (*folder.glob("part-*"), *folder.glob(".part-*")):
            old.unlink()
    return folders
