"""Scripts' rows as typed tables, tables as scripts' rows, and micro-batches as files that a stream reads in order."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.errors import DataError
from thalweg.model.query import Query
from thalweg.model.stream import Column, Relation, Stream
from thalweg.model.windows import duration_text
from thalweg.sql.declarations import ColumnSyntax, Declaration
from thalweg.sql.statements import parse_script
from thalweg.testing.script import Batch, Expect, Line, Script, StaticRows, field_text

_CLOCK = re.compile(r"\d+:\d\d:\d\d(\.\d+)?")
_SPARK_NAMES = {"VARCHAR": "STRING", "INTEGER": "INT"}
_FIRST_FILE = 1_000_000_000  # seconds since 1970: any time will do, for the order of the files alone counts


def batch_table(batch: Batch, stream: Stream, origin: str = "script") -> pa.Table:
    """A scripted micro-batch as a table with the stream's columns."""
    return _table(batch.lines, [(c.name, c.type) for c in stream.columns], f"stream {stream.name}", origin)


def static_table(rows: StaticRows, relation: Relation, origin: str = "script") -> pa.Table:
    """The scripted rows of a static table."""
    return _table(rows.lines, [(c.name, c.type) for c in relation.columns], f"table {relation.name}", origin)


def expect_table(expect: Expect, query: Query, origin: str = "script") -> pa.Table:
    """A stated result as a table with the query's outputs."""
    return _table(expect.lines, [(o.name, o.type) for o in query.outputs], f"query {query.name}", origin)


def stream_tables(script: Script, stream: Stream) -> list[pa.Table]:
    """All micro-batches that a script has for a stream, in order."""
    return [batch_table(b, stream, script.origin) for b in script.batches(stream.name)]


def _table(lines: Sequence[Line], columns: list[tuple[str, str]], what: str, origin: str) -> pa.Table:
    for line in lines:
        if len(line.fields) != len(columns):
            names = ", ".join(name for name, _ in columns)
            raise DataError(
                f"{origin}:{line.number}: {len(line.fields)} fields, but {what} has {len(columns)}",
                f"write {names}",
            )
    texts = {
        f"c{i}": pa.array([_dated(line.fields[i], kind) for line in lines], pa.string())
        for i, (_, kind) in enumerate(columns)
    }
    typed = _cast(pa.table(texts), [kind for _, kind in columns])
    for i, (name, kind) in enumerate(columns):
        for line, value in zip(lines, typed.column(i), strict=True):
            if line.fields[i] is not None and not value.is_valid:
                raise DataError(f"{origin}:{line.number}: {line.fields[i]!r} is no {kind} for {name}")
    return typed.rename_columns([name for name, _ in columns])


def _cast(texts: pa.Table, kinds: Sequence[str]) -> pa.Table:
    """Columns of texts as values of their types, NULL where one is no such value."""
    casts = ", ".join(f"TRY_CAST(c{i} AS {kind}) AS c{i}" for i, kind in enumerate(kinds))
    db = _database()
    db.register("texts", texts)
    return db.sql(f"SELECT {casts} FROM texts").to_arrow_table()


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """One for all tables, for opening it takes longer than casting."""
    return duckdb.connect(config={"threads": 1})


def _dated(text: str | None, kind: str) -> str | None:
    """An instant with its date, which may be left out."""
    return f"1970-01-01 {text}" if text and kind.startswith("TIMESTAMP") and _CLOCK.fullmatch(text) else text


def place(directory: Path, declared: Declaration) -> dict[str, str]:
    """Options that say where a stream or a table is: Parquet files in a folder of its name, each a micro-batch; of a table that has no
    path one Parquet file."""
    if declared.kind == "STREAM":
        return _in_files(directory, declared.name)
    return {} if any(o.key == "path" for o in declared.options) else _in_one_file(directory, declared.name)


def _in_files(directory: Path, name: str) -> dict[str, str]:
    return {"format": "parquet", "path": str(directory / name), "files_per_batch": "1"}


