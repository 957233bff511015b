"""The shared plan as frozen values: a graph of what is kept and computed, and who is given what of it.

A node's id is its meaning, with no query's name in it, so equal means shared: `Fragment` (what is kept of a source's rows),
`Derived` (window instances combined from others) and `Join` (partners found among fragments, evaluated in some way). An `Emission` is
the edge from nodes to a query.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TypeVar

from thalweg.expr.nodes import Column, Expr
from thalweg.expr.quoting import identifier
from thalweg.model.aggregates import AGGREGATES, ALL_ROWS, PartColumn, part_columns
from thalweg.model.nesting import is_nested, results_of
from thalweg.model.query import Aggregate, Chosen, Query
from thalweg.model.stream import Relation, Stream
from thalweg.model.windows import Window
from thalweg.once import cached_property
from thalweg.plan.grid import Cut, Pattern, Split
from thalweg.plan.groups import CELLED, Group
from thalweg.plan.join_order import Order
from thalweg.plan.pieces import Pieces
from thalweg.plan.rooms import Resting, Room
from thalweg.plan.sub_joins import SubJoin

K = TypeVar("K")
V = TypeVar("V")
COUNTED: PartColumn = part_columns(ALL_ROWS)[0]
"""The part that says how many rows an aggregation set stands for."""
BEGUN: PartColumn = part_columns(Aggregate("MIN", (Column("__time", "BIGINT"),)))[0]
"""The part that says when a session began; its slot says when its last row was."""


def named(prefix: str, *meaning: object) -> str:
    """A name of 128 bits for a meaning, with a prefix for people."""
    return f"{prefix}_{sha256(json.dumps(meaning).encode()).hexdigest()[:32]}"


@dataclass(frozen=True)
class Fragment:
    """What is kept of the rows of a source that satisfy conditions: with `early` partial aggregates by (columns, instance of the
    window), else the rows themselves, each with the slot of its event time.

    `columns` are expressions over the row, kept as "c0", "c1", ...; rows with NULL in one that is `required` are left out.
    `route` says per axis of a grid of partitions by the hash of which columns rows find their place, None where they are copied to
    all; without an axis every partition has all rows. Where there are several axes, `pattern` says which of them each stream of the
    join has. With `timed` the slot is the event time itself.
    A fragment for a window without end that begins within a slot has a `begin`, an event time, and is not shared with others.
    An aggregation set that takes over from rows has their fragment as its `origin`, and begins with what they make.
    `counted` are sets of columns whose distinct values are counted for statistics.
    A fragment of a pool of queries has the rows that any of them takes, each with its query-set in the column `__set`; `sets` says who
    takes which, and may change while the fragment stays the same. One that is not to be shared has an `owner`.
    Partial aggregates for a pool of windows have the query-set as their last columns, in so many `words` of 64 bits; or the cell as one.
    Rows of a commons, which many pools join by whatever columns, are in one partition, that of its `place`; their query-sets stand
    beside the columns, in so many words of 64 bits as `common` says, and each pool has a `Room` in them.
    Which values are `split` over all partitions is no part of the meaning: where that changes, state is cut anew. Nor is that it is `rolled`
    up from the partial aggregates that a batch makes for another fragment, by more columns.
    Of a session window the partial aggregates are those of sessions as far as they are known, by columns, first event time (`BEGUN`) and last,
    which is the slot: so one is final when the instance of its last row is.
    State: rows, or one row per distinct columns and instance, from the oldest that a user may still need.
    """

    id: str
    source: str
    where: tuple[Expr, ...]
    columns: tuple[Expr, ...]
    window: Window
    parts: tuple[PartColumn, ...] = ()
    early: bool = True
    static: bool = False
    required: tuple[int, ...] = ()
    route: tuple[tuple[int, ...] | None, ...] = ()
    pattern: Pattern = ()
    timed: bool = False
    origin: str | None = None
    begin: int | None = None
    holistic: bool = False
    counted: tuple[tuple[int, ...], ...] = ()
    pool: str = ""
    sets: tuple[Chosen, ...] = ()
    owner: str = ""
    words: int = 0
    common: int = 0
    place: int | None = None
    split: Split | None = None
    rolled: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(f"c{i}" for i in range(len(self.columns)))

    @property
    def keys(self) -> tuple[str, ...]:
        """The same as identifiers."""
        return tuple(map(identifier, self.names))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {c.sql: i for i, c in enumerate(self.columns)}

    def place_of(self, column: str) -> int:
        """The number of the column that has what the engine writes so."""
        return self._places[column]

    def type_of(self, column: str) -> str:
        """The type of the column that has what the engine writes so."""
        return self.columns[self._places[column]].type

    @property
    def reads(self) -> frozenset[str]:
        """The columns of its source that it keeps something of."""
        asked = (e for p in self.parts for e in p.call.exprs)
        return frozenset().union(*(c.columns for c in (*self.columns, *asked)))

    @property
    def celled(self) -> bool:
        """Whether cells tell the rows of a pool's members apart."""
        return self.columns[-1:] == (CELLED,)

    @property
    def group(self) -> Group:
        """What its windows have in common with others that share its slots."""
        return Group(self.source, self.where, self.columns, self.pool, self.words)

    @property
    def slot(self) -> int:
        """Microseconds from one instance to the next."""
        return self.window.slide

    @property
    def cut(self) -> Cut:
        """How its rows are spread over partitions; rows of a join without columns by their slot."""
        if self.place is not None:
            return Cut(place=self.place)
        empty = () if self.early and not self.pattern else ('"slot"',)
        return Cut(
            tuple(None if a is None else tuple(f'"c{i}"' for i in a) or empty for a in self.route),
            self.pattern,
            split=self.split,
        )


