"""Files that can't be read as declared: whether as a whole or for some rows, which are set aside while the others count.

Whether a row fits depends on it alone: on the columns that are read, each as a batch without bad rows reads it. So no split into batches
changes it.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from thalweg.connectors.reading.footers import check_schema
from thalweg.connectors.reading.naming import bad_file
from thalweg.connectors.reading.texts import check_header, dialect_of
from thalweg.engine.kernel.chunks import check_filled, check_times, files_sql, scan_sql
from thalweg.engine.kernel.connection import clean_message, renew, run
from thalweg.engine.kernel.misfits import json_misfits, parquet_misfits
from thalweg.engine.kernel.rejects import csv_misfits
from thalweg.errors import DataError
from thalweg.expr.quoting import identifier
from thalweg.model.stream import Column, Stream
from thalweg.state.local import disk_problem
from thalweg.state.manifest import SetAside

MISFITS = {"csv": csv_misfits, "json": json_misfits, "parquet": parquet_misfits}
_ENVIRONMENT = re.compile(
    r"no space left|input/output error|permission denied|too many open files|cannot allocate|stale file",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Judged:
    """A file with bad rows: the table of those that are good, and the place, column, value and reason of each bad one."""

    table: str
    bad: pa.Table

    def first(self, stream: Stream, path: str, most: int) -> tuple[SetAside, ...]:
        """The first bad rows."""
        rows = self.bad.slice(0, most).to_pylist()
        return tuple(
            SetAside(stream.name, path, r["reason"], r["place"], r["column"], r["value"]) for r in rows
        )


def check_file(stream: Stream, path: str, columns: Sequence[Column] | None = None) -> None:
    """Refuse a file that can't be read as the stream declares, or has a row that can't, and say where and why."""
    found = judged(stream, path, stream.columns if columns is None else columns, "judged_rows")
    if found is not None:
        run(f"DROP TABLE {found.table}")
        raise bad_file(stream, path, found.first(stream, path, 1)[0].words)


def judged(stream: Stream, path: str, columns: Sequence[Column], table: str) -> Judged | None:
    """Tell good rows of a file from bad ones; None where all are good, an error where it is bad as a whole."""
    with _blamed(stream, path, table):
        _check_whole(stream, path)
        try:
            _probe(stream, path, columns)
            return None
        except duckdb.Error as e:
            if is_environment(e) or _is_broken(e):
                raise
            bad = MISFITS[stream.format](stream, path, columns, table)
            if not bad.num_rows:
                raise
        _check_timed(stream, path, table)
    return Judged(table, bad)


def is_environment(error: Exception) -> bool:
    """Whether what a read met is no fault of the file."""
    if isinstance(error, duckdb.OutOfMemoryException | duckdb.InterruptException):
        return True
    return isinstance(error, duckdb.IOException) and _ENVIRONMENT.search(str(error)) is not None


def _is_broken(error: Exception) -> bool:
    return isinstance(error, duckdb.InternalException | duckdb.FatalException)


@contextmanager
def _blamed(stream: Stream, path: str, table: str) -> Iterator[None]:
    """What a file is to blame for is told with its name, and no table of it is left; where DuckDB itself has failed over it, another
    connection goes on."""
    try:
        yield
    except DataError:
        run(f"DROP TABLE IF EXISTS numbered; DROP TABLE IF EXISTS {table}")
        raise
    except (duckdb.Error, pa.ArrowException) as e:
        if is_environment(e):
            raise
        if _is_broken(e):
            renew()
        raise bad_file(stream, path, clean_message(e)) from e


def _check_whole(stream: Stream, path: str) -> None:
    """Refuse a file without a byte, or without a declared column. One that can't be opened just now may be fine."""
    check_filled(stream, [path])
    try:
        with Path(path).open("rb") as file:
            file.read(1)
    except OSError as e:
        if e.errno == errno.ENOENT:
            raise bad_file(stream, path, "it is gone") from e
        raise disk_problem(Path(path), e) from e
    if stream.format == "parquet":
        check_schema(stream, path)
    elif stream.format == "csv" and dialect_of(stream).header:
        check_header(stream, path)


def _probe(stream: Stream, path: str, columns: Sequence[Column]) -> None:
    """Read a file as a batch does."""
    try:
        run(
            f"CREATE OR REPLACE TEMP TABLE probe AS {scan_sql(stream, files_sql(stream, [path]), [c.name for c in columns])}"
        )
        check_times(stream, [path])
    finally:
        with suppress(duckdb.Error):  # of a connection that is lost with what it read
            run("DROP TABLE IF EXISTS probe")


def _check_timed(stream: Stream, path: str, table: str) -> None:
    """Refuse JSON in which no good row has a time, as `check_times` does."""
    if not stream.time:
        return
    rows, timed = run(f"SELECT count(*), count({identifier(stream.time)}) FROM {table}")[0]
    if stream.format == "json" and rows and not timed:
        raise bad_file(stream, path, f"no row of it has a value of {stream.time}, the time of the stream")
