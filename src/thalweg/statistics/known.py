"""What is known of streams and tables, and where from: measured by the running stream, declared, sampled from files, or assumed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from math import prod

from thalweg.expr.nodes import Expr
from thalweg.expr.quoting import identifier
from thalweg.model.query import Query
from thalweg.model.stream import Relation, Stream
from thalweg.model.windows import Window
from thalweg.once import cached_property, once
from thalweg.plan.codec import dumps
from thalweg.plan.core import core
from thalweg.plan.groups import Group, group_of, in_order
from thalweg.plan.nodes import Fragment
from thalweg.plan.sides import sides_of
from thalweg.state.manifest import Seen
from thalweg.statistics.records import FEW_ROWS, Heavy, WindowStatistics

# What a stream is taken for before anything of it is known.
ASSUMED = WindowStatistics(rate=1_000, keys=100, batch=60_000_000)
ASSUMED_SETS = 1_000.0
ASSUMED_GROUPS = 50.0


class Origin(StrEnum):
    """Where a statistic comes from, the best first."""

    MEASURED = "measured"
    DECLARED = "declared"
    SAMPLED = "sampled"
    ASSUMED = "assumed"


@dataclass(frozen=True)
class Figure:
    """A statistic, and where it comes from."""

    value: float
    origin: Origin = Origin.ASSUMED


@dataclass(frozen=True)
class Sampled:
    """What files say before they are read as a stream.

    rows: rows per second of a stream, rows of a table. sides: as in `Seen`, (share of rows that conditions choose, distinct
    values of all that is kept, distinct values of what is equated). batches: microseconds of event time in a batch of a stream,
    where it is known how many files that is. heavy: as in `Seen`.
    """

    rows: Mapping[str, float] = field(default_factory=dict)
    sides: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    batches: Mapping[str, float] = field(default_factory=dict)
    heavy: Mapping[str, Heavy] = field(default_factory=dict)


@dataclass(frozen=True)
class GroupFigures:
    """A stream as the windows over one grouping see it: rows per second, the share that conditions choose, distinct keys,
    and microseconds of event time per batch."""

    rate: Figure
    share: Figure
    keys: Figure
    batch: Figure


@dataclass(frozen=True)
class InputFigures:
    """An input of a join: rows per second of a stream or rows of a table, the share that its conditions choose, distinct
    values of all that is equated and of all that is kept; and of the columns of each class that is equated, by these columns."""

    rows: Figure
    share: Figure
    keys: Figure
    sets: Figure
    equated: tuple[tuple[tuple[str, ...], Figure, Heavy], ...] = ()


@dataclass(frozen=True)
class JoinedBy:
    """What a plan of a join has made: joined rows, of an exposure of so many seconds times rates, in so many milliseconds, within so many
    seconds of event time."""

    early: tuple[bool, ...]
    evaluate: str
    method: str
    pairs: float
    exposure: float
    millis: float
    seconds: float


@dataclass(frozen=True)
class Known:
    """All that is known. Each figure is the best there is: measured, else declared, else sampled, else assumed. `ranges` are the hash ranges
    of state, and of so `few` partial aggregates there is one."""

    seen: Seen = field(default_factory=Seen)
    streams: tuple[Stream, ...] = ()
    relations: tuple[Relation, ...] = ()
    sampled: Sampled = field(default_factory=Sampled)
    nested: tuple[Query, ...] = ()
    ranges: int = 1
    few: int = FEW_ROWS

    def group(self, group: Group) -> GroupFigures:
        """Of the windows over one grouping."""
        side = group_side(group)
        measured = self.seen.keys.get(group_name(group))
        if group.pool and measured is None:
            own = self.group(Group(group.stream, (), group.keys[: len(group.keys) - group.words]))
            return replace(own, keys=Figure(own.keys.value * group.spread, own.keys.origin))
        assumed = ASSUMED.keys if group.keys else 1.0
        keys = (
            self._values(side, range(len(side.columns)), 1, assumed)
            if measured is None
            else Figure(measured, Origin.MEASURED)
        )
        return GroupFigures(self.rate(group.stream), self._share(side), keys, self.batch((group.stream,)))

    def input(self, side: Fragment) -> InputFigures:
        """Of an input of a join."""
        rows = self._table_rows(side.source) if side.static else self.rate(side.source)
        measured, equated = (
            self.seen.sides.get(side_name(side)),
            tuple(self._equated(side, some) for some in side.counted if some),
        )
        if measured is not None:
            share, sets, keys = (Figure(value, Origin.MEASURED) for value in measured)
            return InputFigures(rows, share, keys, sets, equated)
        sets = self._values(side, range(len(side.columns)), 1, ASSUMED_SETS)
        return InputFigures(
            rows, self._share(side), self._values(side, side.counted[0], 2, ASSUMED_SETS), sets, equated
        )

    def _equated(self, side: Fragment, some: tuple[int, ...]) -> tuple[tuple[str, ...], Figure, Heavy]:
        """Distinct values of some columns that are equated, and those that are frequent."""
        name, columns = side_name(side, some), tuple(side.columns[i].sql for i in some)
        if (measured := self.seen.sides.get(name)) is not None:
            return columns, Figure(measured[2], Origin.MEASURED), self.seen.heavy.get(name, ())
        return columns, self._values(side, some, 2, ASSUMED_SETS, some), self.sampled.heavy.get(name, ())

    def groups(self, query: Query) -> Figure:
        """Groups of the results of a join: as many as the keys of each input have values together."""
        if (measured := self.seen.keys.get(join_name(query))) is not None:
            return Figure(measured, Origin.MEASURED)
        if not query.keys:
            return Figure(1.0)
        found = [self._values(s, range(len(s.columns)), 1, ASSUMED_GROUPS) for s in key_sides(query)]
        if any(k.own is None for k in query.keys) or any(f.origin is Origin.ASSUMED for f in found):
            return Figure(max([ASSUMED_GROUPS, *(f.value for f in found)]))
        return Figure(prod(f.value for f in found), max((f.origin for f in found), key=list(Origin).index))

    def joined(self, query: Query) -> tuple[JoinedBy, ...]:
        """What plans of a join have made, as far as they ran."""
        return self._joined.get(join_name(query), ()) if self._joined else ()

    @cached_property
    def _joined(self) -> dict[str, tuple[JoinedBy, ...]]:
        found: dict[str, tuple[JoinedBy, ...]] = {}
        for name, (pairs, exposure, millis, seconds) in self.seen.pairs.items():
            join, early, evaluate, method = name.rsplit("|", 3)
            made = JoinedBy(
                tuple(d == "1" for d in early), evaluate, method, pairs, exposure, millis, seconds
            )
            found[join] = (*found.get(join, ()), made)
        return found

    def batch(self, streams: Iterable[str]) -> Figure:
        """Microseconds of event time in a batch of some streams, the longest of them."""
        names = tuple(dict.fromkeys(n for s in streams for n in self._declared(s)))
        measured = [self.seen.streams[s][1] for s in names if s in self.seen.streams]
        sampled = [self.sampled.batches[s] for s in names if s in self.sampled.batches]
        return _best(float(ASSUMED.batch), max(measured, default=None), None, max(sampled, default=None))

    def rate(self, name: str) -> Figure:
        """Rows per second of a stream."""
        declared = next((s.rate for s in self.streams if s.name == name), None)
        measured = self.seen.streams.get(name)
        if measured is None and (inner := self._nested.get(name)) is not None:
            return self._rate_of_results(inner)
        return _best(
            float(ASSUMED.rate), measured[0] if measured else None, declared, self.sampled.rows.get(name)
        )

    @cached_property
    def _nested(self) -> dict[str, Query]:
        return {q.name: q for q in self.nested}

    def _declared(self, stream: str) -> tuple[str, ...]:
        """The declared streams behind one, which may be that of a nested query's results."""
        inner = self._nested.get(stream)
        return (stream,) if inner is None or stream in self.seen.streams else inner.sources

    def _rate_of_results(self, query: Query) -> Figure:
        """Results per second of a nested query: groups of each instance or instant; of joined rows nothing is known before they come."""
        if query.unites:
            found = [(self.rate(i.source), self.share_of(i.source, i.where)) for i in query.inputs]
            origin = max((f.origin for pair in found for f in pair), key=list(Origin).index)
            return Figure(sum(rate.value * share.value for rate, share in found), origin)
        if query.windows:
            keys = self.group(group_of(query)).keys
            spans = [w.window.range if w.window.session else w.window.slide for w in query.windows]
            return Figure(sum(keys.value * 1e6 / span for span in spans), keys.origin)
        if query.every is not None:
            groups = self.groups(query)
            return Figure(groups.value * 1e6 / query.every, groups.origin)
        return self.rate(query.streams[0])

    def _table_rows(self, name: str) -> Figure:
        declared = next((r.rows for r in self.relations if r.name == name), None)
        return _best(ASSUMED_SETS, None, declared, self.sampled.rows.get(name))

    def _share(self, side: Fragment) -> Figure:
        """The part of the rows that a side takes; of a pool's, what any member takes, as if conditions knew nothing of each other."""
        if side.pool:
            found = [self.share_of(side.source, where) for where in {c.where for c in side.sets}]
            origin = max((f.origin for f in found), key=list(Origin).index, default=Origin.ASSUMED)
            return Figure(1 - prod(1 - f.value for f in found), origin)
        sampled = self.sampled.sides.get(side_name(side))
        return _best(1.0, None, None, sampled[0] if sampled else None)

    @cached_property
    def _shares(self) -> dict[tuple[str, str], Figure]:
        """The part of the rows that conditions choose, whatever is kept of these."""
        measured = ((name, s[0], Origin.MEASURED) for name, s in self.seen.sides.items())
        sampled = ((name, s[0], Origin.SAMPLED) for name, s in self.sampled.sides.items())
        found: dict[tuple[str, str], Figure] = {}
        for name, share, origin in (*sampled, *measured):
            found[_chosen_by(name)] = Figure(share, origin)
        return found

    def share_of(self, source: str, where: Sequence[Expr]) -> Figure:
        """The part of the rows of a stream or table that conditions choose."""
        key = source, _together(where)
        return Figure(1.0, Origin.MEASURED) if not where else self._shares.get(key, Figure(1.0))

    def _values(
        self,
        side: Fragment,
        columns: Iterable[int],
        place: int,
        assumed: float,
        equated: tuple[int, ...] | None = None,
    ) -> Figure:
        """Distinct values of some columns of a side, as far as they were not measured; `place` is where a sample has them."""
        sources: tuple[Stream | Relation, ...] = (*self.streams, *self.relations)
        counts = {
            identifier(name): float(count)
            for s in sources
            if s.name == side.source
            for name, count in s.distinct
        }
        sampled = self.sampled.sides.get(side_name(side, equated))
        declared = [counts.get(side.columns[i].sql) for i in columns]
        return distinct_values(declared, sampled[place] if sampled else None, assumed if declared else 1.0)


