"""The shared plan as frozen values. Equal means shared: a fragment's id is its meaning."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from thalweg.logical.aggregates import PartColumn
from thalweg.logical.query import Query
from thalweg.logical.stream import Stream
from thalweg.logical.windows import Window


@dataclass(frozen=True)
class Fragment:
    """Partial aggregates by (grouping key, window instance) of the rows of a stream that satisfy a predicate set.

    `source` is the fragment whose instances are combined (None: the rows themselves), `pieces` which of them make up
    an instance, counted from the first.
    State: one row per key and instance, from the oldest that an open instance still needs.
    """

    id: str
    stream: str
    where: tuple[str, ...]
    keys: tuple[str, ...]
    window: Window
    parts: tuple[PartColumn, ...]
    source: str | None = None
    pieces: tuple[int, ...] = ()
    how: str = "rows"
    factor: bool = False
    holistic: bool = False

    @property
    def name(self) -> str:
        """A short text for people."""
        return f"{self.stream} {self.window}"


def fragment_id(stream: str, where: tuple[str, ...], keys: tuple[str, ...], window: Window, source: str | None, how: str) -> str:
    """The name of a fragment by its meaning and by what it is computed from."""
    meaning = json.dumps([stream, where, keys, window.range, window.slide, window.offset, source, how])
    return f"{stream}_{hashlib.sha256(meaning.encode()).hexdigest()[:10]}"


@dataclass(frozen=True)
class Emission:
    """The results of one window of one query, read from one fragment per kind of aggregate.

    `parts` says which columns come from which fragment: through other queries a fragment may have more than this one needs.
    Only instances that start in [begin, until) are emitted: a query created in mid-stream has a begin, a plan that
    another one takes over from has an until.
    """

    query: str
    window_id: str
    window: Window
    fragments: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...]
    begin: int | None = None
    until: int | None = None


@dataclass(frozen=True)
class Plan:
    """What runs: fragments in the order of computation, and what is emitted from them."""

    streams: tuple[Stream, ...] = ()
    queries: tuple[Query, ...] = ()
    fragments: tuple[Fragment, ...] = ()
    emissions: tuple[Emission, ...] = ()

    def fragment(self, id: str) -> Fragment:
        """The fragment of an id."""
        return next(f for f in self.fragments if f.id == id)

    def query(self, name: str) -> Query:
        """The query of a name."""
        return next(q for q in self.queries if q.name == name)

    def stream(self, name: str) -> Stream:
        """The stream of a name."""
        return next(s for s in self.streams if s.name == name)
