"""What an evaluation of a join is: whom it may serve, what it costs, which steps it takes, what it keeps, and its words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from thalweg.model.query import Query
from thalweg.optimizer.cost.join_engine import CostedJoin
from thalweg.optimizer.cost.widths import Widths
from thalweg.plan.ranges import LOWEST, Frontiers, Range
from thalweg.plan.shape import Shape
from thalweg.statistics.records import JoinStatistics

KEPT = "kept"
"""The table of what the evaluation kept from batches before, by "slot"; and where a step writes what it keeps now."""
SENT = "sent"
"""Where a step writes partial results, which go to the partition of their group."""
MET = "met"
"""Where a step writes the numbers of rows that have met; what is shown of these is gathered, under this name, for the next step."""
SHOWN = "shown"
"""Where a step writes rows that are results already."""

Sizes = Mapping[tuple[str, str], int]
"""How many rows of a side there are: all, the old or the new ones."""
Work = tuple[list[tuple[str, float]], float, float]
"""Nanoseconds per second of stream by what they go to, rows kept, and pairs made per second."""


Meetings = Mapping[int | None, list[float]]
"""About how many rows each input brings where they meet, by the input that has new rows; None where all bring what they have."""


@dataclass(frozen=True)
class Step:
    """A statement, the table that its result becomes, the instants that the table `inst` holds for it, and whether its rows are `pairs`."""

    name: str
    sql: str
    to: str
    instants: tuple[int, ...] | None = None
    pairs: bool = False


@dataclass(frozen=True)
class Moment:
    """What a batch brings to a join.

    final: the instants that become final. alive: those at which no window is empty; shown: those of them that someone is given.
    slots: per stream, in the order of inputs, those that its side has. fresh: the inputs with new rows. kept: whether there is anything
    from before. again: whether all is to be made anew from the sides, as after another cut of the hash ranges. waited: the frontiers
    before and after the batch, by which rows without a partner are known to stay so.
    """

    final: Range = (LOWEST, LOWEST)
    alive: tuple[int, ...] = ()
    shown: tuple[int, ...] = ()
    slots: tuple[tuple[int, ...], ...] = ()
    fresh: tuple[int, ...] = ()
    sizes: Sizes = field(default_factory=dict)
    kept: bool = False
    again: bool = False
    waited: tuple[Frontiers, Frontiers] = ({}, {})

    @property
    def range(self) -> Range:
        """From the first instant that is shown to after the last."""
        return (self.shown[0], self.shown[-1] + 1) if self.shown else (0, 0)


@dataclass(frozen=True)
class Statements:
    """About how many statements a batch takes in a hash range, with all else that it takes whatever rows there are: so many, more for each
    stream, and more for each that is aggregated early."""

    any: float
    stream: float = 0.0
    early: float = 0.0

    def of(self, join: CostedJoin) -> float:
        """Those of a join.

        >>> Statements(4, 2, 1).any
        4
        """
        streams = [join.held[n] for n in join.streams]
        return self.any + self.stream * len(streams) + self.early * sum(h.is_set for h in streams)


@dataclass(frozen=True)
class Evaluation:
    """A way to evaluate a join.

    words: what it does, for people. takes: what it may serve, likewise. statements: about how many of them a batch takes. meetings: when
    inputs meet in a batch. work: what that and all else costs. keeps: how many instants before the first that is not final the state that
    it keeps goes back to, None where it keeps nothing itself. merges: whether what it keeps of one slot may be merged. asked_for: whether
    it is taken only if settings name it. wants_merged: whether an aggregation set must have one row per columns and slot, so that it
    leaves as it entered. of_sets: whether all streams must be aggregated early. edges: the slots of an input that are read for some
    instants, where something was kept; None where all are. row_bytes: what a row that it keeps takes.
    stands: whether groups are given at every instant at which they are there, not only at those at which something enters.
    """

    name: str
    words: str
    statements: Statements
    steps: Callable[[Shape, Moment], Iterator[Step]]
    meetings: Callable[[CostedJoin, JoinStatistics], Meetings]
    work: Callable[[CostedJoin, JoinStatistics], Work]
    serves: Callable[[Query], bool] = lambda query: query.every is not None and not query.attached
    keeps: int | None = None
    merges: bool = False
    asked_for: bool = False
    wants_merged: bool = False
    takes: str = "aggregates"
    row_bytes: Callable[[Widths], float] = lambda widths: widths.group
    of_sets: bool = False
    edges: Callable[[Shape, int, Range], tuple[Range, ...]] | None = None
    stands: bool = True

    @property
    def back(self) -> int:
        """How many instants before the first that is not final its sides are read."""
        return self.keeps or 0
