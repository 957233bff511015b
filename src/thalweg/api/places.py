"""Where the results of queries go: as asked, or beside that where a query takes the place of another of its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os.path import islink, realpath, sep, split
from pathlib import Path

from thalweg.api.changes import asks_same
from thalweg.api.results import result_files
from thalweg.errors import UsageError
from thalweg.model.catalog import Catalog
from thalweg.model.paths import refused_path
from thalweg.model.query import Query
from thalweg.model.recorded import Recorded
from thalweg.model.stream import Stream
from thalweg.model.target import address_of
from thalweg.state.lives import Lives

Creation = tuple[str, int]


class Places:
    """The result directories of a session, one for each creation of a query. `lives` says where results went so far, `recorded` what was told
    last, and where it was to go."""

    def __init__(self, root: Path, lives: Callable[[], Lives], recorded: Callable[[], Recorded]) -> None:
        self._root, self._lives, self._recorded = root, lives, recorded
        self._known: dict[Creation, str] = {}

    def of(self, query: Query) -> str:
        """The directory of a query's results; once said it stays."""
        creation = query.name, query.number
        if creation not in self._known:
            self._known[creation] = self._found(query)
        return self._known[creation]

    def _found(self, query: Query) -> str:
        told = self._recorded().queries.get(query.name)
        if told is not None and told.number == query.number:
            return self._recorded().places[query.name]
        mine = (
            v for v in self._lives() if v.ended is None and (v.name, v.number) == (query.name, query.number)
        )
        return next((v.directory for v in mine), self._base_of(query))

    def set_apart(self, query: Query) -> None:
        """Give a query that takes the place of another a directory that never was one's."""
        used, base = self._used, self._base_of(query)
        is_free = base not in used and not result_files(base)
        self._known[query.name, query.number] = base if is_free else next_version(base, used)

    def keep_apart(self, query: Query) -> None:
        """Give a query a directory beside its own one where another had that, which found nothing yet: a batch may still write there."""
        base, used = self._base_of(query), self._used
        if base in used and not result_files(base):
            self._known[query.name, query.number] = next_version(base, used)

    @property
    def _used(self) -> set[str]:
        """The directories that were given to queries."""
        return {*self._known.values(), *(life.directory for life in self._lives())}

    def is_same(self, a: Query, b: Query) -> bool:
        """Whether two queries of one name have the same results, in the same place."""
        return asks_same(a, b) and self._base_of(a) == self._base_of(b)

    def _base_of(self, query: Query) -> str:
        return address_of(query.into, str(self._root / query.name))


def check_results(catalog: Catalog, directory: str, others: Mapping[str, str]) -> None:
    """Refuse a result directory that is used for something else, under whatever name; `others` are those of other queries."""
    streams = catalog.streams.values()
    taken = {s.path: f"stream {s.name} is read from there" for s in streams if s.path}
    for stream in streams:
        taken |= {
            path: f"{kind} rows of stream {stream.name} go there"
            for kind, path in rows_beside(stream).items()
        }
    taken |= {other: f"query {name} writes there" for name, other in others.items()}
    if used := _use_of(directory, taken):
        raise UsageError(f"{directory}: {used}", "give each query a directory of its own")


def rows_beside(stream: Stream) -> dict[str, str]:
    """Where late and bad rows go, if that is said."""
    given = {"late": stream.late_rows, "bad": stream.bad_rows}
    return {kind: path for kind, path in given.items() if path is not None}


def check_rows_beside(stream: Stream, others: Iterable[Stream], results: Mapping[str, str]) -> None:
    """Refuse late and bad rows that would be read again, or mixed with results or with each other."""
    taken = {other: f"query {name} writes there" for name, other in results.items()}
    for kind, path in rows_beside(stream).items():
        mixed = {
            p: f"{k} rows of stream {s.name} go there"
            for s in (*others, stream)
            for k, p in rows_beside(s).items()
            if k != kind
        }
        mine = (
            {stream.path: f"stream {stream.name} is read from there, and would get its own {kind} rows"}
            if stream.path
            else {}
        )
        if used := _use_of(path, {**taken, **mixed, **mine}):
            raise UsageError(f"{path}: {used}", f"give {kind}_rows a directory of its own")


def _use_of(directory: str, taken: Mapping[str, str]) -> str | None:
    """What a directory is used for; links lead to the same directory as its own name."""
    parents: dict[str, str] = {}
    return {_real(path, parents): use for path, use in taken.items()}.get(realpath(directory))


def _real(path: str, parents: dict[str, str]) -> str:
    """A path without links; those of `parents` are looked up once for all in them. It is done for each query whenever one is created, so
    without the objects of `pathlib`, which take ten times as long."""
    parent, name = split(path)
    if name in ("", ".", "..") or islink(path):  # noqa: PTH114
        return realpath(path)
    if parent not in parents:
        parents[parent] = realpath(parent)
    return f"{parents[parent].rstrip(sep)}{sep}{name}"


def next_version(base: str, used: Iterable[str]) -> str:
    """The first directory beside another that was never used.

    >>> next_version("/nowhere/out", ["/nowhere/out", "/nowhere/out-v2"])
    '/nowhere/out-v3'
    """
    taken = set(used)
    number = 2
    while (made := f"{base}-v{number}") in taken or Path(made).exists():
        number += 1
    return made


def local(dir: str | Path) -> str | Path:
    """A directory of this machine."""
    if refused := refused_path(str(dir), writes=True):
        raise UsageError(f"session directory {refused[0]}", "give a local directory")
    return dir
