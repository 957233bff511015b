"""Rows that are pushed, as a table of the declared columns: JSON lines, CSV, Arrow. What can't be read as declared is refused, all of it,
with the place and the reason of what is bad; by the same rules as files are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from uuid import uuid4

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from thalweg.api.results import arrow_type
from thalweg.connectors.reading.footers import EARLIEST, LATEST, misfitting
from thalweg.engine.kernel.chunks import check_filled, files_sql, scan_sql
from thalweg.engine.kernel.connection import Reach, Tables, permit, query, run
from thalweg.engine.kernel.judging import is_environment, judged
from thalweg.engine.kernel.sifting import reason
from thalweg.errors import DataError
from thalweg.expr.nested import is_nested
from thalweg.model.stream import Stream
from thalweg.state.local import write_file
from thalweg.state.manifest import SetAside

READERS = 2
SHOWN = 20
"""Bad rows that are told one by one."""
NOTHING = "nothing of it was taken: correct it, and push all of it again"


class BadRows(DataError):
    """Rows that can't be read as declared: the first of them, and how many there are."""

    def __init__(self, message: str, rows: tuple[SetAside, ...] = (), count: int = 0) -> None:
        super().__init__(message, NOTHING)
        self.rows, self.count = rows, count


def rows_of(stream: Stream, form: str, body: bytes, folder: Path) -> pa.Table:
    """The rows of a body: `json` (lines), `csv` or `arrow` (an IPC stream). `folder` is where it may lie while it is read."""
    return _readers().submit(_timed, stream, lambda s: FORMS[form](s, body, folder)).result()


def table_rows(stream: Stream, table: pa.Table, folder: Path) -> pa.Table:
    """The rows of a table."""
    return _readers().submit(_timed, stream, lambda s: _from_table(s, table, folder)).result()


@cache
def _readers() -> ThreadPoolExecutor:
    """A few threads, each with its connection: who pushes waits for one of them."""
    return ThreadPoolExecutor(READERS, "thalweg-push")


def _from_json(stream: Stream, body: bytes, folder: Path) -> pa.Table:
    if body.lstrip()[:1] == b"[":
        raise BadRows(f"stream {stream.name}: rows are pushed one JSON object a line, not as a list")
    return _from_file(stream, "json", folder, lambda path: write_file(path, body, flush=False))


def _from_csv(stream: Stream, body: bytes, folder: Path) -> pa.Table:
    if nested := next((c.name for c in stream.columns if is_nested(c.type)), None):
        raise BadRows(f"stream {stream.name}: CSV can't have the column {nested}; push JSON lines or Arrow")
    return _from_file(stream, "csv", folder, lambda path: write_file(path, body, flush=False))


def _from_arrow(stream: Stream, body: bytes, folder: Path) -> pa.Table:
    try:
        with pa.ipc.open_stream(body) as reader:
            table = reader.read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as e:
        said = str(e).splitlines()[0] if str(e) else "no Arrow"
        raise BadRows(f"stream {stream.name}: it is no Arrow IPC stream ({said})") from None
    return _from_table(stream, table, folder)


def _from_table(stream: Stream, table: pa.Table, folder: Path) -> pa.Table:
    """A table with the declared columns; where its types are others that fit, by way of a file, as files are read."""
    places = {name.lower(): i for i, name in enumerate(table.column_names)}
    if len(places) < table.num_columns:
        raise BadRows(f"stream {stream.name}: two columns have one name")
    types = {name: table.schema.field(i).type for name, i in places.items()}
    for column in stream.columns:
        if why := misfitting(column, types.get(column.name.lower())):
            raise BadRows(f"stream {stream.name}: {why}")
    for column in (c for c in stream.columns if c.name.lower() not in places):
        places[column.name.lower()] = table.num_columns
        table = table.append_column(column.name, pa.nulls(table.num_rows, arrow_type(column.type)))
    chosen = table.select([places[c.name.lower()] for c in stream.columns])
    chosen = chosen.rename_columns([c.name for c in stream.columns])
    if all(_is_plain(f.type, arrow_type(c.type)) for f, c in zip(chosen.schema, stream.columns, strict=True)):
        return _typed(stream, chosen)
    return _from_file(stream, "parquet", folder, lambda path: pq.write_table(chosen, path))


