"""CSV and JSON files as DuckDB reads them: all that could be guessed of a file is said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from thalweg.connectors.reading.fitting import is_exact
from thalweg.connectors.reading.naming import bad_file, listed
from thalweg.connectors.reading.nested_values import loose_type
from thalweg.expr.nested import is_nested
from thalweg.expr.quoting import identifier, quoted
from thalweg.model.stream import Column, Relation, Stream

HEADER_BYTES = 1 << 20
CODECS = {"utf-8": "utf-8-sig", "utf-16": "utf-16", "latin-1": "latin-1"}
Source = Stream | Relation


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written."""

    delimiter: str = ","
    quote: str = '"'
    escape: str = '"'
    comment: str = ""
    encoding: str = "utf-8"
    header: bool = True


def dialect_of(source: Source) -> Dialect:
    """What the options of a source say; quotes are doubled within quotes unless another escape is given."""
    given = dict(source.options)
    quote = given.get("quote", '"')
    return Dialect(
        delimiter=given.get("delimiter", ",").replace("\\t", "\t"),
        quote=quote,
        escape=given.get("escape", quote),
        comment=given.get("comment", ""),
        encoding=given.get("encoding", "utf-8"),
        header=given.get("header", "true") == "true",
    )


def json_sql(source: Source, paths: Sequence[str], more: str = "") -> str:
    """What reads lines of JSON, with more options of DuckDB. Exact numbers come as texts."""
    types = [(c.name, _type(source, c)) for c in source.columns]
    return f"read_json({listed(paths)}, {_LINES}, columns = {_struct(types)}{_formats(source)}{more})"


def raw_json_sql(source: Source, path: str) -> str:
    """What reads the same lines with the values as they stand; NULL in a line that is none."""
    return f"read_json({listed([path])}, {_LINES}, columns = {_struct([(c.name, 'JSON') for c in source.columns])}{_raw(source)})"


def json_lines_sql(source: Source, path: str) -> str:
    """What reads the same lines as `json`, whatever they hold."""
    return f"read_json_objects({listed([path])}, {_LINES}{_raw(source)})"


_LINES = "hive_partitioning = false, format = 'newline_delimited'"
LOOSE = ", ignore_errors = true"
"""What makes DuckDB leave out what it can't read: in JSON the value, in CSV the line."""


def _raw(source: Source) -> str:
    return LOOSE + "".join(f", {k} = {quoted(v)}" for k, v in source.options if k == "compression")


def csv_sql(source: Source, paths: Sequence[str], more: str = "") -> str:
    """What reads CSV files, together where their columns stand in the same order. Exact numbers are texts, as there."""
    dialect = dialect_of(source)
    if not dialect.header:
        return _read_csv(source, dialect, paths, [(c.name, _type(source, c)) for c in source.columns], more)
    kinds: dict[tuple[str, ...], list[str]] = {}
    for path in paths:
        kinds.setdefault(header_of(source, path), []).append(path)
    read = [
        _completed(
            source, _read_csv(source, dialect, same, list(_placed(source, names, same[0])), more), names
        )
        for names, same in kinds.items()
    ]
    columns = ", ".join(identifier(c.name) for c in source.columns)
    return (
        f"({' UNION ALL '.join(f'SELECT {columns} FROM {one}' for one in read)})"
        if len(read) > 1
        else read[0]
    )


def _completed(source: Source, read: str, names: Sequence[str]) -> str:
    """What reads files, with NULL for the columns that these may lack, and do."""
    found = {name.strip().lower() for name in names}
    missing = [c for c in source.columns if c.optional and c.name.lower() not in found]
    nulls = "".join(f", CAST(NULL AS {_type(source, c)}) AS {identifier(c.name)}" for c in missing)
    return f"(SELECT *{nulls} FROM {read})" if nulls else read


def check_header(source: Source, path: str) -> None:
    """Refuse a CSV file whose first line has not the columns that are declared."""
    names = header_of(source, path)
    if dialect_of(source).header:
        for _ in _placed(source, names, path):
            pass
    elif len(names) != len(source.columns):
        raise bad_file(
            source,
            path,
            f"its first line has {len(names)} fields, {len(source.columns)} columns are declared",
        )


