"""What a plan of a join costs in this engine, per second of event time.

The papers match tuple by tuple; here an instant is a few statements over columns. So the terms are theirs (rows kept, groups
updated, pairs made), and how often each happens follows from how an evaluation reads its sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import expm1

from thalweg.model.attaching import FOR_EVER, kept_longer
from thalweg.model.query import ORDERED, PASSING, Query
from thalweg.optimizer.cost.calibration import JoinConstants
from thalweg.optimizer.cost.partners import Partners
from thalweg.optimizer.cost.widths import Widths
from thalweg.plan.join_order import Order, inputs_met
from thalweg.statistics.records import InputStatistics

SECOND = 1e6


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
    endless: bool = False

    @property
    def is_set(self) -> bool:
        """Whether it is surely an aggregation set."""
        return self.early

    @property
    def may_be_set(self) -> bool:
        """Whether it may be one."""
        return self.early

    @property
    def kept(self) -> float:
        """Rows of state; the slots of an aggregation set without end become one."""
        return self.window if self.early and self.endless else self.slot * self.lifetime

    def taken(self, c: JoinConstants) -> float:
        """Rows chosen, aggregated early or not, sent, and written as state."""
        return (
            grouping(self.rate, self.pieces, c) if self.early else self.rate * c.project
        ) + self.pieces * c.ship

    def viewed(self, rows: float, c: JoinConstants) -> float:
        """What is kept, put into the windows of an instant, which then have so many rows."""
        return grouping(self.kept, rows, c) if self.early else self.kept * c.copy

    def apart(self, query: Query) -> float:
        """Rows of the window where every step keeps its own: they die at different instants."""
        if not self.lifetime or (self.early and self.endless):
            return self.window
        steps = max(1.0, self.lifetime * query.slot / (query.every or query.slot))
        return self.step * steps if self.early else self.window


def distinct(rows: float, values: float) -> float:
    """How many of some values so many rows are expected to have.

    >>> round(distinct(100, 100), 1), round(distinct(1, 1000))
    (63.2, 1)
    """
    return values * -expm1(-rows / values) if values > 0 else 0.0


def held_of(query: Query, number: int, early: bool, s: InputStatistics, batch: float) -> Held:
    given, slot = query.inputs[number], max(query.slot, 1) / SECOND
    step = (query.every or query.slot or SECOND) / SECOND
    if not given.is_stream:
        rows = distinct(s.rows, s.sets) if early else s.rows
        return Held(0.0, 0.0, 0.0, rows, rows, 0.0, early)
    endless = 0.0 if given.kind in (PASSING, ORDERED) else max(3_600.0, 100 * step)
    if query.running is not None and query.running.by_time_alone:
        endless = query.running.length / SECOND
    length = given.length / SECOND if given.length is not None else endless
    if not early:
        longer = kept_longer(query, number)
        kept = length + (longer / SECOND if longer != FOR_EVER else max(3_600.0, 100 * step))
        return Held(s.rate, s.rate, s.rate * slot, s.rate * length, s.rate * step, kept / slot, False)
    piece = min(slot, batch)
    return Held(
        rate=s.rate,
        pieces=distinct(s.rate * piece, s.sets) / piece,
        slot=distinct(s.rate * slot, s.sets),
        window=distinct(s.rate * length, s.sets),
        step=distinct(s.rate * step, s.sets),
        lifetime=length / slot,
        early=True,
        endless=given.length is None,
    )


def grouping(rows: float, groups: float, c: JoinConstants) -> float:
    """Rows added to groups: each is looked up, and each group is made once."""
    return rows * c.lift + groups * max(c.group - c.lift, 0.0)


@dataclass(frozen=True)
class CostedJoin:
    """One join of all inputs, pair by pair in the order in which they meet, with the aggregation of its rows."""

    query: Query
    held: tuple[Held, ...]
    partners: Partners
    widths: Widths
    order: Order = ()

    @property
    def constants(self) -> JoinConstants:
        """What one of each costs."""
        return self.partners.constants

    @property
    def streams(self) -> list[int]:
        """The inputs that are streams."""
        return [n for n, i in enumerate(self.query.inputs) if i.is_stream]

    @property
    def apart(self) -> list[float]:
        """Rows of each window where every step keeps its own."""
        return [h.apart(self.query) for h in self.held]

    @property
    def viewed_apart(self) -> float:
        """What is kept, put into the windows of an instant once for every stream that changes."""
        return sum(h.viewed(h.apart(self.query), self.constants) for h in self.held) * len(self.streams)

    def pairs(self, rows: list[float], fresh: int | None) -> float:
        """Joined rows of so many of each input, where `fresh` has new ones: partners are those of the same key, or any that the other
        conditions let through."""
        return self.partners.pairs(rows, self._met(fresh))

    def cost(self, rows: list[float], fresh: int | None) -> float:
        """Finding the partners of so many rows of each input, and adding what is found to groups."""
        c, (found, pairs) = self.constants, self.partners.found(rows, self._met(fresh))
        return found + pairs * (c.pair + (c.weigh if any(h.early for h in self.held) else 0.0))

    def _met(self, fresh: int | None) -> tuple[int, ...]:
        return inputs_met(self.order, fresh, len(self.held))