def fragment(made: Fragment) -> Fragment:
    """A fragment under the name of its meaning; parts and what is counted may be added to it."""
    w, where, columns = made.window, [c.sql for c in made.where], [c.sql for c in made.columns]
    shape = [made.early, made.static, made.required, made.route, made.pattern, made.timed]
    more = (*_optional(made.begin), *_optional(made.pool or None), *_optional(made.owner or None))
    more = (*more, *_optional("session" if w.session else None), *_optional(w.edges or None))
    return replace(made, id=named(made.source, where, columns, (w.range, w.slide, w.offset), shape, *more))


def _optional(value: object) -> list[object]:
    return [] if value is None else [value]


@dataclass(frozen=True)
class Derived:
    """Instances of a longer window, combined from those of another node: `pieces` of them, counted from the first.

    State: one row per key and instance, from the oldest that an open instance of its own users still needs.
    """

    id: str
    base: str
    parent: str
    names: tuple[str, ...]
    window: Window
    parts: tuple[PartColumn, ...]
    pieces: Pieces
    how: str
    factor: bool = False
    words: int = 0

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of its columns, which are those of its base, as identifiers."""
        return tuple(map(identifier, self.names))

    @property
    def cut(self) -> Cut:
        """How its instances are spread over partitions: by grouping key."""
        return Cut((self.keys[: len(self.keys) - self.words],))


def derived_id(parent: str, window: Window, how: str) -> str:
    """The name of derived instances by their meaning: what they are combined from, and how."""
    return named(parent.rpartition("_")[0], parent, (window.range, window.slide, window.offset), how)


@dataclass(frozen=True)
class Join:
    """Partners found among fragments, and what they make: joined rows, or partial results of groups at instants.

    `asked` is the join without names and without what is made of its results (`core`). `evaluate` is snapshot, delta, wide, expiry
    or materialize, or "rows" where the joined rows are the result; `method` hash or loop. `begins` says per input from which event time on
    its rows count (None: all). One that `takes_over` from another evaluation of the same fragments begins with what these hold.
    The join of a pool of queries may come to ask for other rows while it stays the same; `resting` are the bits that it can't give yet.
    One whose streams are kept in a commons has a `room` there, and some of its inputs, `met`, may have met in a sub-join, `sub`.
    `order` says how three or more inputs meet. It is no part of the meaning, as no state depends on it: it may change from batch to batch.
    State: what its evaluation keeps.
    """

    id: str
    asked: Query
    sides: tuple[str, ...]
    evaluate: str
    method: str
    begins: tuple[int | None, ...]
    invalidate: str = "slot"
    takes_over: bool = False
    order: Order = ()
    resting: tuple[Resting, ...] = ()
    room: Room | None = None
    sub: str = ""
    met: tuple[int, ...] = ()

    @property
    def pool(self) -> str:
        """The pool of queries that it is computed for; nothing where it is not a pool's."""
        return self.asked.inputs[0].pool


@dataclass(frozen=True)
class Emission:
    """What a query is given: the results of one of its windows from one node per kind of aggregate, or those of a join.

    `parts` says which columns come from which node: through other queries a node may have more than this one needs. Only instances that
    start (of a join: instants of the query, which a pool may have more of) in [begin, until) are emitted: a query created in mid-stream has
    a begin, a plan that another one takes over from has an until. `born` says per input from which event time on the query itself counts its
    rows, whatever plan computes it.
    Of a pool it is given what has its `bit` in the query-set.
    """

    query: str
    nodes: tuple[str, ...]
    window_id: str = ""
    window: Window | None = None
    parts: tuple[tuple[str, ...], ...] = ()
    begin: int | None = None
    until: int | None = None
    born: tuple[int | None, ...] = ()
    bit: int | None = None


