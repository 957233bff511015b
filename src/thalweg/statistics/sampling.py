"""Statistics of streams and tables from their first file, before any of it is read as a stream. DuckDB holds a few rows while they are
looked at, and only counts and times leave it.
"""

from __future__ import annotations

import atexit
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from threading import Timer
from time import monotonic
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.compile.lifts import heavies_sql, share_sql
from thalweg.connectors.files import FILES, first_files, newest_file
from thalweg.connectors.reading.footers import check_footers
from thalweg.engine.kernel.chunks import files_sql, scan_sql, values_sql
from thalweg.engine.kernel.connection import Reach, open_connection
from thalweg.engine.kernel.relations import relation_files
from thalweg.errors import DataError
from thalweg.expr.python import functions_in
from thalweg.model.aggregates import TIME
from thalweg.model.nesting import all_nested
from thalweg.model.query import Query
from thalweg.model.reading import columns_read
from thalweg.model.stream import Relation, Stream
from thalweg.once import once
from thalweg.plan.nodes import Fragment
from thalweg.plan.ranges import LOWEST
from thalweg.statistics.known import Sampled, side_name, side_names, sides_to_sample
from thalweg.statistics.learned import counted, heavy_values
from thalweg.statistics.records import Heavy

ROWS = 50_000
"""The rows of a file that are looked at."""
SECONDS = 1.0
"""How long a look at a file may take; after half of it no further side is counted."""
Stamp = tuple[str, int, int]


@dataclass(frozen=True)
class Look:
    """What the first file says, by so many rows that were looked at: rows per second of a stream or rows of a table, microseconds of event
    time in it where all of it is known, and of each side as in `Seen`, with the values that are frequent."""

    looked_at: int
    rows: float | None
    span: float | None
    sides: tuple[tuple[str, tuple[tuple[float, float, float], Heavy]], ...]


def sample(streams: Iterable[Stream], relations: Iterable[Relation], queries: Iterable[Query]) -> Sampled:
    """What files say of all that queries read; nothing of what has no files, or bad ones, and of conditions and keys that call
    Python functions: these are not run before there is a batch."""
    rows: dict[str, float] = {}
    batches: dict[str, float] = {}
    counts: dict[str, tuple[float, float, float]] = {}
    heavy: dict[str, Heavy] = {}
    asked = tuple(queries)
    asked = (*all_nested(asked), *asked)
    wanted = sides_to_sample(asked)
    sources: tuple[Stream | Relation, ...] = (*streams, *relations)
    for source in sources:
        sides = tuple(s for s in wanted if s.source == source.name)
        mine = tuple(s for s in sides if not _calls(s))
        reads = frozenset().union(*(columns_read(q, source.name) for q in asked))
        found, files = _looked(source, mine, reads) if sides else (None, 0)
        if found is not None:
            rows |= {source.name: found.rows} if found.rows is not None else {}
            names = {name for s in mine for name in side_names(s)}
            counts |= {name: some for name, (some, _) in found.sides if name in names}
            heavy |= {name: values for name, (_, values) in found.sides if values and name in names}
            if found.span is not None and isinstance(source, Stream) and source.files_per_batch is not None:
                batches[source.name] = found.span * min(source.files_per_batch, files)
    return Sampled(rows, counts, batches, heavy)


@once
def _calls(side: Fragment) -> bool:
    """Whether a side is made by Python functions."""
    return bool(functions_in(side))


def _looked(
    source: Stream | Relation, sides: tuple[Fragment, ...], reads: frozenset[str]
) -> tuple[Look | None, int]:
    """What the first file of a stream or all files of a table say, and how many files there are."""
    try:
        read, count = _table_files(source) if isinstance(source, Relation) else _first_file(source)
        return _look(source, sides, reads, read) if read else None, count
    except (duckdb.Error, pa.ArrowException, OSError, DataError, ValueError):
        return None, 0


def newest_rows(stream: Stream, most: int) -> pa.Table | None:
    """A few rows of the file that came last, as they are declared; None where there is none, or it can't be read so."""
    if (path := newest_file(stream)) is None:
        return None
    try:
        with _limited([str(path)]) as con:
            rows = _rows_sql(stream, str(path), frozenset(c.name for c in stream.columns))
            table: pa.Table = con.sql(f"{rows} LIMIT {most}").to_arrow_table()
            return table.select([c.name for c in stream.columns])
    except (duckdb.Error, DataError, OSError):
        return None


