"""Named inputs: streams of events, static relations, and views of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from thalweg.expr.nested import paths_of
from thalweg.expr.nodes import Expr
from thalweg.expr.python import functions_in
from thalweg.once import cached_property

FILE_FORMATS = ("parquet", "csv", "json")
MOMENT = "__moment"
"""What stands for the time at which a row is read: that of its batch, the same for all rows of it."""
RESULTS = "results"
"""The format of a stream whose rows are the results of a query: they are read from nowhere."""
PUSH = "push"
"""The format of streams whose rows are pushed: the session keeps them, as Parquet."""


@dataclass(frozen=True)
class Column:
    """A named, typed column. Types are DuckDB's names: BIGINT, DOUBLE, DECIMAL(10,2), VARCHAR, TIMESTAMP, ... With a `value` it is computed
    of others as rows are read; with a `path` it is a field of a struct, which is read apart. One that is `optional` is NULL in files that
    have not got it."""

    name: str
    type: str
    value: Expr | None = None
    path: tuple[str, ...] = ()
    optional: bool = False


def fields_in(column: Column) -> Iterator[Column]:
    """The fields of a column that is a struct, to any depth."""
    for path, type_ in paths_of(column.name, column.type):
        yield Column(".".join(path), type_, path=path)


@dataclass(frozen=True)
class Stream:
    """A named source with a schema, an event-time column and a watermark delay (microseconds).

    `format` is one of FILE_FORMATS with a `path`, or `dataframe` for a Spark streaming DataFrame given from Python.
    `on_bad_file` is `skip` (rows that do not fit, and files that can't be read, are set aside and written to `bad_rows`) or `stop`.
    `kept`, of a stream whose rows are pushed, is how long the session keeps rows that were read (microseconds); its path is the session's.
    `rate` (rows per second of event time) and `distinct` (distinct values by column) are what the user says of it.
    """

    name: str
    columns: tuple[Column, ...]
    time: str
    delay: int = 0
    format: str = "parquet"
    path: str | None = None
    files_per_batch: int | None = None
    bytes_per_batch: str | None = None
    late_rows: str | None = None
    bad_rows: str | None = None
    idle_timeout: int | None = None
    on_bad_file: str = "skip"
    options: tuple[tuple[str, str], ...] = ()
    rate: float | None = None
    distinct: tuple[tuple[str, int], ...] = ()
    kept: int | None = None

    @property
    def is_pushed(self) -> bool:
        """Whether its rows are pushed."""
        return self.kept is not None

    @property
    def declared_format(self) -> str:
        """The format as CREATE STREAM has it."""
        return PUSH if self.is_pushed else self.format

    @property
    def computed(self) -> tuple[Column, ...]:
        """The columns that are computed as rows are read."""
        return tuple(c for c in self.columns if c.value is not None)

    @property
    def is_stamped(self) -> bool:
        """Whether a column says when rows were read."""
        return any(c.value is not None and MOMENT in c.value.columns for c in self.columns)

    @property
    def functions(self) -> frozenset[tuple[str, str]]:
        """The Python functions that its computed columns call, by name and digest."""
        return functions_in(tuple(c.value for c in self.computed))

    @property
    def stored(self) -> Stream:
        """The stream as its rows are before anything is computed; where that is the time, they have none."""
        if not self.computed:
            return self
        columns = tuple(c for c in self.columns if c.value is None)
        return replace(
            self, columns=columns, time=self.time if self.time in {c.name for c in columns} else ""
        )

    def behind(self, names: Iterable[str]) -> frozenset[str]:
        """The columns that rows must bring for some columns."""
        values = {c.name: c.value for c in self.computed}
        found = ((v.columns if (v := values.get(n)) is not None else {n}) for n in names)
        return frozenset().union(*found)

    def goes_on_as(self, other: Stream) -> bool:
        """Whether this is another stream with more columns, that files need not have or that are computed."""
        own = {c.name for c in other.columns}
        more = tuple(c for c in self.columns if c.name not in own)
        fewer = replace(self, columns=tuple(c for c in self.columns if c.name in own))
        return fewer == other and all(c.optional or c.value is not None for c in more)

    @property
    def types(self) -> dict[str, str]:
        """Column name to type."""
        return {c.name: c.type for c in self.columns}

    @cached_property
    def fields(self) -> Mapping[str, Column]:
        """The fields of columns that are structs, as columns that can be read apart, by their names: `bid.price`."""
        if self.format == RESULTS:
            return {}
        return {c.name: c for column in self.columns if column.value is None for c in fields_in(column)}


@dataclass(frozen=True)
class Relation:
    """A static table: a window that never changes. `rows` and `distinct` are what the user says of it."""

    name: str
    columns: tuple[Column, ...]
    format: str
    path: str
    options: tuple[tuple[str, str], ...] = ()
    rows: int | None = None
    distinct: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class View:
    """A SELECT that filters and projects, under a name: the text of it, its columns, and the streams, tables and views that it names."""

    name: str
    text: str
    columns: tuple[Column, ...]
    reads: tuple[str, ...]
