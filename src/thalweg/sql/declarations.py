"""CREATE STREAM and CREATE TABLE: columns and options to the values of the query model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from sqlglot import exp

from thalweg.expr.nested import is_nested, spark_type
from thalweg.model.durations import parse_duration
from thalweg.model.paths import refused_path
from thalweg.model.query import WINDOW_COLUMNS
from thalweg.model.stream import FILE_FORMATS, PUSH, Column, Relation, Stream, fields_in
from thalweg.sql.source import Source, Span, suggestion

T = TypeVar("T")
COMPUTED = ""
"""Stands for the type of a column that is computed until its value is bound."""
READER_OPTIONS: dict[str, tuple[str, ...]] = {
    "parquet": (),
    "csv": (
        "header",
        "delimiter",
        "quote",
        "escape",
        "null_value",
        "comment",
        "encoding",
        "date_format",
        "timestamp_format",
        "compression",
    ),
    "json": ("date_format", "timestamp_format", "compression"),
    PUSH: ("keep",),
}
NOT_PUSHED = {
    "path": "remove it: the session keeps the rows in its own directory",
    "on_bad_file": "remove it: bad rows are refused when they are pushed",
    "bad_rows": "remove it: bad rows are refused when they are pushed",
}
"""Options that have no meaning for rows that are pushed."""
KEEP = 3_600_000_000
"""How long rows that were pushed and read are kept, unless it is said: an hour."""
STREAM_OPTIONS = (
    "format", "path", "time", "watermark", "files_per_batch", "bytes_per_batch", "late_rows", "bad_rows", "idle_timeout",
    "on_bad_file", "rate", "distinct",
)  # fmt: skip
TABLE_OPTIONS = ("format", "path", "rows", "distinct")
RESERVED_PREFIX = "__"
_NUMBER = re.compile(r"\d{1,15}(\.\d+)?(e[+-]?\d{1,2})?", re.IGNORECASE | re.ASCII)
_BYTES = re.compile(r"[1-9]\d{0,17}\s*([kmgt]b?|b)?", re.IGNORECASE)


class OptionError(ValueError):
    """A value that an option can't have."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class ColumnSyntax:
    """A column as declared; the type of one that is computed follows from its value, which is `written` so. One that is `optional` need
    not be in every file."""

    name: str
    type: str
    span: Span
    value: exp.Expr | None = None
    written: str = ""
    optional: bool = False


@dataclass(frozen=True)
class OptionSyntax:
    """An option as given: `watermark = '5 seconds'`."""

    key: str
    value: str
    key_span: Span
    value_span: Span


@dataclass(frozen=True)
class Declaration:
    """A stream or table as declared, not yet checked."""

    kind: str
    name: str
    columns: tuple[ColumnSyntax, ...]
    options: tuple[OptionSyntax, ...]
    span: Span

    def given(self, options: Mapping[str, str]) -> Declaration:
        """The same with more options, as if they stood at its name."""
        more = (OptionSyntax(key, value, self.span, self.span) for key, value in options.items())
        return replace(self, options=(*more, *self.options))


def stream(source: Source, declared: Declaration) -> Stream:
    """The stream that CREATE STREAM declares."""
    columns = declared_columns(source, declared)
    given = _options(source, declared, STREAM_OPTIONS)
    format_ = given.format(*FILE_FORMATS, PUSH)
    _check_nested(source, declared, format_)
    pushed = format_ == PUSH
    if pushed:
        given.check_pushed()
    time = given.get(
        "time", lambda text: _time_column(text, columns), required="time = 'at', the event-time column,"
    )
    return Stream(
        name=declared.name,
        columns=columns,
        time=time or "",
        delay=given.get("watermark", _delay) or 0,
        format="parquet" if pushed else format_,
        path=None
        if pushed
        else given.get("path", _read_path, required="path = 'data/bid', where the files are,"),
        files_per_batch=given.get("files_per_batch", _count),
        bytes_per_batch=given.get("bytes_per_batch", _bytes),
        late_rows=given.get("late_rows", _written_path),
        bad_rows=given.get("bad_rows", _written_path),
        idle_timeout=given.get("idle_timeout", _timeout),
        on_bad_file=given.get("on_bad_file", _one_of("stop", "skip")) or ("stop" if pushed else "skip"),
        options=() if pushed else given.reader_options(format_),
        rate=given.get("rate", _rate),
        distinct=given.get("distinct", lambda text: _distinct(text, columns)) or (),
        kept=given.kept() if pushed else None,
    )


