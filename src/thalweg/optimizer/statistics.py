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
