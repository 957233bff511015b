"""What the early-aggregation paper says a plan of an aggregate over an m-way join costs per unit of time.

A plan says for each stream S_i whether an EA operator is on it: then the others match their tuples with its aggregation
set AS_i, else with its window WS_i. The paper prints m = 2; for more, a tuple is matched with each other stream once, as
in its figure 5, and the matches multiply.
Equation 6 is taken with the buckets of equations 7, 8 and 10 (docs/joins.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

Plan = tuple[bool, ...]
NESTED_LOOP, HASH = "nested loop", "hash"


@dataclass(frozen=True)
class Stream:
    """Table 2, statistics of S_i.

    rate: lambda_i, 0 for a relation. w: tuples in the window. g: groups, 1 if none. sigma: 1 / values of the join attribute.
    """

    rate: float
    w: float
    g: float
    sigma: float

    def __post_init__(self) -> None:
        if self.rate < 0 or self.w < 0 or self.g < 1 or not 0 < self.sigma <= 1:
            raise ValueError(
                f"rate and w must be at least 0, g at least 1 and sigma in (0, 1], not those of {self}"
            )


@dataclass(frozen=True)
class Parameters:
    """Table 2, system and tuning parameters; the paper tunes the latter for each experiment and prints none, so all are 1.

    B: most buckets of a hash table. Pn, Ph: probe a tuple (nested loop, hash). Un, Uh: update a window. Ug: look at a group.
    """

    B: float = 1021
    Pn: float = 1.0
    Ph: float = 1.0
    Un: float = 1.0
    Uh: float = 1.0
    Ug: float = 1.0


def alpha(streams: Sequence[Stream]) -> float:
    """Equation 13: the size of the query's aggregation set AS."""
    return prod(min(s.w, s.g) for s in streams)


def alpha_i(s: Stream) -> float:
    """Equations 14 and 15: the size of AS_i."""
    return min(s.w, s.g / s.sigma)


def m_i(s: Stream) -> float:
    """Equations 16 and 17: tuples of WS_i that match a tuple of another stream."""
    return s.sigma * s.w


def n_i(s: Stream) -> float:
    """Equations 18 and 19: tuples of AS_i that match a tuple of another stream."""
    return min(s.w * s.sigma, s.g)


def B_i(s: Stream, p: Parameters) -> float:
    """Equations 20 and 21: buckets of the hash table on the join attribute of S_i."""
    return min(1 / s.sigma, p.B)


def B_g(streams: Sequence[Stream], p: Parameters) -> float:
    """Equation 22: buckets of the hash table of AS, which is on the grouping attribute of the first stream alone."""
    return min(streams[0].g, p.B)


@dataclass(frozen=True)
class Terms:
    """Table 1, cost terms of S_i in a plan.

    uw: C_uw(WS_i). fmt: C_fmt of AS_i with an EA operator, else of WS_i. found: n_i or m_i. iau: C_iau(AS_i), 0 without.
    """

    uw: float
    fmt: float
    found: float
    iau: float


def generic_cost(rates: Sequence[float], terms: Sequence[Terms], iau: float, cascade: bool = False) -> float:
    """Equations 1 to 4, by the terms of each stream and C_iau(AS); `cascade`: every partial result is matched with the next stream."""
    return sum(rate * _arrival(k, terms, iau, cascade) for k, rate in enumerate(rates))


def _arrival(k: int, terms: Sequence[Terms], iau: float, cascade: bool) -> float:
    fmt, found = 0.0, 1.0
    for t in (*terms[:k], *terms[k + 1 :]):
        fmt += (found if cascade else 1.0) * t.fmt
        found *= t.found
    return terms[k].uw + fmt + found * iau + terms[k].iau


def stream_terms(s: Stream, early: bool, p: Parameters, join: str = HASH) -> Terms:
    """The terms of equations 5 to 8 or 9 to 12; twice each, for the tuple that comes and the one that leaves."""
    size, found = (alpha_i(s), n_i(s)) if early else (s.w, m_i(s))
    iau = 2 * alpha_i(s) / B_i(s, p) * p.Ug if early else 0.0
    if join == HASH:
        return Terms(2 * p.Uh, 2 * size / B_i(s, p) * p.Ph, found, iau)
    if join == NESTED_LOOP:
        return Terms(2 * p.Un, 2 * size * p.Pn, found, iau)
    raise ValueError(f"no join {join!r} among {NESTED_LOOP}, {HASH}")


def plan_cost(
    plan: Plan, streams: Sequence[Stream], p: Parameters, join: str = HASH, cascade: bool = False
) -> float:
    """Equations 5 to 12, for any number of streams."""
    terms = [stream_terms(s, early, p, join) for s, early in zip(streams, plan, strict=True)]
    iau = 2 * alpha(streams) / B_g(streams, p) * p.Ug
    return generic_cost([s.rate for s in streams], terms, iau, cascade)


def costs(
    streams: Sequence[Stream], p: Parameters | None = None, join: str = HASH, cascade: bool = False
) -> dict[str, float]:
    """What each of the 2^m plans costs, by its name."""
    return {
        plan_name(plan): plan_cost(plan, streams, p or Parameters(), join, cascade)
        for plan in all_plans(len(streams))
    }


def all_plans(m: int) -> tuple[Plan, ...]:
    """The plans of an m-way join, in the order of the prototype's case numbers: 0 is LAP."""
    return tuple(product((False, True), repeat=m))


def plan_name(plan: Plan) -> str:
    """LAP, or EAP and a digit for each stream.

    >>> plan_name((True, False, True)), plan_name((False, False))
    ('EAP101', 'LAP')
    """
    return "EAP" + "".join("01"[early] for early in plan) if any(plan) else "LAP"


def plan_of(name: str, m: int) -> Plan:
    """The plan of an m-way join with a name; the paper calls LAP also EAP00."""
    digits = "0" * m if name == "LAP" else name.removeprefix("EAP")
    if not name.startswith(("LAP", "EAP")) or len(digits) != m or not set(digits) <= {"0", "1"}:
        raise ValueError(f"no plan {name!r} of a {m}-way join, only LAP and EAP with {m} digits 0 or 1")
    return tuple(d == "1" for d in digits)