def relation(source: Source, declared: Declaration) -> Relation:
    """The relation that CREATE TABLE declares."""
    for column in declared.columns:
        if column.value is not None:
            hint = "compute it in a query or a view"
            raise source.error(f"column {column.name} of a table can't be computed", column.span, hint)
    columns = declared_columns(source, declared)
    given = _options(source, declared, TABLE_OPTIONS)
    format_ = given.format(*FILE_FORMATS)
    _check_nested(source, declared, format_)
    path = given.get("path", _read_path, required="path = 'data/person.csv', where the file is,")
    return Relation(
        name=declared.name,
        columns=columns,
        format=format_,
        path=path or "",
        options=given.reader_options(format_),
        rows=given.get("rows", _count),
        distinct=given.get("distinct", lambda text: _distinct(text, columns)) or (),
    )


@dataclass(frozen=True)
class _Options:
    """The options of one declaration by name; what is wrong is an error at the option's place."""

    source: Source
    declared: Declaration
    by_key: Mapping[str, OptionSyntax]

    def get(self, key: str, read: Callable[[str], T], required: str | None = None) -> T | None:
        """The value of an option as `read` gives it; None where it may be left out and is."""
        option = self.by_key.get(key)
        if option is None and required is None:
            return None
        if option is None:
            thing = f"{self.declared.kind.lower()} {self.declared.name}"
            raise self.source.error(f"{thing} has no {key}", self.declared.span, f"add {required} to WITH")
        try:
            return read(option.value)
        except ValueError as error:
            raise self.source.error(str(error), option.value_span, getattr(error, "hint", None)) from None

    def format(self, *formats: str) -> str:
        """The format, one of some."""
        said = ", ".join(f"'{f}'" for f in formats[:-1])
        return self.get("format", _one_of(*formats), required=f"format = {said} or '{formats[-1]}'") or ""

    def check_pushed(self) -> None:
        """Refuse what has no meaning for rows that are pushed."""
        for key, hint in NOT_PUSHED.items():
            if (option := self.by_key.get(key)) is not None:
                raise self.source.error(
                    f"{key} is no option of a stream whose rows are pushed", option.key_span, hint
                )
        self.reader_options(PUSH)

    def kept(self) -> int:
        """How long rows that were pushed and read are kept."""
        said = self.get("keep", _delay)
        return KEEP if said is None else said

    def reader_options(self, format_: str) -> tuple[tuple[str, str], ...]:
        """The options for reading files of a format, in order of name."""
        for key, option in self.by_key.items():
            formats = [f for f, options in READER_OPTIONS.items() if key in options]
            if formats and format_ not in formats:
                raise self.source.error(
                    f"{key} is an option of {' and '.join(formats)}, not of {format_}",
                    option.key_span,
                    "remove it",
                )
        given = {
            k: self.get(k, _READERS.get(k, str)) or "" for k in self.by_key if k in READER_OPTIONS[format_]
        }
        return tuple(sorted(given.items()))


def _options(source: Source, declared: Declaration, known: tuple[str, ...]) -> _Options:
    readers = tuple(dict.fromkeys(o for options in READER_OPTIONS.values() for o in options))
    by_key: dict[str, OptionSyntax] = {}
    for option in declared.options:
        key = option.key.lower()
        if key not in known and key not in readers:
            hint = suggestion(key, (*known, *readers), "options are")
            raise source.error(
                f"unknown option {option.key} of a {declared.kind.lower()}", option.key_span, hint
            )
        if key in by_key:
            raise source.error(f"option {option.key} is given twice", option.key_span, "keep one of them")
        by_key[key] = option
    return _Options(source, declared, by_key)


def declared_columns(source: Source, declared: Declaration) -> tuple[Column, ...]:
    """The columns of a declaration, of which each must have a name of its own."""
    seen: set[str] = set()
    for column in declared.columns:
        low = column.name.lower()
        if low in seen:
            raise source.error(
                f"column {column.name} is declared twice", column.span, "names differ by more than case"
            )
        if low in WINDOW_COLUMNS or low.startswith(RESERVED_PREFIX):
            raise source.error(f"column name {column.name} is reserved", column.span, "rename the column")
        seen.add(low)
    for held in declared.columns:
        if found := next(
            (c for c in fields_in(Column(held.name, held.type)) if c.name.lower() in seen), None
        ):
            message = f"column {found.name} is named as a field of column {held.name}"
            raise source.error(message, held.span, "rename one of them")
    return tuple(Column(c.name, c.type, optional=c.optional) for c in declared.columns)


