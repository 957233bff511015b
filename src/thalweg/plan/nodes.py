"""The shared plan as frozen values. Equal means shared: a fragment's id is its meaning."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from thalweg.logical.aggregates import AGGREGATES, PartColumn
from thalweg.logical.join import JoinQuery
from thalweg.logical.query import Query
from thalweg.logical.stream import Relation, Stream
from thalweg.logical.windows import Window
from thalweg.plan.grid import Cut, Pattern

TIME = '"__time"'


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

    @property
    def cut(self) -> Cut:
        """How its instances are spread over partitions: by grouping key."""
        return Cut((tuple(f'"g{i}"' for i in range(len(self.keys))),))


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
class Side:
    """What joins keep of one input: its rows, or with `early` an aggregation set by (columns, slot).

    `columns` are expressions over the input, kept as "c0", "c1", ...; `required` are those that a join equates, so that NULL
    has no partner. `route` says per axis of the join's grid by the hash of which columns rows find their place,
    None where they are copied to all; without an axis every partition has all rows. Where there are several axes, `pattern` says
    which of them each stream of the join has.
    Of its event time a row keeps its slot of `slot` microseconds; with `timed` that is the event time itself.
    A side of a window without end that begins within a slot has a `begin`, an event time, and is not shared with others.
    An aggregation set that takes over from rows has the side of these as its `origin`, and begins with what they make.
    State: rows, or one row per distinct columns and slot, for as long as a partner may come.
    """

    id: str
    source: str
    static: bool
    where: tuple[str, ...]
    columns: tuple[str, ...]
    required: tuple[int, ...]
    parts: tuple[PartColumn, ...]
    early: bool
    slot: int
    route: tuple[tuple[int, ...] | None, ...]
    timed: bool = False
    pattern: Pattern = ()
    origin: str | None = None
    begin: int | None = None

    @property
    def cut(self) -> Cut:
        """How its rows are spread over partitions; rows without columns by their slot."""
        return Cut(tuple(None if a is None else tuple(f'"c{i}"' for i in a) or ('"slot"',) for a in self.route), self.pattern)


def side_id(side: Side) -> str:
    """The name of a side by its meaning; parts may be added to it."""
    meaning = [side.source, side.where, side.columns, side.required, side.early, side.slot, side.route, side.pattern, side.timed]
    meaning += [] if side.begin is None else [side.begin]
    return f"{side.source}_{hashlib.sha256(json.dumps(meaning).encode()).hexdigest()[:10]}"


@dataclass(frozen=True)
class Join:
    """How a join query is computed: from which side of each input, and in which way its results are evaluated.

    `evaluate` is snapshot, delta, expiry or materialize, or "rows" where the joined rows themselves are the result; `method` hash or loop.
    `begins` says per input from which event time on its rows count (None: all). Instants in [begin, until) are emitted.
    One that `takes_over` from another evaluation of the same sides begins with what these hold.
    """

    query: str
    sides: tuple[str, ...]
    evaluate: str
    method: str
    begins: tuple[int | None, ...]
    invalidate: str = "slot"
    begin: int | None = None
    until: int | None = None
    takes_over: bool = False

    @property
    def id(self) -> str:
        """The name of what the evaluation itself keeps."""
        meaning = json.dumps([self.query, self.sides, self.evaluate, self.begin])
        return f"{self.query}_{self.evaluate}_{hashlib.sha256(meaning.encode()).hexdigest()[:10]}"


@dataclass(frozen=True)
class Plan:
    """What runs: fragments in the order of computation, and what is emitted from them; sides, and what is joined from them. `settings` are
    those that it was planned by."""

    streams: tuple[Stream, ...] = ()
    queries: tuple[Query | JoinQuery, ...] = ()
    fragments: tuple[Fragment, ...] = ()
    emissions: tuple[Emission, ...] = ()
    relations: tuple[Relation, ...] = ()
    sides: tuple[Side, ...] = ()
    joins: tuple[Join, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()

    def fragment(self, id: str) -> Fragment:
        """The fragment of an id."""
        return next(f for f in self.fragments if f.id == id)

    def query(self, name: str) -> Query:
        """The windowed query of a name."""
        return next(q for q in self.queries if isinstance(q, Query) and q.name == name)

    @property
    def windowed(self) -> tuple[Query, ...]:
        """The queries over windows of one stream."""
        return tuple(q for q in self.queries if isinstance(q, Query))

    def join_query(self, name: str) -> JoinQuery:
        """The join query of a name."""
        return next(q for q in self.queries if isinstance(q, JoinQuery) and q.name == name)

    def side(self, id: str) -> Side:
        """The side of an id."""
        return next(s for s in self.sides if s.id == id)

    def stream(self, name: str) -> Stream:
        """The stream of a name."""
        return next(s for s in self.streams if s.name == name)


def holds_values(plan: Plan) -> bool:
    """Whether what goes through the exchange may hold values of single rows: rows of a join, or values that an aggregate keeps."""
    kept = any(AGGREGATES[a.call.function].holistic for q in plan.queries if isinstance(q, JoinQuery) for a in q.aggregates)
    return kept or any(f.holistic for f in plan.fragments) or any(not (s.early or s.static) for s in plan.sides)