def _in_one_file(directory: Path, name: str) -> dict[str, str]:
    return {"path": str(_table_path(directory, name))}


def _table_path(directory: Path, name: str) -> Path:
    return directory / f"{name}.parquet"


def write_tables(directory: Path, tables: Mapping[str, pa.Table]) -> None:
    """Write static tables, by name, where `place` says they are."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, rows in tables.items():
        pq.write_table(rows, _table_path(directory, name))


def placed_sql(sql: str, directory: Path) -> str:
    """The declarations of a text with the places that `place` gives them.

    >>> print(placed_sql("CREATE TABLE t (x INT) WITH (format = 'parquet');", Path("in")))
    CREATE TABLE t (`x` INT) WITH (path = 'in/t.parquet', format = 'parquet');
    """
    found: list[Declaration] = []

    def keep(declared: Declaration) -> dict[str, str]:
        found.append(declared.given(place(directory, declared)))
        return place(directory, declared)

    parse_script(sql, left_out=keep)
    return "\n".join(
        _declared_sql(d.kind, d.name, _spark_columns(d.columns), ((o.key, o.value) for o in d.options))
        for d in found
    )


def stream_sql(stream: Stream, directory: Path | None = None) -> str:
    """The CREATE STREAM statement of a stream; with a directory its place is a folder there, each file a micro-batch."""
    where = {} if directory is None else _in_files(directory, stream.name)
    watermark = duration_text(stream.delay) if stream.delay else "0 seconds"
    options = {**where, "time": stream.time, "watermark": watermark}
    return _declared_sql("STREAM", stream.name, _spark_columns(stream.columns), options.items())


def table_sql(name: str, columns: Sequence[Column], directory: Path) -> str:
    """The CREATE TABLE statement of a table whose place is one Parquet file in a directory."""
    return _declared_sql(
        "TABLE", name, _spark_columns(columns), {"format": "parquet", **_in_one_file(directory, name)}.items()
    )


def _spark_columns(columns: Iterable[Column | ColumnSyntax]) -> Iterator[tuple[str, str]]:
    for c in columns:
        computed = f"AS {c.written}" if isinstance(c, ColumnSyntax) and c.written else ""
        yield c.name, computed or _SPARK_NAMES.get(c.type, c.type)


def _declared_sql(
    kind: str, name: str, columns: Iterable[tuple[str, str]], options: Iterable[tuple[str, str]]
) -> str:
    listed = ", ".join(f"`{column}` {type_}" for column, type_ in columns)
    given = ", ".join(f"{key} = {text_sql(value)}" for key, value in options)
    return f"CREATE {kind} {name} ({listed}) WITH ({given});"


def text_sql(value: str) -> str:
    """A text as Spark's SQL writes it.

    >>> print(text_sql("it's"))
    'it\\'s'
    """
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def table_lines(table: pa.Table) -> list[str]:
    """The rows of a table as a script has them."""
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return [", ".join(field_text(None if v is None else str(v)) for v in row) for row in rows]


def write_batches(directory: Path, stream: Stream, batches: Sequence[pa.Table]) -> list[Path]:
    """Write each micro-batch as one Parquet file, after those that are there already.

    A streaming file source reads files in the order of their modification times, so these strictly increase.
    """
    directory.mkdir(parents=True, exist_ok=True)
    present = sorted(directory.glob("*.parquet"))
    seconds = max((int(p.stat().st_mtime) + 1 for p in present), default=_FIRST_FILE)
    return [
        _write(directory, f"{stream.name}-{len(present) + i:05d}.parquet", b, seconds + i)
        for i, b in enumerate(batches)
    ]


def _write(directory: Path, name: str, batch: pa.Table, seconds: int) -> Path:
    """Write a file under a hidden name, and rename it once it is whole and dated."""
    hidden = directory / f".{name}"
    pq.write_table(batch, hidden)
    os.utime(hidden, (seconds, seconds))
    return hidden.rename(directory / name)