def _check_nested(source: Source, declared: Declaration, format_: str) -> None:
    """Refuse nested columns where files can't have them."""
    for column in declared.columns if format_ == "csv" else ():
        if is_nested(column.type):
            hint = "use json or parquet, or declare a STRING and take it apart with FROM_JSON"
            raise source.error(
                f"csv can't have the {spark_type(column.type)} of {column.name}", column.span, hint
            )


def _column(text: str, columns: tuple[Column, ...]) -> Column:
    column = next((c for c in columns if c.name.lower() == text.lower()), None)
    if column is None:
        raise OptionError(
            f"unknown column {text}", suggestion(text, [c.name for c in columns], "columns are")
        )
    return column


def _time_column(text: str, columns: tuple[Column, ...]) -> str:
    column = _column(text, columns)
    if column.type not in ("TIMESTAMP", COMPUTED):
        raise OptionError(
            f"the time column {column.name} is {spark_type(column.type)}, not TIMESTAMP",
            f"declare it as {column.name} TIMESTAMP",
        )
    return column.name


def _micros(text: str) -> int:
    length = parse_duration(text)
    if length.months:
        raise OptionError(f"{text!r} has no fixed length", "write it in days")
    return length.micros


def _delay(text: str) -> int:
    micros = _micros(text)
    if micros < 0:
        raise OptionError(f"{text!r} is negative", "write '0 seconds' or more")
    return micros


def _timeout(text: str) -> int:
    micros = _micros(text)
    if micros <= 0:
        raise OptionError(f"{text!r} is not above zero", "write a duration like '10 seconds'")
    return micros


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10) or int(text) == 0:
        raise OptionError(f"{text!r} is not a whole number above zero", "write a number like 4")
    return int(text)


def _rate(text: str) -> float:
    if not _NUMBER.fullmatch(text.strip()) or float(text) <= 0:
        raise OptionError(
            f"{text!r} is not a number above zero", "write rows per second of event time, like 2000"
        )
    return float(text)


def _distinct(text: str, columns: tuple[Column, ...]) -> tuple[tuple[str, int], ...]:
    """Columns and counts, as in `'auction: 1000, channel: 4'`."""
    found: dict[str, int] = {}
    for pair in text.split(","):
        written, colon, count = pair.rpartition(":")
        if not colon or not written.strip():
            raise OptionError(
                f"{pair.strip()!r} is not a column and a count", "write them like 'auction: 1000, channel: 4'"
            )
        name = _column(written.strip().strip("`"), columns).name
        if name in found:
            raise OptionError(f"column {name} is counted twice", "keep one of the counts")
        found[name] = _count(count.strip())
    return tuple(sorted(found.items()))


def _bytes(text: str) -> str:
    if not _BYTES.fullmatch(text.strip()):
        raise OptionError(f"{text!r} is not a number of bytes", "write a number and k, m or g, like '64m'")
    return "".join(text.split()).lower()


def _filled(text: str) -> str:
    if not text.strip():
        raise OptionError("the value is empty", "write a path")
    return text


def _read_path(text: str) -> str:
    return _path(text, writes=False)


def _written_path(text: str) -> str:
    return _path(text, writes=True)


def _path(text: str, writes: bool) -> str:
    if refused := refused_path(_filled(text), writes):
        raise OptionError(*refused)
    return text


def _delimiter(text: str) -> str:
    if not 1 <= len(text.replace("\\t", "\t").encode()) <= 4 or any(c in text for c in "\r\n"):
        raise OptionError(f"{text!r} is no delimiter", "write one to four characters, like ';' or '\\t'")
    return text


def _character(text: str) -> str:
    if len(text) > 1 or not text.isascii() or text in ("\r", "\n"):
        raise OptionError(f"{text!r} is not one character", "write one, or '' for none")
    return text


def _one_of(*choices: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.lower() not in choices:
            raise OptionError(
                f"{text!r} is not one of {', '.join(choices)}", suggestion(text, choices, "write one of")
            )
        return text.lower()

    return read


_READERS: dict[str, Callable[[str], str]] = {
    "header": _one_of("true", "false"),
    "delimiter": _delimiter,
    "quote": _character,
    "escape": _character,
    "comment": _character,
    "encoding": _one_of("utf-8", "utf-16", "latin-1"),
    "compression": _one_of("none", "gzip", "zstd"),
}
