"""Which values of joins are split over all partitions: so frequent that the one partition that has them would keep the others waiting.

Join is distributive over union: rows of a frequent value are dealt out to all partitions in one input, and copied to each of them in the
others (AJoin's answer to skew). Joins that read the same fragments are looked at together, as a fragment is spread in one way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from thalweg.optimizer.cost.matching import Matching, evened
from thalweg.optimizer.planner import join_estimate
from thalweg.plan.grid import Split
from thalweg.plan.nodes import Fragment, Join, Plan
from thalweg.statistics.constants import join_constants
from thalweg.statistics.known import Known, side_name
from thalweg.statistics.records import Values

OFF, ALL = "off", "all"
GAIN, STILL = 1.25, 1.05
"""How many times less the slowest partition must take for values to be split, and for them to stay so."""
LEAST = 1e6
"""Nanoseconds of a batch that it must save."""
FEW = 0.98
"""What part of the time one more value may leave at the most."""


@dataclass(frozen=True)
class Frequent:
    """What a value costs a join, in nanoseconds per second of stream: its joined rows, and its rows in each side."""

    pairs: float
    rows: tuple[tuple[str, float], ...]

    @property
    def whole(self) -> float:
        """All of it."""
        return self.pairs + sum(nanos for _, nanos in self.rows)


@dataclass(frozen=True)
class Burden:
    """What a join costs in all, and what of it each frequent value does, by its hash."""

    nanos: float
    frequent: dict[int, Frequent]


def split(plan: Plan, known: Known, partitions: int, mode: str) -> Plan:
    """A plan in which the values are split that are worth it; the same where nothing changes."""
    found: dict[str, Split] = {}
    if mode != OFF and partitions > 1:
        for joins in families(plan):
            found |= _of_family(plan, joins, known, partitions, mode)
    fragments = tuple(_with(f, found.get(f.id)) for f in plan.fragments)
    is_same = all(a is b for a, b in zip(fragments, plan.fragments, strict=True))
    return plan if is_same else replace(plan, fragments=fragments)


def _with(fragment: Fragment, found: Split | None) -> Fragment:
    return fragment if fragment.split == found else replace(fragment, split=found)


def families(plan: Plan) -> list[list[Join]]:
    """Joins that read the same streams' fragments, directly or by others."""
    of: dict[str, list[Join]] = {}
    for join in plan.joins:
        sides = [s for s in join.sides if not plan.fragment(s).static]
        near = {id(of[s]): of[s] for s in sides if s in of}
        family = [*(j for some in near.values() for j in some), join]
        of |= {s: family for j in family for s in j.sides if not plan.fragment(s).static}
    return list({id(some): some for some in of.values()}.values())


def _of_family(
    plan: Plan, joins: Sequence[Join], known: Known, partitions: int, mode: str
) -> dict[str, Split]:
    if not any(_has_heavy(plan, j, known) for j in joins) or not all(_can_split(plan, j) for j in joins):
        return {}
    is_dealt = _roles(plan, joins, known)
    if is_dealt is None:
        return {}
    burdens = [_burden(plan, j, known) for j in joins]
    hot, gain = _chosen(burdens, is_dealt, partitions, mode, _now(plan, is_dealt), _least(joins, known))
    return {id: Split(hot, dealt, round(gain, 2)) for id, dealt in is_dealt.items()} if hot else {}


def _least(joins: Sequence[Join], known: Known) -> float:
    """Nanoseconds per second of stream that must be saved."""
    return LEAST / max(known.batch(s for j in joins for s in j.asked.streams).value / 1e6, 1e-6)


def _can_split(plan: Plan, join: Join) -> bool:
    """Whether the streams of a join are spread by one class of columns, each kept by itself, and for joins alone. A row that comes out
    without a partner must be in one partition, with all that could be."""
    if join.asked.attached:
        return False
    sides = [plan.fragment(s) for s in join.sides if not plan.fragment(s).static]
    cut = [f for f in sides if f.route]
    is_apart = len({f.id for f in sides}) == len(sides) and not any(plan.has_windows(f) for f in sides)
    by_one = all(len(f.route) == 1 and f.route[0] for f in cut) and all(f.place is None for f in sides)
    return is_apart and by_one and len(cut) > 1 and any(not f.early for f in cut)


def _cut_sides(plan: Plan, join: Join) -> list[tuple[int, Fragment]]:
    found = [(n, plan.fragment(s)) for n, s in enumerate(join.sides)]
    return [(n, f) for n, f in found if f.route and not f.static]


def _values(fragment: Fragment, known: Known) -> Values:
    """The values of what a fragment is spread by."""
    wanted = tuple(fragment.columns[i].sql for i in fragment.route[0] or ())
    for columns, count, heavy in known.input(fragment).equated:
        if columns == wanted:
            return Values(max(count.value, 1.0), heavy)
    return Values(1.0)


def _has_heavy(plan: Plan, join: Join, known: Known) -> bool:
    """Whether a frequent value of some input is known."""
    names = [side_name(f, f.route[0]) for _, f in _cut_sides(plan, join)]
    return any(known.seen.heavy.get(n) or known.sampled.heavy.get(n) for n in names)


