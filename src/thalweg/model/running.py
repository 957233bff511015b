"""What OVER gives for each row by rows before it, or after it: values of other rows, and aggregates that run along with event time.

Rows of one key are in the order of their event time; those of one time in that of the columns that are read, NULL before all. A row is in
its place once the frontier has passed its event time, as no row that counts comes before it any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thalweg.model.query import Aggregate

LAG, LEAD = "LAG", "LEAD"
ROWS, RANGE = "rows", "range"


@dataclass(frozen=True)
class Frame:
    """Which rows an aggregate takes: with ROWS so many before the row and itself, with RANGE those of so many microseconds before it and all
    of its own event time; without a length all before. For LAG and LEAD how many rows away the row is whose value is meant."""

    kind: str
    length: int | None = None


@dataclass(frozen=True)
class RunningCall:
    """A call with OVER: an aggregate over a frame, or LAG or LEAD of a value (and what stands for it where there is no such row)."""

    call: Aggregate
    frame: Frame

    @property
    def is_aggregate(self) -> bool:
        """Whether it is of several rows."""
        return self.call.function not in (LAG, LEAD)

    @property
    def of_all(self) -> bool:
        """Whether it is of all rows so far, so that what they make is kept, and not they."""
        return self.is_aggregate and self.frame.length is None

    @property
    def rows(self) -> int:
        """How many rows before a row it needs."""
        if self.call.function == LEAD or self.frame.kind == RANGE:
            return 0
        return self.frame.length or 0


@dataclass(frozen=True)
class Running:
    """All calls with OVER of a query, which have one partition and one order. `ties` are the columns by which rows of one event time are in
    order.

    State: the rows that are not in their place yet; of each key as many before them as calls need (with `ahead` those that wait too), and
    those of the longest RANGE.
    """

    calls: tuple[RunningCall, ...]
    ties: tuple[str, ...]

    @property
    def ahead(self) -> int:
        """How many later rows of its key a row waits for."""
        return max((c.frame.length or 0 for c in self.calls if c.call.function == LEAD), default=0)

    @property
    def rows(self) -> int:
        """How many rows of each key are kept, however old they are: the last one has what all before it make."""
        before = max((c.rows for c in self.calls), default=0)
        return max(before, any(c.of_all for c in self.calls), self.ahead)

    @property
    def length(self) -> int:
        """For how many microseconds rows are kept besides."""
        spans = [c.frame.length for c in self.calls if c.is_aggregate and c.frame.kind == RANGE]
        return max((s for s in spans if s is not None), default=0)

    @property
    def by_time_alone(self) -> bool:
        """Whether rows are kept by their event time only, as streams are for windows: so others may use them too."""
        return self.rows == 0
