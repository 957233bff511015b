"""Where the results of queries go: as asked, or beside that where a query takes the place of another of its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os.path import realpath
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


class Places:
    """The result directories of a session. `lives` says where results went so far, `ran` what the last batch was asked, `recorded` what was
    told last, and where it was to go."""

    def __init__(
        self,
        root: Path,
        lives: Callable[[], Lives],
        ran: Callable[[], Mapping[str, Query]],
        recorded: Callable[[], Recorded],
    ) -> None:
        self._root, self._lives, self._ran, self._recorded = root, lives, ran, recorded
        self._known: dict[Query, str] = {}
        self._said: dict[int, tuple[Query, str]] = {}

    def of(self, query: Query) -> str:
        """The directory of a query's results; once said it stays."""
        said = self._said.get(id(query))
        if said is None or said[0] is not query:
            if query not in self._known:
                self._known[query] = self._found(query)
            said = self._said[id(query)] = (query, self._known[query])
        return said[1]

    def _found(self, query: Query) -> str:
        base = self._base_of(query)
        if self._is_recorded(query):
            return self._recorded().places[query.name]
        life = next((v for v in self._lives() if v.name == query.name and v.ended is None), None)
        if life is None or life.directory == base:
            return base
        ran = self._ran().get(query.name)
        return (
            life.directory
            if ran is not None and asks_same(ran, query) and self._base_of(ran) == base
            else base
        )

    def set_apart(self, query: Query, before: Query | None) -> None:
        """Give a query that takes the place of `before` a directory of its own, unless it asks what runs already."""
        ran = self._ran().get(query.name)
        if before is None or (ran is not None and asks_same(ran, query)) or self._is_recorded(query):
            return
        base, used = (
            self._base_of(query),
            {*self._known.values(), *(life.directory for life in self._lives())},
        )
        self._known[query] = base if base not in used and not result_files(base) else next_version(base, used)
        self._said.pop(id(query), None)

    def _is_recorded(self, query: Query) -> bool:
        """Whether it was told before, to go to the same place."""
        told = self._recorded().queries.get(query.name)
        return told is not None and asks_same(told, query) and self._base_of(told) == self._base_of(query)

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
    """A path without links; those of `parents` are looked up once for all in them."""
    found = Path(path)
    if found.name in ("", "..") or found.is_symlink():
        return realpath(path)
    parent = str(found.parent)
    if parent not in parents:
        parents[parent] = realpath(parent)
    return str(Path(parents[parent]) / found.name)


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
    if isinstance(dir, str) and (refused := refused_path(dir, writes=True)):
        raise UsageError(f"session directory {refused[0]}", "give a local directory")
    return dir
