"""Static tables as a task reads them: once per worker, for as long as the files stay the same."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import duckdb
import pyarrow as pa

from thalweg.connectors.reading.footers import check_schema
from thalweg.connectors.reading.texts import check_header
from thalweg.engine.kernel.chunks import check_filled, files_sql, values_sql
from thalweg.engine.kernel.connection import Reach, check_declared, clean_message, links_of, open_connection
from thalweg.errors import DataError
from thalweg.expr.nested import holds_floats
from thalweg.model.stream import Relation

Stamp = tuple[tuple[str, int, int], ...]


def relation_rows(relation: Relation, sql: str) -> pa.Table:
    """What a statement over `scan` gives for a relation."""
    check_declared([relation.path])
    return _rows(relation, sql, _stamp(relation))


def relation_files(relation: Relation) -> list[Path]:
    """The files of a relation: one, or all of a directory."""
    path = Path(relation.path)
    found = (
        sorted(p for p in path.glob("*") if p.is_file() and not p.name.startswith((".", "_")))
        if path.is_dir()
        else [path]
    )
    if not found or not all(p.exists() for p in found):
        raise DataError(f"{path}: table {relation.name} has no such file", "check the path in CREATE TABLE")
    return found


def check_relation(relation: Relation) -> None:
    """Refuse a table without files, or whose first file has not the columns that are declared."""
    first = str(relation_files(relation)[0])
    check_filled(relation, [first])
    if relation.format == "parquet":
        check_schema(relation, first)
    elif relation.format == "csv":
        check_header(relation, first)


def _stamp(relation: Relation) -> Stamp:
    return tuple((str(p), p.stat().st_mtime_ns, p.stat().st_size) for p in relation_files(relation))


@lru_cache(maxsize=64)
def _rows(relation: Relation, sql: str, files: Stamp) -> pa.Table:
    columns = ", ".join(values_sql(relation, relation.columns))
    paths = [name for name, _, _ in files]
    check_filled(relation, paths)
    for path in paths if relation.format == "parquet" else ():
        check_schema(relation, path)
    try:
        with open_connection(Reach((relation.path,)), links_of((relation.path,), paths)) as con:
            # Parquet's least and greatest values leave out NaN; a comparison that is decided by them would be wrong for it.
            kept = "TABLE" if any(holds_floats(c.type) for c in relation.columns) else "VIEW"
            con.execute(
                f"CREATE TEMP {kept} scan AS SELECT {columns} FROM {files_sql(relation, paths)}"
            ).fetchall()
            return con.sql(sql).to_arrow_table()
    except (duckdb.Error, pa.ArrowException) as e:
        raise DataError(
            f"{relation.path}: can't be read as table {relation.name}: {clean_message(e)}", "repair the file"
        ) from e
