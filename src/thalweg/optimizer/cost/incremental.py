"""What the IC and TC paper says a COUNT over a join of windows costs for one arriving tuple, and what it keeps.

A tuple f arrives on stream A: IC adds its pairs to the count and subtracts those of expired tuples; TC credits each pair
to its older tuple, as CV, and sums the CV that are left; PC keeps every pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod


@dataclass(frozen=True)
class Windows:
    """Table 1: SWA and SWB as an arriving tuple finds them.

    alpha, beta: tuples in SWA, SWB. M: hash buckets of a window. sigma: selectivity of the join. setA, setB: |SetA|,
    |SetB|, the tuples that expire; together one on average, so a half each at equal rates. sizeA, sizeB: of a tuple.
    """

    alpha: float
    beta: float
    M: float = 1
    sigma: float = 1.0
    setA: float = 0.5
    setB: float = 0.5
    sizeA: float = 1.0
    sizeB: float = 1.0

    def __post_init__(self) -> None:
        if min(self.alpha, self.beta, self.setA, self.setB) < 0 or self.M < 1 or not 0 <= self.sigma <= 1:
            raise ValueError(
                f"counts must be at least 0, M at least 1 and sigma in [0, 1], not those of {self}"
            )


def ic_time(v: Windows, C: float = 1.0, Cw: float = 0.0) -> float:
    """Equation 3, which leaves out Cw, the insertion of f."""
    probes = v.beta / v.M + v.setA * v.beta / v.M + v.setB * v.alpha / v.M + v.setA * v.setB
    return Cw + (v.alpha + v.beta + probes) * C


def ic_space(v: Windows) -> float:
    """The windows, and the expired tuples while they are joined."""
    return (v.alpha + v.setA) * v.sizeA + (v.beta + v.setB) * v.sizeB


def ic_pairs(v: Windows) -> float:
    """Pairs that f and the expired tuples are in: what is added to the count and subtracted from it."""
    return v.sigma * (v.beta + v.setA * v.beta + v.setB * v.alpha + v.setA * v.setB)


def gic_time(v: Windows, C: float = 1.0, Cw: float = 0.0, Cg: float = 1.0) -> float:
    """IC by group: each pair updates its group in Glist. The paper has no formula; Cg, of one update, is ours."""
    return ic_time(v, C, Cw) + ic_pairs(v) * Cg


def gic_space(v: Windows, groups: float, size_group: float = 1.0) -> float:
    """IC's space and Glist. The paper has no formula; this is ours."""
    return ic_space(v) + groups * size_group


def tc_time(v: Windows, C: float = 1.0, Cw: float = 0.0) -> float:
    """Equation 6, which leaves out Cw: find the expired, credit the matches of f, sum the CV."""
    return Cw + (2 * v.alpha + 2 * v.beta + v.beta / v.M) * C


def tc_space(v: Windows, size_int: float = 1.0) -> float:
    """Equation 7: the windows, and a CV or MV for each tuple."""
    return v.alpha * v.sizeA + v.beta * v.sizeB + (v.alpha + v.beta) * size_int


def mtc_time(counts: Sequence[float], sigma: float, M: float = 1, C: float = 1.0, Cw: float = 0.0) -> float:
    """TC on an n-way MJoin, for a tuple of the first stream; with n = 2 equation 6. The paper has no formula; this is ours.

    counts: tuples in each window. Each partial result probes a bucket of the next window; a full one credits its oldest tuple.
    """
    others = counts[1:]
    probes = sum(prod(sigma * n for n in others[:i]) * n / M for i, n in enumerate(others))
    return Cw + (2 * sum(counts) + probes) * C


def mtc_space(counts: Sequence[float], sizes: Sequence[float], size_int: float = 1.0) -> float:
    """Equation 7 for n windows."""
    return sum(n * (size + size_int) for n, size in zip(counts, sizes, strict=True))


def pc_space(v: Windows, size_pair: float | None = None) -> float:
    """The windows and every joined pair, O(alpha * beta * sigma); a pair is both tuples, or `size_pair` if it is kept as ids."""
    pair = v.sizeA + v.sizeB if size_pair is None else size_pair
    return v.alpha * v.sizeA + v.beta * v.sizeB + v.alpha * v.beta * v.sigma * pair
