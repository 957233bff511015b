"""Parquet result directories: a file is staged in a hidden folder and appears by one rename."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.errors import StateError
from thalweg.state.checks import crc
from thalweg.state.local import disk_problem, write_file
from thalweg.state.manifest import Staged

STAGING = "_thalweg_staging"
SHOWN = re.compile(r"batch-\d+-\d+-[0-9a-f]{8}\.parquet")
SMALL = 1_000_000
"""Bytes of a file that one thread has read before several would have begun."""


class Sink:
    """Files `batch-BATCH-NUMBER-CHECKSUM.parquet` in a directory."""

    def __init__(self, address: str) -> None:
        self.address, self.directory = address, Path(address)
        self.staging = self.directory / STAGING

    def stage(self, table: pa.Table, batch: int, part: int) -> str:
        """Write a table into the hidden folder; its name ends with its checksum."""
        try:
            self.staging.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise disk_problem(self.staging, e) from e
        data = _encoded(with_zone(table))
        name = f"{batch:012d}-{part:05d}-{uuid.uuid4().hex[:12]}-{crc(data):08x}.parquet"
        write_file(self.staging / name, data, flush=False, shown=self.directory / name)
        return name

    def staged_files(self, token: str) -> list[Path]:
        """The hidden file."""
        return [self.staging / token]

    def named(self, token: str, batch: int, number: int) -> Staged:
        """The name under which a file will be shown ends with the same checksum."""
        shown = self.directory / f"batch-{batch:012d}-{number:05d}-{_checksum(token)}.parquet"
        return Staged(self.address, token, str(shown))

    def staged_folders(self) -> list[Path]:
        """The hidden folder, and the one that it is in."""
        return [self.staging, self.directory]

    def commit(self, staged: Sequence[Staged]) -> None:
        """Rename files into place. A staged file that is gone was shown before."""
        for each in staged:
            path, shown = self.staging / each.token, Path(each.shown)
            try:
                if path.exists():
                    path.replace(shown)
            except OSError as e:
                raise disk_problem(shown, e) from e

    def recover(self, staged: Sequence[Staged]) -> None:
        """Rename what is still hidden, if it is what was written."""
        for each in staged:
            if (path := self.staging / each.token).exists():
                _check(path)
        self.commit(staged)

    def sweep(self) -> None:
        """Remove hidden files."""
        for path in self.staging.glob("*.parquet"):
            path.unlink(missing_ok=True)


def _encoded(table: pa.Table) -> Any:
    """A table as a file. Texts alone have dictionaries: to look for equal numbers takes as long as all else, for a seventh of the bytes. Times
    are written as differences, which takes a third of the time and of the bytes."""
    texts = [f.name for f in table.schema if pa.types.is_string(f.type)]
    times = [f.name for f in table.schema if pa.types.is_timestamp(f.type)]
    made, differences = pa.BufferOutputStream(), dict.fromkeys(times, "DELTA_BINARY_PACKED")
    pq.write_table(table, made, use_dictionary=texts or False, column_encoding=differences or None)
    return made.getvalue()


def with_zone(table: pa.Table) -> pa.Table:
    """Event times are instants: mark them as UTC, also within a window, so that Spark reads TIMESTAMP."""
    return table.cast(
        pa.schema([pa.field(f.name, _zoned(f.type)) for f in table.schema], table.schema.metadata)
    )


def _zoned(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(f.name, _zoned(f.type)) for f in type_])
    if pa.types.is_list(type_):
        return pa.list_(_zoned(type_.value_type))
    if pa.types.is_map(type_):
        return pa.map_(_zoned(type_.key_type), _zoned(type_.item_type))
    return pa.timestamp("us", "UTC") if type_ == pa.timestamp("us") else type_


def read_file(path: Path) -> pa.Table:
    """The rows of a result file, if they are what was written. A file that was given another name is read as it is."""
    data = _check(path) if SHOWN.fullmatch(path.name) else path.read_bytes()
    return pq.ParquetFile(pa.BufferReader(data)).read(use_threads=len(data) > SMALL)


def _check(path: Path) -> bytes:
    data = path.read_bytes()
    if f"{crc(data):08x}" != _checksum(path.name):
        raise StateError(
            f"{path}: damaged (its checksum is not the one in its name)", "restore it from a copy"
        )
    return data


def _checksum(name: str) -> str:
    return name.removesuffix(".parquet").rpartition("-")[2]
