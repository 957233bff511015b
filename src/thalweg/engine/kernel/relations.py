"""Static tables as a task reads them: once per worker, for as long as the files stay the same."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import duckdb
import pyarrow as pa

from thalweg.engine.kernel.chunks import files_sql
from thalweg.engine.kernel.connection import clean_message, query, run
from thalweg.errors import DataError
from thalweg.logical.stream import Relation

Stamp = tuple[tuple[str, int, int], ...]


def relation_rows(relation: Relation, sql: str) -> pa.Table:
    """What a statement over `scan` gives for a relation."""
    return _rows(relation, sql, _stamp(relation))


def relation_files(relation: Relation) -> list[Path]:
    """The files of a relation: one, or all of a directory."""
    path = Path(relation.path)
    found = sorted(p for p in path.glob("*") if p.is_file() and not p.name.startswith((".", "_"))) if path.is_dir() else [path]
    if not found or not all(p.exists() for p in found):
        raise DataError(f"{path}: table {relation.name} has no such file", "check the path in CREATE TABLE")
    return found


def _stamp(relation: Relation) -> Stamp:
    return tuple((str(p), p.stat().st_mtime_ns, p.stat().st_size) for p in relation_files(relation))


@lru_cache(maxsize=64)
def _rows(relation: Relation, sql: str, files: Stamp) -> pa.Table:
    columns = ", ".join(f'CAST("{_escaped(c.name)}" AS {c.type}) AS "{_escaped(c.name)}"' for c in relation.columns)
    try:
        run(f"CREATE OR REPLACE TEMP VIEW scan AS SELECT {columns} FROM {files_sql(relation, [name for name, _, _ in files])}")
        return query(sql)
    except (duckdb.Error, pa.ArrowException) as e:
        raise DataError(f"{relation.path}: can't be read as table {relation.name}: {clean_message(e)}", "repair the file") from e


def _escaped(name: str) -> str:
    return name.replace('"', '""')
