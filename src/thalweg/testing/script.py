"""`.stream` scripts: SQL statements, then micro-batches and what happens between them, then expected results.

    CREATE STREAM bid (auction BIGINT, price BIGINT, at TIMESTAMP) WITH (time = 'at', watermark = '2 seconds');
    CREATE QUERY low AS SELECT auction, window_end, MIN(price) AS low FROM bid GROUP BY auction, WINDOWS(TUMBLE '10 seconds');

    --- batch bid
    1, 100, 00:00:01
    --- abort before_commit
    --- batch bid
    1, NULL, 00:00:12
    --- restart
    --- expect low
    1, 00:00:10, 100

A static table is declared without WITH, and its rows stand below `--- table NAME`. After `abort` the next batch is interrupted at
the named point and the session started again; at `restart` the session is stopped between batches and started again. Results that
are not stated are those of the reference.

Fields stand in the order of the columns of the stream or table, or the query's outputs. NULL is NULL, `''` the empty text, `'a, b'` a
text with a comma; an instant without a date is on 1970-01-01. Below the first mark, lines that begin with `-- ` are comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from thalweg.errors import DataError

_FIELD = re.compile(r"\s*(?:'((?:[^']|'')*)'|([^,']*?))\s*(,|$)")


@dataclass(frozen=True)
class Line:
    """A row as written: its number in the file and its fields as text, None for NULL."""

    number: int
    fields: tuple[str | None, ...]


@dataclass(frozen=True)
class Batch:
    """A micro-batch of a stream."""

    stream: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class StaticRows:
    """All rows of a static table."""

    table: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Restart:
    """The session is stopped between two batches and started again."""


@dataclass(frozen=True)
class Abort:
    """The next batch is interrupted at a named point of its commit, then the session is started again."""

    point: str


@dataclass(frozen=True)
class Expect:
    """The whole result of a query at the end of the script."""

    query: str
    lines: tuple[Line, ...]


Step = Batch | Restart | Abort


@dataclass(frozen=True)
class Script:
    """A parsed script: statements, steps in order, the results that it states, and the rows of static tables."""

    origin: str
    sql: str
    steps: tuple[Step, ...]
    expects: tuple[Expect, ...] = field(default=())
    tables: tuple[StaticRows, ...] = field(default=())

    def batches(self, stream: str) -> tuple[Batch, ...]:
        """The micro-batches of one stream in order."""
        return tuple(s for s in self.steps if isinstance(s, Batch) and s.stream == stream)


def read_script(path: Path) -> Script:
    """Read a `.stream` file."""
    return parse_stream_script(path.read_text(encoding="utf-8"), str(path))


def parse_stream_script(text: str, origin: str = "script") -> Script:
    """Parse the text of a `.stream` file; `origin` names it in errors."""
    lines = text.splitlines()
    marks = [i for i, line in enumerate(lines) if line.startswith("---")]
    sections = [
        _section(lines, start, end, origin)
        for start, end in zip(marks, [*marks[1:], len(lines)], strict=True)
    ]
    steps = tuple(s for s in sections if not isinstance(s, Expect | StaticRows))
    expects = tuple(s for s in sections if isinstance(s, Expect))
    tables = tuple(s for s in sections if isinstance(s, StaticRows))
    _check_once([e.query for e in expects], "the result of {}", origin, "expect")
    _check_once([t.table for t in tables], "table {}", origin, "table")
    return Script(origin, "\n".join(lines[: marks[0]] if marks else lines), steps, expects, tables)


def _section(lines: list[str], start: int, end: int, origin: str) -> Step | Expect | StaticRows:
    """The step that a mark and the lines below it stand for."""
    words, rows = lines[start][3:].split(), tuple(_rows(lines, start + 1, end, origin))
    match words:
        case ["batch", stream]:
            return Batch(stream, rows)
        case ["expect", query]:
            return Expect(query, rows)
        case ["table", table]:
            return StaticRows(table, rows)
        case ["restart" | "abort", *_] if rows:
            raise DataError(
                f"{origin}:{rows[0].number}: rows stand below {words[0]}",
                "put them below a '--- batch STREAM' line",
            )
        case ["restart"]:
            return Restart()
        case ["abort", point]:
            return Abort(point)
    raise DataError(f"{origin}:{start + 1}: unknown mark {lines[start]!r}", _MARKS)


_MARKS = "write '--- table TABLE', '--- batch STREAM', '--- restart', '--- abort POINT' or '--- expect QUERY'"


def _check_once(names: list[str], what: str, origin: str, mark: str) -> None:
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise DataError(
            f"{origin}: {what.format(twice)} is stated twice", f"join both '--- {mark}' parts into one"
        )


def _rows(lines: list[str], start: int, end: int, origin: str) -> Iterator[Line]:
    for i in range(start, end):
        if lines[i].strip() and not lines[i].startswith("-- "):
            yield Line(i + 1, parse_fields(lines[i], f"{origin}:{i + 1}"))


def parse_fields(line: str, place: str = "line") -> tuple[str | None, ...]:
    """Split a line into fields.

    >>> parse_fields("1, NULL, 'it''s, well', ''")
    ('1', None, "it's, well", '')
    """
    fields: list[str | None] = []
    at = 0
    while True:
        found = _FIELD.match(line, at)
        if not found:
            raise DataError(
                f"{place}: a field is not closed or has text around its quotes: {line!r}",
                "write '' for a quote inside a text",
            )
        fields.append(_field(found, place))
        if found[3] == "":
            return tuple(fields)
        at = found.end()


def _field(found: re.Match[str], place: str) -> str | None:
    if found[1] is not None:
        return found[1].replace("''", "'")
    if found[2] == "":
        raise DataError(f"{place}: a field is empty", "write NULL, or '' for an empty text")
    return None if found[2] == "NULL" else found[2]


def field_text(value: str | None) -> str:
    """A field as it is written in a script.

    >>> field_text("it's"), field_text(None), field_text("1.5")
    ("'it''s'", 'NULL', '1.5')
    """
    if value is None:
        return "NULL"
    plain = value and value == value.strip() and value != "NULL" and not re.search(r"[,'\n]|^--", value)
    return value if plain else "'" + value.replace("'", "''") + "'"
