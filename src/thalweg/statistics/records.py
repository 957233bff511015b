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
            raise ValueError(
                f"rate, keys and batch must be positive, not {self.rate}, {self.keys} and {self.batch}"
            )


FEW_ROWS = 100_000
"""Rows of partial aggregates and state up to which a batch needs no exchange."""
Heavy = tuple[tuple[int, float], ...]
"""Hashes of values that many rows have, each with the share of rows, the largest first."""


@dataclass(frozen=True)
class Values:
    """The values of some columns: how many there are, and those that are far more frequent than others."""

    count: float
    heavy: Heavy = ()


@dataclass(frozen=True)
class InputStatistics:
    """An input of a join, after its own conditions.

    rate: rows per second of event time, 0 for a static table. rows: those of a static table. sets: distinct values of all
    that the join keeps of a row. keys: distinct values of all that it equates. equated: the values of the columns of each class that is
    equated, by these columns.
    """

    rate: float
    sets: float
    keys: float
    rows: float = 0.0
    equated: tuple[tuple[tuple[str, ...], Values], ...] = ()


@dataclass(frozen=True)
class JoinStatistics:
    """What is known of a join: its inputs, the groups of its results, and microseconds of event time per micro-batch.

    measured: for inputs that are aggregated early or not, how many times as many joined rows there were as all else lets expect.
    ranges: hash ranges, each with statements of its own; of so `few` partial aggregates there is one.
    """

    inputs: tuple[InputStatistics, ...]
    groups: float
    batch: float
    measured: tuple[tuple[tuple[bool, ...], float], ...] = ()
    ranges: int = 1
    few: int = FEW_ROWS

    def times(self, early: tuple[bool, ...]) -> float:
        """How many times the joined rows that are expected there are, by the plan that is most like one.

        >>> JoinStatistics((), 1, 1, (((True, False), 5.0), ((True, True), 2.0))).times((False, True))
        2.0
        """
        if not self.measured:
            return 1.0
        return max(self.measured, key=lambda m: sum(a == b for a, b in zip(m[0], early, strict=True)))[1]