def _best(assumed: float, *found: float | None) -> Figure:
    """The first figure that there is, in the order of origins."""
    return next((Figure(v, o) for v, o in zip(found, Origin, strict=False) if v is not None), Figure(assumed))


def distinct_values(declared: list[float | None], sampled: float | None, assumed: float) -> Figure:
    """Distinct values of a key from the declared counts of its columns, of all of them together in a sample, or assumed.

    Several columns have at most the product of their counts, and at least the largest.

    >>> [distinct_values([20.0, 50.0], s, 100).value for s in (None, 60, 5)]
    [1000.0, 60, 50.0]
    """
    counts = [c for c in declared if c is not None]
    if (
        counts
        and len(counts) == len(declared)
        and (len(counts) == 1 or sampled is None or prod(counts) <= sampled)
    ):
        return Figure(prod(counts), Origin.DECLARED)
    found = _best(assumed, None, None, sampled)
    least = max(counts, default=0.0)
    return found if found.value >= least else Figure(least, Origin.DECLARED)


def group_side(group: Group) -> Fragment:
    """The rows of a group of windows as a side, so that they are looked at as those of joins are."""
    return Fragment("", group.stream, group.where, group.keys, Window(1, 1), counted=((),))


def key_sides(query: Query) -> tuple[Fragment, ...]:
    """The grouping keys of a join by the input that they are of."""
    owned = [
        in_order(k.bare for k in query.keys if k.bare is not None and k.inputs == (n,))
        for n in range(len(query.inputs))
    ]
    sides = sides_of(query, (True,) * len(query.inputs))
    return tuple(
        replace(s, columns=columns, counted=((),)) for s, columns in zip(sides, owned, strict=True) if columns
    )