def _first_file(stream: Stream) -> tuple[tuple[Stamp, ...], int]:
    """The first file, and how many files there are, as far as that is of use. Once there are enough for a batch they are not listed again as
    long as the first is as it was: a directory that is written to all the time has very many."""
    known = _FIRST.get(stream)
    if known is not None and _is_as(known[0]):
        return (known[0],), known[1]
    if not (files := first_files(stream)):
        return (), 0
    first = _stamp(files[0])
    if len(files) >= (stream.files_per_batch or 1):
        _FIRST[stream] = first, len(files)
        while len(_FIRST) > MOST_LOOKS:
            _FIRST.pop(next(iter(_FIRST)), None)
    return (first,), len(files)


def _is_as(stamp: Stamp) -> bool:
    """Whether a file is as its stamp says."""
    try:
        return _stamp(Path(stamp[0])) == stamp
    except FileNotFoundError:
        return False


_FIRST: dict[Stream, tuple[Stamp, int]] = {}


def _table_files(relation: Relation) -> tuple[tuple[Stamp, ...], int]:
    files = tuple(_stamp(p) for p in islice(relation_files(relation), FILES))
    return files, len(files)


def _stamp(file: Path) -> Stamp:
    found = file.stat()
    return str(file), found.st_mtime_ns, found.st_size


def _look(
    source: Stream | Relation, sides: tuple[Fragment, ...], reads: frozenset[str], files: tuple[Stamp, ...]
) -> Look:
    """What files that are as their stamps say tell of some sides; what was looked at before is not looked at again."""
    key = source, files
    known = _LOOKS.get(key)
    seen = dict(known.sides) if known is not None else {}
    missing = tuple(s for s in sides if any(name not in seen for name in side_names(s)))
    if known is not None and not missing:
        return known
    found = _new_look(source, missing, reads, files, known)
    again = {name: seen.pop(name) for s in sides for name in side_names(s) if name in seen}
    spare = max(1, MOST_SIDES - len(again) - len(found.sides))
    whole = replace(found, sides=(*tuple(seen.items())[-spare:], *again.items(), *found.sides))
    _LOOKS[key] = whole
    while len(_LOOKS) > MOST_LOOKS:
        _LOOKS.pop(next(iter(_LOOKS)), None)
    return whole


MOST_SIDES = 1024
"""Sides of a source that are remembered though no query has them any more; at first those are forgotten that were asked for longest ago."""
MOST_LOOKS = 64
"""Sources, as their files are at a time, of which is remembered what they said."""
_LOOKS: dict[tuple[Stream | Relation, tuple[Stamp, ...]], Look] = {}


def _new_look(
    source: Stream | Relation,
    sides: tuple[Fragment, ...],
    reads: frozenset[str],
    files: tuple[Stamp, ...],
    known: Look | None,
) -> Look:
    """A look at more sides, after one that is known."""
    paths, end = [path for path, _, _ in files], monotonic() + SECONDS / 2
    with _limited(paths) as con:
        con.execute(
            f"CREATE OR REPLACE TEMP TABLE scan AS {_rows_sql(source, paths[0], reads)} LIMIT {ROWS}"
        ).fetchall()
        found = replace(known, sides=()) if known is not None else _first_look(con, source, paths)
        if total := found.looked_at:
            whole = isinstance(source, Relation) and found.rows == total
            parts = (sides[n : n + TOGETHER] for n in range(0, len(sides), TOGETHER))
            counted = (_counted(con, some, total, whole) for some in parts if monotonic() < end)
            found = replace(found, sides=tuple(one for found in counted for one in found))
        con.execute("DROP TABLE scan").fetchall()
        return found


TOGETHER = 16
"""Sides that are counted in one statement."""


