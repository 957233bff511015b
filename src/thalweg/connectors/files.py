"""A directory of files as a stream of chunks: Spark says which files are new, tasks read them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.connectors.reading.footers import check_schema, footer_of
from thalweg.connectors.reading.texts import check_header, check_keys, header_of
from thalweg.connectors.source_log import all_entries
from thalweg.errors import DataError, UsageError
from thalweg.model.stream import Stream
from thalweg.state.manifest import Consumed

SCHEMA = "path string, modificationTime timestamp, length long, content binary"
GLOBS = {"parquet": "*.parquet", "csv": "*.csv", "json": "*.json*"}
FILES = 1_000
"""The files of a directory among which the first is looked for."""


@dataclass(frozen=True)
class FileSource:
    """Files that appear in a directory, and in folders of it. All of them can be read again as long as they are there."""

    stream: Stream
    error: Exception | None = None

    def check(self, is_new: bool) -> None:
        """Refuse a directory that isn't there, and a first file without the columns that are declared."""
        check_directory(self.stream)
        if is_new:
            check_first_file(self.stream)

    def begin(self, whole: bool) -> None:
        """Others write the files."""

    def chunks(self, spark: Any) -> Any:
        """One row (stream, path, data = NULL) per new file."""
        from pyspark.sql import functions as F

        check_directory(self.stream)
        reader = spark.readStream.format("binaryFile").schema(SCHEMA).name(self.stream.name)
        for key, value in _options(self.stream).items():
            reader = reader.option(key, str(value))
        files = reader.load(_no_pattern(str(Path(self.stream.path or "").resolve())))
        return files.select(
            F.lit(self.stream.name).alias("stream"), F.col("path"), F.lit(None).cast("binary").alias("data")
        )

    def again(self, checkpoint: Path, taken: Consumed) -> tuple[str, ...] | None:
        """The files that Spark's log names."""
        logged = all_entries(checkpoint / "sources" / self.stream.name, taken.offset)
        return tuple(e.file for e in sorted(logged, key=lambda e: e.number) if e.number <= taken.offset)


def _options(stream: Stream) -> dict[str, Any]:
    limits = {"maxFilesPerTrigger": stream.files_per_batch, "maxBytesPerTrigger": stream.bytes_per_batch}
    given = {k: v for k, v in limits.items() if v is not None} or {"maxFilesPerTrigger": 1000}
    # Without recursion Spark takes the names of folders for columns, leaves out files beside folders, and takes names for patterns.
    return {
        "pathGlobFilter": GLOBS[stream.format],
        "maxFileAge": "36500d",
        "recursiveFileLookup": "true",
        **given,
    }


def _no_pattern(path: str) -> str:
    """A path as Spark takes it, which would look for what matches it.

    >>> _no_pattern("/data/x[1]")
    '/data/x\\\\[1\\\\]'
    """
    return re.sub(r"([*?\[\]{}\\])", r"\\\1", path)


def check_directory(stream: Stream) -> None:
    """Refuse a stream whose files can't be there."""
    path = Path(stream.path or "")
    if not path.is_dir():
        what = "is a file" if path.is_file() else "does not exist"
        hint = (
            "give the directory that it lies in"
            if path.is_file()
            else "create it, or correct the stream's path"
        )
        raise DataError(f"{stream.path}: the directory of stream {stream.name} {what}", hint)
    if not os.access(path, os.R_OK | os.X_OK):
        raise DataError(
            f"{stream.path}: the directory of stream {stream.name} can't be listed",
            "give this user the right to read it",
        )


def check_apart(stream: Stream, written: Mapping[str, str]) -> None:
    """Refuse to write where a stream would read it: into its directory, or a folder of it that is not hidden."""
    directory = os.path.realpath(stream.path or "")
    for path, use in written.items() if stream.path else ():
        within = os.path.relpath(os.path.realpath(path), directory)
        if not within.startswith(("..", "_")) and not any(
            part.startswith((".", "_")) for part in Path(within).parts
        ):
            raise UsageError(
                f"{path}: {use} is in the directory of stream {stream.name}, which would read it",
                "use another directory",
            )


