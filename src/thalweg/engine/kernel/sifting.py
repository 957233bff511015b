"""The files of a task of which some are bad or have bad rows: what is left of them, and what is set aside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from thalweg.connectors.reading.footers import parquet_value
from thalweg.connectors.reading.nested_values import roots
from thalweg.engine.kernel.chunks import files_sql
from thalweg.engine.kernel.connection import run
from thalweg.engine.kernel.judging import Judged, check_file, judged
from thalweg.engine.kernel.misfits import names
from thalweg.errors import DataError
from thalweg.expr.quoting import identifier
from thalweg.model.stream import Column, Stream
from thalweg.state.manifest import KEPT_FILES, KEPT_ROWS, SetAside

TEXTS = ("file", "place", "column", "value", "reason")


@dataclass
class Sifted:
    """What was found of files: those that are good, those with bad rows, and why others are bad as a whole."""

    stream: Stream
    columns: Sequence[Column]
    good: list[str] = field(default_factory=list)
    mixed: dict[str, Judged] = field(default_factory=dict)
    whole: dict[str, str] = field(default_factory=dict)

    @property
    def is_bad(self) -> bool:
        """Whether something is."""
        return bool(self.mixed or self.whole)

    @property
    def bad_rows(self) -> int:
        """How many rows are set aside, without those of files that are bad as a whole."""
        return sum(m.bad.num_rows for m in self.mixed.values())

    @property
    def bad_files(self) -> int:
        """How many files are set aside as a whole."""
        return len(self.whole)

    @property
    def bad(self) -> pa.Table:
        """All that is set aside."""
        rows = [
            m.bad.add_column(0, "file", pa.repeat(path, m.bad.num_rows)) for path, m in self.mixed.items()
        ]
        return pa.concat_tables([bad_files(self.whole), *(r.cast(SCHEMA) for r in rows)])

    @property
    def first(self) -> tuple[SetAside, ...]:
        """The first of it, for people."""
        files = [SetAside(self.stream.name, path, why) for path, why in self.whole.items()][:KEPT_FILES]
        rows = [row for path, m in self.mixed.items() for row in m.first(self.stream, path, KEPT_ROWS)][
            :KEPT_ROWS
        ]
        return (*rows, *files)

    @property
    def source(self) -> str | None:
        """What reads all rows that are left; None where there are no files left."""
        columns = roots(self.columns, self.stream.columns)
        values = ", ".join(f"{parquet_value(c)} AS {identifier(c.name)}" for c in columns)
        plain = values if self.stream.format == "parquet" else names(columns)
        read = [f"SELECT {plain} FROM {files_sql(self.stream, self.good)}"] if self.good else []
        read += [f"SELECT {names(columns)} FROM {m.table}" for m in self.mixed.values()]
        return f"({' UNION ALL '.join(read)})" if read else None

    def forget(self) -> None:
        """Let the good rows of files with bad ones go."""
        for found in self.mixed.values():
            run(f"DROP TABLE IF EXISTS {found.table}")


SCHEMA = pa.schema([(name, pa.string()) for name in TEXTS])


def bad_files(whole: dict[str, str]) -> pa.Table:
    """Files that are set aside as a whole, as rows among those that are bad."""
    nothing = [None] * len(whole)
    return pa.table([list(whole), nothing, nothing, nothing, list(whole.values())], schema=SCHEMA)


def sifted(stream: Stream, paths: Sequence[str], columns: Sequence[Column]) -> Sifted:
    """Look at files one by one; the first bad one is an error where the stream says so."""
    found = Sifted(stream, columns)
    for number, path in enumerate(paths):
        if stream.on_bad_file == "stop":
            check_file(stream, path, columns)
            continue
        try:
            rows = judged(stream, path, columns, f"good_{number}")
        except DataError as e:
            found.whole[path] = reason(e)
            continue
        if rows is None:
            found.good.append(path)
        else:
            found.mixed[path] = rows
    return found


def reason(error: DataError) -> str:
    """What is wrong with a file, without its name."""
    return error.message.partition("can't be read as stream ")[2].partition(": ")[2] or error.message