def check_keys(stream: Stream, path: str) -> None:
    """Refuse a small JSON file in which no row has a time."""
    if Path(path).stat().st_size > HEADER_BYTES or "compression" in dict(stream.options):
        return
    if not any(stream.time in line for line in _start(stream, path, "utf-8-sig").splitlines()):
        raise bad_file(stream, path, f"no row of it has a value of {stream.time}, the time of the stream")


def header_of(source: Source, path: str) -> tuple[str, ...]:
    """The names in the first record of a CSV file."""
    dialect = dialect_of(source)
    lines = _start(source, path, CODECS[dialect.encoding]).splitlines(keepends=True)
    while dialect.comment and lines and lines[0].startswith(dialect.comment):
        lines.pop(0)
    return tuple(record("".join(lines), dialect))


def _start(source: Source, path: str, codec: str) -> str:
    """The beginning of a file."""
    compression = dict(source.options).get("compression", "detect")
    try:
        with pa.input_stream(path, compression=None if compression == "none" else compression) as file:
            return str(file.read(HEADER_BYTES).decode(codec, errors="ignore"))
    except (pa.ArrowException, OSError, ValueError) as e:
        raise bad_file(source, path, str(e).splitlines()[0]) from e


def record(start: str, dialect: Dialect) -> list[str]:
    """The fields of the first record of a text.

    >>> record('a,"b ""x"", y",c\\r\\n1,2,3', Dialect())
    ['a', 'b "x", y', 'c']
    """
    fields: list[str] = []
    field, at, quoted = "", 0, False
    while at < len(start):
        here = start[at]
        if quoted and dialect.escape and here == dialect.escape and start[at + 1 : at + 2] == dialect.quote:
            field, at = field + dialect.quote, at + 2
        elif dialect.quote and here == dialect.quote and (quoted or not field):
            quoted, at = not quoted, at + 1
        elif not quoted and start.startswith(dialect.delimiter, at):
            fields, field, at = [*fields, field], "", at + len(dialect.delimiter)
        elif not quoted and here in "\r\n":
            break
        else:
            field, at = field + here, at + 1
    return [*fields, field]


def _placed(source: Source, names: Sequence[str], path: str) -> Iterator[tuple[str, str]]:
    """The columns of a file in its order, with the type that each is read as; what is not declared is a text of no use."""
    found = [name.strip().lower() for name in names]
    declared = {c.name.lower(): c for c in source.columns}
    for name, column in declared.items():
        if found.count(name) != 1 and not (column.optional and name not in found):
            raise bad_file(
                source, path, f"it has {'no' if name not in found else 'more than one'} column {column.name}"
            )
    for place, name in enumerate(found):
        mine = declared.get(name)
        yield (mine.name, _type(source, mine)) if mine else (f"__other_{place}", "VARCHAR")


def _read_csv(
    source: Source, dialect: Dialect, paths: Sequence[str], types: Sequence[tuple[str, str]], more: str
) -> str:
    said = {
        "delim": dialect.delimiter,
        "quote": dialect.quote,
        "escape": dialect.escape,
        "comment": dialect.comment,
    }
    how = "".join(f", {k} = {quoted(v)}" for k, v in {**said, "encoding": dialect.encoding}.items())
    fixed = f"auto_detect = false, header = {str(dialect.header).lower()}, skip = 0, null_padding = false, strict_mode = true"
    return f"read_csv({listed(paths)}, hive_partitioning = false, {fixed}, columns = {_struct(types)}{how}{_formats(source)}{more})"


def _type(source: Source, column: Column) -> str:
    """A time may say its distance from UTC; one that says none is in UTC. A format of the user's own stands for itself."""
    if is_nested(column.type):
        return loose_type(column.type)
    if column.type == "TIMESTAMP":
        return "TIMESTAMP" if "timestamp_format" in dict(source.options) else "TIMESTAMPTZ"
    return "VARCHAR" if is_exact(column.type) else column.type


_OPTIONS = {
    "null_value": "nullstr",
    "timestamp_format": "timestampformat",
    "date_format": "dateformat",
    "compression": "compression",
}


def _formats(source: Source) -> str:
    return "".join(f", {_OPTIONS[k]} = {quoted(v)}" for k, v in source.options if k in _OPTIONS)


def _struct(types: Sequence[tuple[str, str]]) -> str:
    return "{" + ", ".join(f"{quoted(name)}: {quoted(type_)}" for name, type_ in types) + "}"