def check_first_file(stream: Stream) -> None:
    """Refuse a first file that has not the columns that are declared: what is set aside must not be all that there is.

    Where bad files are set aside, the first that can be read at all is looked at.
    """
    stream = stream.stored
    checks = {"parquet": check_schema, "csv": check_header, "json": check_keys}
    for path in map(str, first_files(stream)):
        if stream.on_bad_file == "stop" or _is_readable(stream, path):
            checks[stream.format](stream, path)
            return


def _is_readable(stream: Stream, path: str) -> bool:
    """Whether a file is one of its format."""
    try:
        if stream.format == "parquet":
            footer_of(stream, path)
        return stream.format != "csv" or any(header_of(stream, path))
    except DataError:
        return False


def first_files(stream: Stream) -> list[Path]:
    """The first few files with rows that the directory lists, in the order in which they are read: the oldest first."""
    if stream.path is None or stream.format not in GLOBS or not Path(stream.path).is_dir():
        return []
    found = list(islice(_walk(Path(stream.path), GLOBS[stream.format]), FILES))
    return [path for _, _, path in sorted(found)]


def newest_file(stream: Stream) -> Path | None:
    """The file with rows that came last, of those that the directory lists first."""
    found = first_files(stream)
    return found[-1] if found else None


def _walk(folder: Path, pattern: str) -> Iterator[tuple[int, str, Path]]:
    """The files that Spark would take, with the times of their last change: names that begin so are hidden from it."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith((".", "_")) and not (entry.name.startswith("_") and "=" in entry.name):
                continue
            if entry.is_dir():
                yield from _walk(Path(entry), pattern)
            elif fnmatch(entry.name, pattern) and entry.is_file():
                with suppress(FileNotFoundError):  # it has gone since
                    if (stat := entry.stat()).st_size:
                        yield stat.st_mtime_ns, entry.name, Path(entry)


_NUMBERS = {
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INT",
    "int64": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
}
_OTHERS = {"bool": "BOOLEAN", "string": "STRING", "large_string": "STRING", "date32[day]": "DATE"}


def parquet_columns(path: str, name: str) -> str:
    """The columns of a Parquet directory, or of one file, as a declaration, read from its first file."""
    given = Path(path)
    found = (
        [given]
        if given.is_file()
        else sorted(f for _, _, f in _walk(given, GLOBS["parquet"]))
        if given.is_dir()
        else []
    )
    if not found:
        raise UsageError(
            f"{name}: the columns are not known", f"give columns=..., or put a Parquet file into {path}"
        )
    try:
        schema = pq.read_schema(found[0])
    except (pa.ArrowException, OSError) as e:
        raise UsageError(
            f"{found[0]}: its columns can't be read", "give columns=..., or repair or remove the file"
        ) from e
    return schema_columns(schema)


def schema_columns(schema: pa.Schema) -> str:
    """The columns of Arrow tables as a declaration."""
    return ", ".join(f"`{f.name}` {_declared(f.name, f.type)}" for f in schema)


def _declared(name: str, type_: pa.DataType) -> str:
    if pa.types.is_timestamp(type_):
        return "TIMESTAMP"
    if pa.types.is_decimal(type_):
        return f"DECIMAL({type_.precision},{type_.scale})"
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return f"ARRAY<{_declared(name, type_.value_type)}>"
    if pa.types.is_map(type_):
        return f"MAP<{_declared(name, type_.key_type)}, {_declared(name, type_.item_type)}>"
    if pa.types.is_struct(type_):
        return f"STRUCT<{', '.join(f'`{f.name}`: {_declared(name, f.type)}' for f in type_)}>"
    known = {**_NUMBERS, **_OTHERS}.get(str(type_))
    if known is None:
        raise UsageError(
            f"column {name} has the type {type_}, which no stream can have",
            "declare the columns you need with columns=...",
        )
    return known
