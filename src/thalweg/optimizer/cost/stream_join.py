"""What the stream-based-join paper says a join of two windows costs per unit of time, and what its buffers hold.

A tuple on one stream (A, the arrival stream) scans the buffer of the other (B, the opposite one) and goes into its own.
The windowed nested loops join (WNL) is the windowed hash join (WHJ) with one bucket.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

PROBE, PROBE_AND_INSERT, PROBE_ALL, OPTIMAL = "probe", "probe and insert", "probe all", "optimal"
STRATEGIES = (PROBE, PROBE_AND_INSERT, PROBE_ALL, OPTIMAL)


@dataclass(frozen=True)
class Input:
    """One stream of the join.

    rate: lambda, tuples per second. T: size of its window in seconds. N: hash buckets of its buffer.
    """

    rate: float
    T: float
    N: float = 1

    def __post_init__(self) -> None:
        if self.rate < 0 or self.T < 0 or self.N < 1:
            raise ValueError(f"rate and T must be at least 0 and N at least 1, not those of {self}")


@dataclass(frozen=True)
class TupleCosts:
    """What it costs to invalidate, scan and insert one tuple; the paper prints no values, so all are 1."""

    invalidate: float = 1.0
    scan: float = 1.0
    insert: float = 1.0


def wnl_half(a: Input, b: Input, c: TupleCosts | None = None) -> float:
    """C(WNL)_half: one way, the tuples that arrive on A; lambda_A * C_t multiplied out, so that lambda_A may be 0."""
    return _half(a, b, 1, c or TupleCosts())


def whj_half(a: Input, b: Input, c: TupleCosts | None = None) -> float:
    """C(WHJ)_half: one way, the tuples that arrive on A scan one of the N_B buckets."""
    return _half(a, b, b.N, c or TupleCosts())


def _half(a: Input, b: Input, n: float, c: TupleCosts) -> float:
    return b.rate * c.invalidate + a.rate * b.T * b.rate / n * c.scan + a.rate * c.insert


def wnl_total(a: Input, b: Input, c: TupleCosts | None = None) -> float:
    """Equation 1: both ways.

    >>> wnl_total(Input(10, 30), Input(20, 30))
    12060.0
    """
    return wnl_half(a, b, c) + wnl_half(b, a, c)


def whj_total(a: Input, b: Input, c: TupleCosts | None = None) -> float:
    """Equation 2: both ways, each with the buckets of the buffer that is scanned; the paper writes N_B for both.

    >>> whj_total(Input(10, 30, N=100), Input(20, 30, N=100))
    180.0
    """
    return whj_half(a, b, c) + whj_half(b, a, c)


def useful_buckets(n: float, sigma: float) -> float:
    """Buckets that hold something (figures 5 and 6): no more than values of the join attribute, of which there are 1 / sigma."""
    return min(n, 1 / sigma)


def stale(a: Input, b: Input, strategy: str) -> float:
    """Expired tuples in the whole buffer of B: the time between invalidations of a bucket, times the rate into it, times N_B.

    >>> [round(stale(Input(1, 30, N=100), Input(100, 30, N=100), s), 2) for s in STRATEGIES]
    [10000.0, 99.01, 100.0, 0.99]
    """
    invalidations = _invalidations(a, b, strategy)
    return b.rate / invalidations * b.N if invalidations else inf


def comparisons(a: Input, b: Input, strategy: str) -> float:
    """Tuples of B's buffer looked at per second to invalidate it: one and the stale ones for each bucket."""
    return _invalidations(a, b, strategy) + b.rate


def _invalidations(a: Input, b: Input, strategy: str) -> float:
    """How many buckets of B are invalidated per second, for the tuples that probe it (of A) and that it takes in (of B)."""
    if strategy not in STRATEGIES:
        raise ValueError(f"no strategy {strategy!r} among {', '.join(STRATEGIES)}")
    tuples = a.rate if strategy in (PROBE, PROBE_ALL) else a.rate + b.rate
    return tuples if strategy in (PROBE, PROBE_AND_INSERT) else tuples * b.N


def memory_half(a: Input, b: Input, strategy: str) -> float:
    """Tuples in the buffer of B: those of the window and the stale ones."""
    return b.rate * b.T + stale(a, b, strategy)


def memory_total(a: Input, b: Input, strategy: str) -> float:
    """Tuples in both buffers."""
    return memory_half(a, b, strategy) + memory_half(b, a, strategy)
