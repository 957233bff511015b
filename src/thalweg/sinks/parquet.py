"""Parquet result directories: a file is staged in a hidden folder and appears by one rename."""

from __future__ import annotations

import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.errors import StateError
from thalweg.state.manifest import Staged

STAGING = "_thalweg_staging"


def stage(directory: str, table: pa.Table, batch: int, part: int) -> str:
    """Write a result table where no reader looks; returns its path."""
    folder = Path(directory) / STAGING
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{batch:012d}-{part:05d}-{uuid.uuid4().hex[:12]}.parquet"
    pq.write_table(with_zone(table), path)
    return str(path)


def with_zone(table: pa.Table) -> pa.Table:
    """Event times are instants: mark them as UTC, also within a window, so that Spark reads TIMESTAMP."""
    return table.cast(pa.schema([pa.field(f.name, _zoned(f.type)) for f in table.schema]))


def _zoned(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(f.name, _zoned(f.type)) for f in type_])
    return pa.timestamp("us", "UTC") if type_ == pa.timestamp("us") else type_


def final_path(directory: str, batch: int, number: int) -> str:
    """The name under which a file of a batch is shown."""
    return str(Path(directory) / f"batch-{batch:012d}-{number:05d}.parquet")


def publish(file: Staged) -> None:
    """Show a committed file. Doing it twice is doing it once."""
    staged, final = Path(file.staged), Path(file.final)
    if staged.exists():
        final.parent.mkdir(parents=True, exist_ok=True)
        staged.replace(final)
    elif not final.exists():
        raise StateError(f"{final}: a committed result file is missing", "restore it from a copy, or start anew in another directory")


def sweep_staged(directory: str, keep: set[str]) -> None:
    """Remove staged files that no committed batch names."""
    for path in (Path(directory) / STAGING).glob("*.parquet"):
        if str(path) not in keep:
            path.unlink(missing_ok=True)