def _is_plain(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether values can be taken as they are; a time without a zone is in UTC."""
    if pa.types.is_timestamp(found):
        return bool(pa.types.is_timestamp(wanted)) and found.unit == "us"
    return bool(found == wanted) or (pa.types.is_large_string(found) and pa.types.is_string(wanted))


def _from_file(stream: Stream, form: str, folder: Path, write: Callable[[Path], None]) -> pa.Table:
    read = replace(stream, format=form, options=(), on_bad_file="skip")
    with _written(folder, form, write) as path:
        permit(Reach((str(folder),), str(folder / "spill")))
        try:
            check_filled(read, [path])
            found = query(scan_sql(read, files_sql(read, [path])))
        except (duckdb.Error, DataError) as error:
            if is_environment(error):
                raise
            raise _judged(read, path, error) from None
    return _typed(stream, found.drop_columns("__time"))


@contextmanager
def _written(folder: Path, form: str, write: Callable[[Path], None]) -> Iterator[str]:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{uuid4().hex}.{form}"
    try:
        write(path)
        yield str(path)
    finally:
        path.unlink(missing_ok=True)


def _judged(read: Stream, path: str, error: Exception) -> BadRows:
    """What is bad, by the words that files have."""
    try:
        found = judged(read, path, read.columns, "pushed_rows")
    except DataError as e:
        return BadRows(f"stream {read.name}: {reason(e)}")
    if found is None:
        return BadRows(f"stream {read.name}: {reason(error) if isinstance(error, DataError) else error}")
    run(f"DROP TABLE IF EXISTS {found.table}")
    return _bad(read, found.first(read, "", SHOWN), found.bad.num_rows)


def _bad(stream: Stream, first: tuple[SetAside, ...], count: int) -> BadRows:
    more = f", and {count - 1:,} more rows are bad" if count > 1 else ""
    return BadRows(f"stream {stream.name}: {first[0].words}{more}", first, count)


def _typed(stream: Stream, table: pa.Table) -> pa.Table:
    wanted = pa.schema([pa.field(c.name, arrow_type(c.type)) for c in stream.columns])
    return table.cast(wanted).combine_chunks()


def _timed(stream: Stream, read: Callable[[Stream], pa.Table]) -> pa.Table:
    """Rows as they are before anything is computed of them. Those without a time are refused: they would count for nothing."""
    table = read(stream.stored)
    times = _times(stream, table)
    low = pc.min_max(times).as_py()
    if not times.null_count and (not len(times) or EARLIEST <= low["min"] <= low["max"] <= LATEST):
        return table
    lacking = pc.or_(pc.is_null(times), pc.or_kleene(pc.less(times, EARLIEST), pc.greater(times, LATEST)))
    rows = pc.indices_nonzero(pc.fill_null(lacking, fill_value=True)).to_pylist()
    first = tuple(
        SetAside(stream.name, "", f"has no {stream.time}, the time of the stream", f"row {row + 1}")
        for row in rows[:SHOWN]
    )
    raise _bad(stream, first, len(rows))


def _times(stream: Stream, table: pa.Table) -> pa.ChunkedArray:
    if stream.stored.time:
        return table.column(stream.time).cast(pa.int64())
    with Tables() as tables:
        tables.offer("pushed", table)
        return query(f'SELECT "__time" FROM ({scan_sql(stream, "pushed")})').column(0)


FORMS: Mapping[str, Callable[[Stream, bytes, Path], pa.Table]] = {
    "json": _from_json,
    "csv": _from_csv,
    "arrow": _from_arrow,
}