def _roles(plan: Plan, joins: Iterable[Join], known: Known) -> dict[str, bool] | None:
    """Whether rows are dealt out, by fragment: of each join those of one input, the one with the most that are kept as rows. None where
    joins can't agree."""
    found: dict[str, bool] = {}
    for join in joins:
        sides = _cut_sides(plan, join)
        given = [f.id for _, f in sides if found.get(f.id)]
        free = [(n, f) for n, f in sides if not f.early and f.id not in found]
        if len(given) > 1 or (not given and not free):
            return None
        most = given[0] if given else max(free, key=lambda s: _kept(join, s[0], s[1], known))[1].id
        found |= {f.id: f.id == most for _, f in sides}
    return found


def _kept(join: Join, number: int, fragment: Fragment, known: Known) -> float:
    length = join.asked.inputs[number].length
    return _rate(fragment, known) * (1e18 if length is None else length)


def _rate(fragment: Fragment, known: Known) -> float:
    figures = known.input(fragment)
    return figures.rows.value * figures.share.value


def _burden(plan: Plan, join: Join, known: Known) -> Burden:
    """What each frequent value takes of a join: of its pairs by how often inputs have it, of all else by the rows that have it."""
    beside, made = join_estimate(plan, join, known)
    sides, constants = _cut_sides(plan, join), join_constants()
    nanos = sum(n for name, n in made.terms if name != "statements") + beside
    pairs = min(made.pairs * constants.pair, nanos)
    rates = {f.id: max(_rate(f, known), 1e-9) for _, f in sides}
    values = {n: _seen(f, known) for n, f in sides}
    rest = (nanos - pairs) / sum(rates.values())
    shares = {f.id: dict(values[n].heavy) for n, f in sides}
    found = Matching(values, {}).frequent(frozenset(values))
    return Burden(
        nanos,
        {
            value: Frequent(
                share * pairs,
                tuple((id, rest * rates[id] * shares[id].get(value, 0.0)) for id in shares),
            )
            for value, share in found.items()
        },
    )


def _seen(fragment: Fragment, known: Known) -> Values:
    values = _values(fragment, known)
    return evened(values, values.count) if fragment.early else values


def _now(plan: Plan, roles: dict[str, bool]) -> tuple[int, ...]:
    """What is split already, if by the same roles."""
    splits = [(plan.fragment(id).split, dealt) for id, dealt in roles.items()]
    found = {s.hot for s, dealt in splits if s is not None and s.dealt == dealt}
    is_so = len(found) == 1 and all(s is not None and s.dealt == dealt for s, dealt in splits)
    return found.pop() if is_so else ()


def _chosen(
    burdens: Sequence[Burden],
    is_dealt: dict[str, bool],
    partitions: int,
    mode: str,
    now: tuple[int, ...],
    least: float,
) -> tuple[tuple[int, ...], float]:
    """The values to split, and how many times less the slowest partition takes: by what is clearly better than what is so now."""

    def cost(hot: Collection[int]) -> float:
        return slowest(burdens, hot, is_dealt, partitions)

    values = _by_weight(burdens)
    if mode == ALL:
        return tuple(sorted(values)), cost(()) / max(cost(values), 1e-9)
    whole, best = cost(()), list[int]()
    for value in values:
        if cost([*best, value]) < FEW * cost(best):
            best.append(value)
    if now and whole <= STILL * cost(now):
        now = ()
    is_better = cost(now) > GAIN * cost(best) and cost(now) - cost(best) > least
    hot = tuple(sorted(best)) if is_better else now
    return hot, whole / max(cost(hot), 1e-9)


def _by_weight(burdens: Iterable[Burden]) -> list[int]:
    """All frequent values, those that cost most first."""
    weights: dict[int, float] = {}
    for burden in burdens:
        for value, of in burden.frequent.items():
            weights[value] = weights.get(value, 0.0) + of.whole
    return sorted(weights, key=lambda v: (-weights[v], v))


def slowest(
    burdens: Iterable[Burden], hot: Collection[int], is_dealt: dict[str, bool], partitions: int
) -> float:
    """Nanoseconds that the slowest partition takes: frequent values lie where their hash says, or all partitions have them.

    >>> burdens = [Burden(100.0, {7: Frequent(60.0, (("a", 4.0), ("b", 4.0)))})]
    >>> roles = {"a": True, "b": False}
    >>> slowest(burdens, (), roles, 2), slowest(burdens, (7,), roles, 2)
    (84.0, 52.0)
    """
    loads, everywhere = [0.0] * partitions, 0.0
    for burden in burdens:
        even = burden.nanos - sum(of.whole for of in burden.frequent.values())
        everywhere += max(even, 0.0) / partitions
        for value, of in burden.frequent.items():
            if value not in hot:
                loads[(value >> 32) * partitions >> 32] += of.whole
            else:
                everywhere += of.pairs / partitions
                everywhere += sum(n / partitions if is_dealt[id] else n for id, n in of.rows)
    return max(loads) + everywhere