@dataclass(frozen=True)
class Plan:
    """What runs: nodes in the order of computation, and what is emitted from them. `settings` are those that it was planned by. `nested`
    are the queries whose results others read, each after those that it reads itself."""

    streams: tuple[Stream, ...] = ()
    relations: tuple[Relation, ...] = ()
    queries: tuple[Query, ...] = ()
    fragments: tuple[Fragment, ...] = ()
    derived: tuple[Derived, ...] = ()
    joins: tuple[Join, ...] = ()
    emissions: tuple[Emission, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    subs: tuple[SubJoin, ...] = ()
    nested: tuple[Query, ...] = ()

    @cached_property
    def _queries(self) -> dict[str, Query]:
        return {q.name: q for q in self.asked}

    @property
    def asked(self) -> tuple[Query, ...]:
        """All queries, those that others read first."""
        return (*self.nested, *self.queries)

    @cached_property
    def _fragments(self) -> dict[str, Fragment]:
        return {f.id: f for f in self.fragments}

    @cached_property
    def _nodes(self) -> dict[str, Fragment | Derived]:
        return {n.id: n for n in self.nodes}

    @cached_property
    def _joins(self) -> dict[str, Join]:
        return {j.id: j for j in self.joins}

    @cached_property
    def _children(self) -> dict[str, list[Derived]]:
        return _indexed((d.parent, d) for d in self.derived)

    @cached_property
    def _users(self) -> dict[str, list[Emission]]:
        return _indexed((id, e) for e in self.emissions for id in e.nodes)

    @cached_property
    def _sides(self) -> dict[str, list[tuple[Join, int]]]:
        return _indexed((id, (j, n)) for j in self.joins for n, id in enumerate(j.sides))

    @cached_property
    def _given(self) -> dict[str, list[Emission]]:
        return _indexed((e.query, e) for e in self.emissions)

    @cached_property
    def _asking(self) -> dict[str, dict[str, None]]:
        found: dict[str, dict[str, None]] = {}
        for emission in self.emissions:
            for id in emission.nodes:
                for used in self.reached(id):
                    found.setdefault(used, {})[emission.query] = None
        return found

    def reached(self, id: str) -> tuple[str, ...]:
        """A node and all that it is computed from."""
        if id in self._joins:
            return (id, *self._joins[id].sides)
        node = self._nodes[id]
        return (id,) if isinstance(node, Fragment) else (id, *self.reached(node.parent))

    def queries_of(self, id: str) -> tuple[str, ...]:
        """The queries that a node is there for."""
        return tuple(self._asking.get(id, ()))

    @cached_property
    def alike(self) -> dict[str, tuple[str, ...]]:
        """The queries that ask the same and are given the same, by the first of them."""
        found: dict[object, list[str]] = {}
        for query in self.queries:
            given = tuple(replace(e, query="") for e in self.given_to(query.name))
            found.setdefault((query.meaning, given), []).append(query.name)
        return {names[0]: tuple(names) for names in found.values()}

    def query(self, name: str) -> Query:
        """The query of a name."""
        return self._queries[name]

    def find(self, name: str) -> Query | None:
        """The query of a name, if there is one."""
        return self._queries.get(name)

    def stream(self, name: str) -> Stream:
        """The stream of a name, which may be that of a nested query's results."""
        return results_of(self._queries[name]) if is_nested(name) else self._declared[name]

    @cached_property
    def _declared(self) -> dict[str, Stream]:
        return {s.name: s for s in self.streams}

    def fragment(self, id: str) -> Fragment:
        """The fragment of an id."""
        return self._fragments[id]

    def node(self, id: str) -> Fragment | Derived:
        """What has window instances under an id."""
        return self._nodes[id]

    def join(self, id: str) -> Join:
        """The join of an id."""
        return self._joins[id]

    def children(self, id: str) -> list[Derived]:
        """What is derived from a node."""
        return self._children.get(id, [])

    def users(self, id: str) -> list[Emission]:
        """What is emitted from a node."""
        return self._users.get(id, [])

    def has_windows(self, node: Fragment | Derived) -> bool:
        """Whether results of windows are computed from a node."""
        return bool(self.users(node.id) or self.children(node.id))

    def joins_of(self, fragment: str) -> list[tuple[Join, int]]:
        """The joins that read a fragment, each with the number of the input that it stands for."""
        return self._sides.get(fragment, [])

    def given_to(self, query: str) -> list[Emission]:
        """What a query is given."""
        return self._given.get(query, [])

    @property
    def nodes(self) -> tuple[Fragment | Derived, ...]:
        """All that is kept by slot or window instance, each before what is derived from it."""
        return (*self.fragments, *self.derived)

    @property
    def windowed(self) -> tuple[Query, ...]:
        """The queries over windows of one stream."""
        return tuple(q for q in self.queries if q.windows)


def _indexed(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    found: dict[K, list[V]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def is_holistic(query: Query) -> bool:
    """Whether some aggregate keeps values of rows."""
    return any(AGGREGATES[a.call.function].holistic for a in query.aggregates)


def holds_values(plan: Plan) -> bool:
    """Whether what goes through the exchange may hold values of single rows: rows of a join, or values that an aggregate keeps."""
    kept = any(is_holistic(j.asked) for j in plan.joins)
    return kept or any(f.holistic or not (f.early or f.static) for f in plan.fragments)