def _first_look(con: Any, source: Stream | Relation, paths: list[str]) -> Look:
    """What is there, without a look at sides."""
    total, low, top = con.execute(f"SELECT count(*), min({TIME}), max({TIME}) FROM scan").fetchall()[0]
    if isinstance(source, Relation):
        return Look(total, _table_rows(source, paths, total), None, ())
    return Look(total, *_pace(source, paths[0], total, low, top), ())


@contextmanager
def _limited(paths: Sequence[str]) -> Iterator[Any]:
    """A connection that reads these files and no others, whose statements end when the time is up. It is kept for the next look at them,
    as opening one takes longer than most looks."""
    reach = Reach(tuple(paths))
    con = _IDLE.pop(reach, None) or open_connection(reach)
    timer = Timer(SECONDS, con.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield con
    except BaseException:
        con.close()
        raise
    else:
        _IDLE[reach] = con
        for spare in list(_IDLE)[: max(0, len(_IDLE) - MOST_IDLE)]:
            _IDLE.pop(spare, None)
    finally:
        timer.cancel()
        timer.join()


MOST_IDLE = 4
_IDLE: dict[Reach, Any] = {}


@atexit.register
def _close_idle() -> None:
    """Close what is kept, while DuckDB is still there to do so."""
    while _IDLE:
        _IDLE.popitem()[1].close()


def _rows_sql(source: Stream | Relation, path: str, reads: frozenset[str]) -> str:
    """The rows of a file as a task reads them, with the columns that are asked for; those of a table have no time."""
    if isinstance(source, Stream):
        return scan_sql(source, files_sql(source.stored, [path]), reads)
    columns = [c for c in source.columns if c.name in reads]
    return (
        f"SELECT {', '.join([*values_sql(source, columns), f'0 AS {TIME}'])} FROM {files_sql(source, [path])}"
    )


def _pace(
    stream: Stream, path: str, rows: int, low: int | None, top: int | None
) -> tuple[float | None, float | None]:
    """Rows per second of event time, and the event time of the file; of the whole file where its footer says so."""
    facts = check_footers(stream.stored, [path])
    if facts is not None:
        rows, low, top = facts.rows, facts.low, facts.top
    if low is None or top is None or top <= low:
        return None, None
    return rows * 1e6 / (top - low), float(top - low) if facts is not None or rows < ROWS else None


def _table_rows(relation: Relation, paths: list[str], rows: int) -> float | None:
    """The rows of a table, if they are few or footers count them."""
    if relation.format == "parquet":
        return float(sum(pq.read_metadata(p).num_rows for p in paths))
    return float(rows) if len(paths) == 1 and rows < ROWS else None


def _counted(
    con: Any, sides: Sequence[Fragment], rows: int, whole: bool
) -> list[tuple[str, tuple[tuple[float, float, float], Heavy]]]:
    """The share of rows that each side takes and its distinct values, those of all rows or as they are measured of a batch, and the values
    that are frequent: of each set of columns that is counted."""
    given = {} if sides[0].static else {"frontier": LOWEST}
    figures = iter(con.execute(share_sql(sides), given).fetchall()[0])
    counts = [[next(figures) for _ in range(2 + len(side.counted))] for side in sides]
    asked = [(side, some) for side in sides for some in side.counted if some]
    found = con.execute(heavies_sql(asked, rows), given).fetchall() if asked else []
    frequent: dict[str, list[Any]] = {}
    for number, *value in found:
        frequent.setdefault(side_name(*asked[number]), []).append(value)
    return [
        one
        for side, own in zip(sides, counts, strict=True)
        for one in _of_side(side, own, rows, whole, frequent)
    ]


def _of_side(
    side: Fragment, figures: Sequence[int], rows: int, whole: bool, frequent: Mapping[str, Sequence[Any]]
) -> list[tuple[str, tuple[tuple[float, float, float], Heavy]]]:
    chosen, values, *keys = figures
    found = []
    for name, count in zip(side_names(side), keys, strict=True):
        heavy = heavy_values([tuple(frequent.get(name, ()))], count)
        if whole:
            counts = max(chosen, 1) / rows, float(min(values, chosen)), float(min(count, chosen))
        else:
            counts = counted([(rows, max(chosen, 1), values, count)], heavy)
        found.append((name, (counts, heavy)))
    return found
