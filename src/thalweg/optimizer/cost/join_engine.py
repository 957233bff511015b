"""What a plan of a join costs in this engine, per second of event time.

The papers match tuple by tuple; here an instant is a few statements over columns. So the terms are theirs (rows kept, groups
updated, pairs made), and how often each happens follows from how an evaluation reads its sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import expm1, prod

from thalweg.logical.join import Equality, JoinQuery
from thalweg.optimizer.cost.calibration import JoinConstants
from thalweg.optimizer.statistics import InputStatistics, JoinStatistics

SECOND = 1e6
COLUMN_BYTES = 9.0
STEPS = {"rows": 2, "snapshot": 3, "expiry": 7, "delta": 8, "materialize": 6}


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

    @property
    def kept(self) -> float:
        """Rows of state."""
        return self.slot * self.lifetime


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
    held = tuple(_held(query, n, early[n] and evaluate != "rows", i, statistics.batch / SECOND) for n, i in enumerate(statistics.inputs))
    taken = [("take in", sum(_taken(h, constants) for h in held))]
    if evaluate == "rows":
        new = _pairs(query, [[h.rate if n == k else h.window for n, h in enumerate(held)] for k in range(len(held))], held)
        probes = sum(h.window for h in held) / (statistics.batch / SECOND) + sum(h.rate for h in held)
        work = [("join", probes * constants.probe + new * constants.pair)]
        kept, pairs = 0.0, new
    else:
        work, kept, pairs = _evaluated(query, evaluate, method, held, statistics, constants)
    steps = STEPS[evaluate] * constants.step / (statistics.batch / SECOND)
    rows = sum(h.kept for h in held) + kept
    width = COLUMN_BYTES * (2 + len(query.keys) + len(query.aggregates))
    return Estimate((*taken, *work, ("statements", steps)), rows, rows * width, pairs)


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
    )


def _taken(h: Held, c: JoinConstants) -> float:
    """Rows chosen, aggregated early or not, sent, and written as state."""
    return h.rate * (c.lift if h.early else c.project) + h.pieces * c.ship


def _pairs(query: JoinQuery, turns: list[list[float]], held: tuple[Held, ...]) -> float:
    """Joined rows of several joins: partners are those of the same key, or any that the other conditions let through."""
    values = prod(max(1.0, held[e.left.inputs[0]].keys, held[e.right.inputs[0]].keys) for e in _spanning(query))
    others = 3.0 ** len(query.residue)
    return sum(prod(rows) for rows in turns) / values / others


def _spanning(query: JoinQuery) -> list[Equality]:
    """One equality per pair of inputs that it links for the first time: others on the same pair choose no further."""
    found: dict[tuple[int, int], Equality] = {}
    for e in query.equalities:
        found.setdefault((e.left.inputs[0], e.right.inputs[0]), e)
    return list(found.values())


def _evaluated(
    query: JoinQuery, evaluate: str, method: str, held: tuple[Held, ...], statistics: JoinStatistics, c: JoinConstants
) -> tuple[list[tuple[str, float]], float, float]:
    """What the evaluation itself does per second, the rows it keeps, and the pairs it makes."""
    per_second = SECOND / (query.every or SECOND)
    view = sum(h.kept * (c.group if h.early else c.copy) for h in held)
    groups = statistics.groups
    alive = _pairs(query, [[h.window for h in held]], held)
    if evaluate == "snapshot":
        joined = _joined([[h.window for h in held]], alive, method, c)
        found = [("windows", view), ("join", joined), ("results", groups * c.group)]
        return [(n, v * per_second) for n, v in found], 0.0, alive * per_second
    apart = [_apart(h, query) for h in held]
    streams = [n for n, i in enumerate(query.inputs) if i.is_stream]
    turns = [[h.step if n == k else apart[n] for n, h in enumerate(held)] for k in streams]
    new = _pairs(query, turns, held)
    joined = _joined(turns, new, method, c)
    lives = min((h.lifetime * query.slot / (query.every or 1) for h in held if h.lifetime), default=1.0)
    if evaluate == "delta":
        found = [("windows", view * len(streams)), ("join", 2 * joined), ("results", 3 * groups * c.group)]
        return [(n, v * per_second) for n, v in found], groups, 2 * new * per_second
    entries = min(groups * lives, new * lives) if evaluate == "expiry" else new * lives / 2
    found = [("windows", view * len(streams)), ("join", joined), ("results", (entries + groups) * c.group)]
    return [(n, v * per_second) for n, v in found], entries, new * per_second


def _apart(h: Held, query: JoinQuery) -> float:
    """Rows of a window where each step keeps its own: they die at different instants."""
    if not h.lifetime:
        return h.window
    steps = max(1.0, h.lifetime * query.slot / (query.every or query.slot))
    return h.step * steps if h.early else h.window


def _joined(turns: list[list[float]], pairs: float, method: str, c: JoinConstants) -> float:
    if method == "loop":
        return sum(prod(rows) for rows in turns) * c.compare + pairs * c.pair
    return sum(sum(rows) for rows in turns) * c.probe + pairs * c.pair
