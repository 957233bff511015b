"""Result files of many queries at once: rows with their query-sets, and in the file's own words whose bit is which.

One file per pool, batch and hash range serves all queries of the pool that have no directory of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from thalweg.connectors.parquet import read_file
from thalweg.plan.pool import MEMBER, SET

MEMBERS = b"thalweg.members"


@dataclass(frozen=True)
class Part:
    """What of a shared file is one query's: the rows that have its bit in their query-set, or as their number; and for each column of its
    results the one that has it."""

    bit: int
    columns: Mapping[str, str]


def labelled(table: pa.Table, parts: Mapping[str, Part]) -> pa.Table:
    """A table with query-sets that says whose rows are which."""
    return table.replace_schema_metadata(
        {MEMBERS: json.dumps({q: {"bit": p.bit, "columns": dict(p.columns)} for q, p in parts.items()})}
    )


def chosen(table: pa.Table, part: Part) -> pa.Table:
    """The rows of one query."""
    return (
        table.select(list(part.columns.values()))
        .take(pa.array(places(table, part.bit)))
        .rename_columns(list(part.columns))
    )


def places(table: pa.Table, bit: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The places of the rows that have a bit."""
    if MEMBER in table.column_names:
        return np.flatnonzero(table.column(MEMBER).to_numpy() == bit)
    return np.flatnonzero(table.column(SET).to_numpy() & np.uint64(1 << bit))


def counted(table: pa.Table, parts: Mapping[str, Part]) -> dict[str, int]:
    """How many rows each query has, where it has any."""
    if MEMBER in table.column_names:
        times = np.bincount(
            table.column(MEMBER).to_numpy(), minlength=1 + max((p.bit for p in parts.values()), default=0)
        )
        return {q: int(times[p.bit]) for q, p in parts.items() if times[p.bit]}
    sets, times = np.unique(table.column(SET).to_numpy(), return_counts=True)
    found = {q: int(times[(sets & np.uint64(1 << p.bit)) != 0].sum()) for q, p in parts.items()}
    return {q: n for q, n in found.items() if n}


def shared_files(directory: Path, pools: Iterable[str], epoch: int, ended: int | None) -> list[Path]:
    """The files that may have results of a query that was in some pools, of the batches from its epoch to its end."""
    found = [path for pool in pools for path in (directory / pool).glob("batch-*.parquet")]
    return [path for path in found if epoch <= batch_of(path) and (ended is None or batch_of(path) < ended)]


def batch_of(path: Path) -> int:
    """The batch that a result file is of; -1 where it was given another name."""
    number = path.name.split("-")[1]
    return int(number) if number.isdigit() else -1


def read_part(path: Path, query: str) -> pa.Table | None:
    """The rows of a query in a shared file; None where it has none of its rows. The file is checked before it is asked."""
    table = read_file(path)
    said = (table.schema.metadata or {}).get(MEMBERS)
    part = json.loads(said).get(query) if said else None
    return None if part is None else chosen(table, Part(**part))
