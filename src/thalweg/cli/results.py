"""`thalweg results`: the rows of a query from files of its own and from those that it shares with others, as text or as a file."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from thalweg.api.results import empty_results, files_of
from thalweg.cli.screen import Screen
from thalweg.cli.tables import draw
from thalweg.errors import UsageError
from thalweg.service.encoding import flat
from thalweg.state import lives
from thalweg.state.directory import Directory
from thalweg.state.history import latest_at
from thalweg.state.lives import Life

EVERY = 0.5
"""Seconds between two looks for new results."""


def show_results(directory: Path, query: str, format: str, follow: bool) -> None:
    """Print all results so far, then those that come."""
    session = Directory(directory)
    if follow and format == "parquet":
        raise UsageError("results can't be followed as one Parquet file", "use --format csv or json")
    seen: set[Path] = set()
    life = _life(session, query)
    first = pa.concat_tables([empty_results(life), *_new(session, life, seen)])
    WRITERS[format](first, True)
    while follow:
        sys.stdout.flush()
        time.sleep(EVERY)
        for rows in _new(session, _life(session, query), seen):
            WRITERS[format](rows, False)


def _life(session: Directory, query: str) -> Life:
    """The last life of a query, as the last batch left it."""
    session.check_format()
    known = lives.read(session.queries, latest_at(session.manifests).batch)
    found = next((life for life in reversed(known) if life.name == query), None)
    if found is None:
        names = ", ".join(sorted({life.name for life in known})) or "none yet"
        raise UsageError(f"{session.root}: no query {query} has been part of a batch", f"queries are {names}")
    return found


def _new(session: Directory, life: Life, seen: set[Path]) -> Iterator[pa.Table]:
    """The rows of files that were not seen before."""
    for file in files_of(life.directory, session.shared, life):
        if file.path not in seen:
            seen.add(file.path)
            rows = file.read(life.name)
            if rows is not None and rows.num_rows:
                yield rows


def _table(rows: pa.Table, is_first: bool) -> None:
    if is_first or rows.num_rows:
        Screen().table(
            draw(rows.column_names, list(zip(*(c.to_pylist() for c in rows.columns), strict=True)))
        )


def _csv(rows: pa.Table, is_first: bool) -> None:
    pyarrow.csv.write_csv(flat(rows), sys.stdout.buffer, pyarrow.csv.WriteOptions(include_header=is_first))


def _json(rows: pa.Table, is_first: bool) -> None:
    if rows.num_rows:
        sys.stdout.write(
            rows.to_pandas().to_json(orient="records", lines=True, date_format="iso", date_unit="us")
        )


def _parquet(rows: pa.Table, is_first: bool) -> None:
    pq.write_table(rows, sys.stdout.buffer)


WRITERS: Mapping[str, Callable[[pa.Table, bool], None]] = {
    "table": _table,
    "csv": _csv,
    "json": _json,
    "parquet": _parquet,
}
