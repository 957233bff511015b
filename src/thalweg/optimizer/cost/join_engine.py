"""What a plan of a join costs in this engine, per second of event time.

The papers match tuple by tuple; here an instant is a few statements over columns. So the terms are theirs (rows kept, groups
updated, pairs made), and how often each happens follows from how an evaluation reads its sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import expm1

from thalweg.logical.join import JoinQuery
from thalweg.optimizer.cost.calibration import JoinConstants
from thalweg.optimizer.join_order import join_order, meet_once
from thalweg.optimizer.statistics import InputStatistics, JoinStatistics

SECOND = 1e6
COLUMN_BYTES = 9.0
STEPS = {"rows": 6, "snapshot": 8, "expiry": 12, "delta": 14, "materialize": 11}


@dataclass(frozen=True)
class Estimate:
    """What a plan is expected to cost: nanoseconds of work per second of stream, by what they go to, and what it keeps."""

    terms: tuple[tuple[str, float], ...]
    state_rows: float
    state_bytes: float
    pairs: float

    @property
    def nanos(self) -> float:
        """The work of one second of stream."""
        return sum(n for _, n in self.terms)


@dataclass(frozen=True)
class Held:
    """One input as a plan sees it, in rows: per slot as they are kept, and in joins of a whole window or of one step."""

    rate: float
    pieces: float
    slot: float
    window: float
    step: float
    lifetime: float
    early: bool
    keys: float
    endless: bool = False

    @property
    def kept(self) -> float:
        """Rows of state; the slots of an aggregation set without end become one."""
        return self.window if self.early and self.endless else self.slot * self.lifetime


def distinct(rows: float, values: float) -> float:
    """How many of some values so many rows are expected to have.

    >>> round(distinct(100, 100), 1), round(distinct(1, 1000))
    (63.2, 1)
    """
    return values * -expm1(-rows / values) if values > 0 else 0.0


def estimate(
    query: JoinQuery, early: tuple[bool, ...], evaluate: str, method: str, statistics: JoinStatistics, constants: JoinConstants
) -> Estimate:
    """The cost of one plan of a query."""
    batch = statistics.batch / SECOND
    held = tuple(_held(query, n, early[n] and evaluate != "rows", i, batch) for n, i in enumerate(statistics.inputs))
    taken = [("take in", sum(_taken(h, constants) for h in held))]
    join = _Join(query, method, held, constants)
    if evaluate == "rows":
        turns = [[h.rate * batch if n == k else h.window for n, h in enumerate(held)] for k in _streams(query)]
        pairs = sum(join.pairs(rows) for rows in turns) / batch
        work, kept = [("join", sum(join.cost(rows) for rows in turns) / batch)], 0.0
    else:
        work, kept, pairs = _evaluated(join, evaluate, statistics)
    steps = STEPS[evaluate] * constants.step / batch
    rows = sum(h.kept for h in held) + kept
    width = COLUMN_BYTES * (2 + len(query.keys) + len(query.aggregates))
    return Estimate((*taken, *work, ("statements", steps)), rows, rows * width, pairs)


def _streams(query: JoinQuery) -> list[int]:
    return [n for n, i in enumerate(query.inputs) if i.is_stream]


def _held(query: JoinQuery, number: int, early: bool, s: InputStatistics, batch: float) -> Held:
    given, slot = query.inputs[number], max(query.slot, 1) / SECOND
    step = (query.every or query.slot or SECOND) / SECOND
    if not given.is_stream:
        rows = distinct(s.rows, s.sets) if early else s.rows
        return Held(0.0, 0.0, 0.0, rows, rows, 0.0, early, s.keys)
    length = given.length / SECOND if given.length is not None else max(3_600.0, 100 * step)
    if not early:
        return Held(s.rate, s.rate, s.rate * slot, s.rate * length, s.rate * step, length / slot, False, s.keys)
    piece = min(slot, batch)
    return Held(
        rate=s.rate,
        pieces=distinct(s.rate * piece, s.sets) / piece,
        slot=distinct(s.rate * slot, s.sets),
        window=distinct(s.rate * length, s.sets),
        step=distinct(s.rate * step, s.sets),
        lifetime=length / slot,
        early=True,
        keys=s.keys,
        endless=given.length is None,
    )


def _taken(h: Held, c: JoinConstants) -> float:
    """Rows chosen, aggregated early or not, sent, and written as state."""
    return (grouped(h.rate, h.pieces, c) if h.early else h.rate * c.project) + h.pieces * c.ship


def grouped(rows: float, groups: float, c: JoinConstants) -> float:
    """Rows added to groups: each is looked up, and each group is made once."""
    return rows * c.lift + groups * max(c.group - c.lift, 0.0)


@dataclass(frozen=True)
class _Join:
    """One join of all inputs, pair by pair in the order in which they meet, with the aggregation of its rows."""

    query: JoinQuery
    method: str
    held: tuple[Held, ...]
    constants: JoinConstants

    def pairs(self, rows: list[float]) -> float:
        """Joined rows: partners are those of the same key, or any that the other conditions let through."""
        return self._sizes(rows, self._order(rows))[-1]

    def cost(self, rows: list[float]) -> float:
        """Finding the partners of so many rows of each input, and adding what is found to groups."""
        c, order = self.constants, self._order(rows)
        sizes = self._sizes(rows, order)
        found = 0.0
        for before, n in zip(sizes, order[1:], strict=False):
            few, many = sorted((before, rows[n]))
            found += few * many * c.compare if self.method == "loop" else few * c.build + many * c.probe
        between = sum(sizes[1:-1]) * c.probe
        return found + between + sizes[-1] * (c.pair + (c.weigh if any(h.early for h in self.held) else 0.0))

    def _order(self, rows: list[float]) -> tuple[int, ...]:
        return join_order(rows, [frozenset((*e.left.inputs, *e.right.inputs)) for e in self.query.equalities])

    def _sizes(self, rows: list[float], order: tuple[int, ...]) -> list[float]:
        """Rows after each input is joined in."""
        sizes = [rows[order[0]]]
        for place, n in enumerate(order[1:], 1):
            values = [max(1.0, self.held[n].keys, self.held[other].keys) for other in self._linked(n, order[:place])]
            sizes.append(sizes[-1] * rows[n] / max(values, default=1.0))
        sizes[-1] /= 3.0 ** len(self.query.residue)
        return sizes

    def _linked(self, number: int, others: tuple[int, ...]) -> set[int]:
        """Which of some inputs an input is equated with."""
        ends = [(e.left.inputs[0], e.right.inputs[0]) for e in self.query.equalities]
        return {a if b == number else b for a, b in ends if number in (a, b)} & set(others)


def _evaluated(join: _Join, evaluate: str, statistics: JoinStatistics) -> tuple[list[tuple[str, float]], float, float]:
    """What the evaluation itself does per second, the rows it keeps, and the pairs it makes."""
    query, held, c = join.query, join.held, join.constants
    per_second = SECOND / (query.every or SECOND)
    groups, streams = statistics.groups, _streams(query)
    if evaluate == "snapshot":
        if (once := _met_once(join, statistics)) is not None:
            return once
        view = sum(_viewed(h, h.window, c) for h in held)
        whole = [h.window for h in held]
        found = [("windows", view), ("join", join.cost(whole)), ("results", grouped(0.0, groups, c))]
        return [(n, v * per_second) for n, v in found], 0.0, join.pairs(whole) * per_second
    apart = [_apart(h, query) for h in held]
    view = sum(_viewed(h, apart[n], c) for n, h in enumerate(held)) * len(streams)
    if evaluate != "delta":
        return _lived(join, evaluate, statistics, apart, view)
    turns = [[h.step if n == k else apart[n] for n, h in enumerate(held)] for k in streams]
    new, cost = sum(join.pairs(rows) for rows in turns), sum(join.cost(rows) for rows in turns)
    found = [("windows", view), ("join", 2 * cost), ("results", grouped(2 * groups, 2 * groups, c))]
    return [(n, v * per_second) for n, v in found], groups, 2 * new * per_second


def _met_once(join: _Join, statistics: JoinStatistics) -> tuple[list[tuple[str, float]], float, float] | None:
    """A snapshot whose pairs are made once for all instants of a batch: where rows are kept, and windows overlap much."""
    query, held, c, groups = join.query, join.held, join.constants, statistics.groups
    every, batch = (query.every or SECOND) / SECOND, statistics.batch / SECOND
    instants, streams = max(1.0, batch / every), _streams(query)
    windows = {n: length / SECOND for n in streams if (length := query.inputs[n].length) is not None}
    ahead = instants * every
    if any(held[n].early for n in streams) or not meet_once(list(windows.values()), ahead, instants):
        return None
    rows = [h.window * (1 + ahead / windows[n]) if n in windows else h.window for n, h in enumerate(held)]
    pairs, per_second = join.pairs(rows), 1 / (instants * every)
    results = pairs * c.lift + groups * instants * instants * c.lift + grouped(0.0, groups * instants, c)
    found = [("windows", sum(rows) * c.copy), ("join", join.cost(rows)), ("results", results)]
    return [(n, v * per_second) for n, v in found], 0.0, pairs * per_second


def _lived(
    join: _Join, evaluate: str, statistics: JoinStatistics, apart: list[float], view: float
) -> tuple[list[tuple[str, float]], float, float]:
    """Expiry and materialize: the pairs of a batch are made at once and merged once, whatever instants it has; each of these then
    merges what is born or dies between them."""
    query, held, c, groups = join.query, join.held, join.constants, statistics.groups
    every, batch = (query.every or SECOND) / SECOND, statistics.batch / SECOND
    instants = max(1.0, batch / every)
    per_second = 1 / (instants * every)
    turns = [[min(h.step * instants, apart[n]) if n == k else apart[n] for n, h in enumerate(held)] for k in _streams(query)]
    new, cost = sum(join.pairs(rows) for rows in turns), sum(join.cost(rows) for rows in turns)
    lives = min((h.lifetime * query.slot / (query.every or 1) for h in held if h.lifetime), default=1.0)
    credited = min(groups * instants * lives, new)
    entries = min(groups, new / instants) * lives if evaluate == "expiry" else new / instants * lives / 2
    born = grouped(0.0, credited, c) if evaluate == "expiry" else 0.0
    changing = min(groups, new) * min(instants, lives) * instants * c.lift
    results = born + (entries + credited) * c.lift + changing + grouped(0.0, groups * instants, c)
    found = [("windows", view), ("join", cost), ("results", results)]
    return [(n, v * per_second) for n, v in found], entries, new * per_second


def _viewed(h: Held, rows: float, c: JoinConstants) -> float:
    """What is kept, put into the windows of an instant."""
    return grouped(h.kept, rows, c) if h.early else h.kept * c.copy


def _apart(h: Held, query: JoinQuery) -> float:
    """Rows of a window where each step keeps its own: they die at different instants."""
    if not h.lifetime or (h.early and h.endless):
        return h.window
    steps = max(1.0, h.lifetime * query.slot / (query.every or query.slot))
    return h.step * steps if h.early else h.window