def sides_to_sample(queries: Iterable[Query]) -> tuple[Fragment, ...]:
    """All that is asked of a sample, each once."""
    return tuple({name: side for q in queries if not q.unites for name, side in _sides_to_sample(q)}.values())


@lru_cache(maxsize=4096)
def _chosen_by(side: str) -> tuple[str, str]:
    """The source and the conditions in the name of a side."""
    source, where, *_ = json.loads(side)
    return source, where


@once
def _sides_to_sample(query: Query) -> tuple[tuple[str, Fragment], ...]:
    """What one query asks of a sample, by name."""
    if query.windows:
        sides: tuple[Fragment, ...] = (group_side(group_of(query)),)
    else:
        sides = (*sides_of(query, (True,) * len(query.inputs)), *key_sides(query))
    return tuple((json.dumps(side_names(s)), s) for s in sides)


@once
def side_names(side: Fragment) -> tuple[str, ...]:
    """A side as keys of statistics, one for each set of columns that is counted."""
    return tuple(side_name(side, some) for some in side.counted)


def group_name(group: Group) -> str:
    """A group as a key of statistics."""
    return json.dumps([group.stream, group.pool or _together(group.where), [k.sql for k in group.keys]])


def _together(where: Iterable[Expr]) -> str:
    return " AND ".join(c.sql for c in where)


@once
def join_name(query: Query) -> str:
    """A join as a key of statistics, whoever asks for it."""
    return f"join|{sha256(dumps(core(query)).encode()).hexdigest()[:32]}"


def plan_name(query: Query, early: Iterable[bool], evaluate: str, method: str) -> str:
    """A plan of a join as a key of statistics."""
    return "|".join([join_name(query), "".join("01"[e] for e in early), evaluate, method])


def side_name(side: Fragment, equated: tuple[int, ...] | None = None) -> str:
    """A side as a key of statistics, whatever plan it is of."""
    columns = side.counted[0] if equated is None else equated
    return f"{_named_by(side)}{json.dumps(columns)}]"


@once
def _named_by(side: Fragment) -> str:
    """What is the same in all names of a side."""
    given = json.dumps([side.source, side.pool or _together(side.where), [c.sql for c in side.columns]])
    return f"{given[:-1]}, "
