"""What is known of a running stream."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WindowStatistics:
    """A stream as the windows over one grouping see it.

    rate: events per second of event time. keys: distinct groups. batch: microseconds of event time per micro-batch.
    """

    rate: float
    keys: float
    batch: int

    def __post_init__(self) -> None:
        if self.rate <= 0 or self.keys <= 0 or self.batch <= 0:
            raise ValueError(f"rate, keys and batch must be positive, not {self.rate}, {self.keys} and {self.batch}")


@dataclass(frozen=True)
class InputStatistics:
    """An input of a join, after its own conditions.

    rate: rows per second of event time, 0 for a static table. rows: those of a static table. sets: distinct values of all
    that the join keeps of a row. keys: distinct values of what it equates.
    """

    rate: float
    sets: float
    keys: float
    rows: float = 0.0


@dataclass(frozen=True)
class JoinStatistics:
    """What is known of a join: its inputs, the groups of its results, and microseconds of event time per micro-batch."""

    inputs: tuple[InputStatistics, ...]
    groups: float
    batch: float
