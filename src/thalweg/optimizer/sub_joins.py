"""Which sub-joins the joins of a commons share: from two inputs on, each join takes the one that costs least for each who shares it.

That is dynamic programming with shared cost, one more input at each step: the cost of meeting is divided by the joins that meet so.
A sub-join has the rows that any of them takes. Where each takes few of these, it is cheaper to meet one's own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from thalweg.compile.views import deciding_columns, equated_terms
from thalweg.expr.nodes import Expr
from thalweg.expr.quoting import identifier
from thalweg.model.query import RANGE, UNBOUNDED, Query
from thalweg.optimizer.cost.sharing import union
from thalweg.plan.nodes import Join, Plan, named
from thalweg.plan.pool import SET
from thalweg.plan.sub_joins import Equated, SubJoin

Rates = Callable[[str], float]
Shares = Callable[[str, Sequence[Expr]], float]
ROUNDS = 4
PAIR, WRITE, READ = 15.0, 30.0, 5.0
"""Nanoseconds to find a combination, to write it down for others, and to read one of those."""


@dataclass(frozen=True)
class Facts:
    """What is known of streams: rows per second, and the part of them that satisfies conditions."""

    rate: Rates
    share: Shares


@dataclass(frozen=True)
class Prefix:
    """Inputs of a join, in an order, that meet before the others; `key` is the same for all joins whose inputs meet so. `cost`: of meeting,
    for whomever; `taken`: the part of the combinations that the join takes."""

    inputs: tuple[int, ...]
    key: Hashable
    cost: float
    taken: float = 1.0


def shared(plan: Plan, facts: Facts) -> Plan:
    """A plan whose joins over a commons share what they can."""
    joins = [j for j in plan.joins if _may_share(j)]
    if len(joins) < 2:
        return plan if not plan.subs else _with(plan, {}, ())
    taken: dict[str, Prefix] = {}
    level = {j.id: _pairs(plan, j, facts) for j in joins}
    by_id = {j.id: j for j in joins}
    while any(level.values()):
        chosen = worthwhile(chosen_prefixes(level))
        if not chosen:
            break
        taken |= chosen
        level = {id: _longer(plan, by_id[id], prefix, facts) for id, prefix in chosen.items()}
    return _with(plan, taken, _nodes(plan, by_id, taken))


def chosen_prefixes(offers: Mapping[str, Sequence[Prefix]]) -> dict[str, Prefix]:
    """For each join the prefix that costs least for each who takes it; nothing for those who would be alone with theirs.

    >>> ab, bc, cd = (Prefix((0, 1), name, cost) for name, cost in (("ab", 6), ("bc", 4), ("cd", 1)))
    >>> found = chosen_prefixes({"q1": [ab, bc], "q2": [ab], "q3": [bc, ab], "q4": [cd]})
    >>> {id: p.key for id, p in found.items()}
    {'q1': 'ab', 'q2': 'ab', 'q3': 'ab'}
    """
    left: dict[str, Sequence[Prefix]] = dict(offers)
    found: dict[str, Prefix] = {}
    for _ in range(ROUNDS):  # who has found others takes no other; those who are alone with theirs look again
        found = _cheapest(left)
        counted = _sharers((id, p.key) for id, p in found.items())
        settled = {
            id: (found[id],) if id in found and counted[found[id].key] > 1 else some
            for id, some in left.items()
        }
        if settled == left:
            break
        left = settled
    counted = _sharers((id, p.key) for id, p in found.items())
    return {id: p for id, p in found.items() if counted[p.key] > 1}


def _cheapest(offers: Mapping[str, Sequence[Prefix]]) -> dict[str, Prefix]:
    """For each join what costs least for each who could share it, if somebody else could."""
    sharers = _sharers((id, p.key) for id, some in offers.items() for p in some)
    several = {id: [p for p in some if sharers[p.key] > 1] for id, some in offers.items()}
    return {
        id: min(some, key=lambda p: (p.cost / sharers[p.key], str(p.key)))
        for id, some in several.items()
        if some
    }


def worthwhile(chosen: Mapping[str, Prefix]) -> dict[str, Prefix]:
    """The prefixes that cost less for all who take them than if each meets its own.

    >>> [len(worthwhile({f"q{i}": Prefix((0, 1), "ab", 9, taken) for i in range(8)})) for taken in (1.0, 0.1)]
    [8, 0]
    """
    users: dict[Hashable, list[float]] = {}
    for prefix in chosen.values():
        users.setdefault(prefix.key, []).append(prefix.taken)
    pays = {
        key: PAIR * sum(taken) > union(taken) * (WRITE + READ * len(taken)) for key, taken in users.items()
    }
    return {id: p for id, p in chosen.items() if pays[p.key]}


def _sharers(pairs: Iterable[tuple[str, Hashable]]) -> dict[Hashable, int]:
    found: dict[Hashable, int] = {}
    for _, key in set(pairs):
        found[key] = found.get(key, 0) + 1
    return found


def _may_share(join: Join) -> bool:
    """Whether inputs of a join may meet for others too: rows of a commons, by hash, in windows that end with the newest row."""
    kinds = {i.kind for i in join.asked.inputs if i.is_stream}
    return join.room is not None and join.method == "hash" and kinds <= {RANGE, UNBOUNDED}


def _streams(query: Query) -> list[int]:
    return [n for n, given in enumerate(query.inputs) if given.is_stream]


def _equalities(plan: Plan, join: Join, inputs: Sequence[int]) -> list[Equated]:
    """The equalities among some inputs, by the numbers of these and of the columns of their sides, in one order."""
    places = {n: place for place, n in enumerate(inputs)}
    found = set()
    for e in join.asked.equalities:
        ends = []
        for term in (e.left, e.right):
            if len(term.inputs) == 1 and term.inputs[0] in places and term.own is not None:
                n = term.inputs[0]
                ends.append((places[n], plan.fragment(join.sides[n]).place_of(term.own)))
        if len(ends) == 2:
            found.add(Equated(*sorted(ends)))
    return sorted(found, key=lambda e: (e.left, e.right))


def _prefix(plan: Plan, join: Join, inputs: tuple[int, ...], facts: Facts) -> Prefix:
    on = tuple(_equalities(plan, join, inputs))
    sides = tuple(join.sides[n] for n in inputs)
    taken = prod(_taken(plan, join, n, facts) for n in inputs)
    return Prefix(inputs, (sides, on), prod(facts.rate(join.asked.inputs[n].source) for n in inputs), taken)


def _taken(plan: Plan, join: Join, number: int, facts: Facts) -> float:
    """The part of a stream's rows that any member of a pool takes."""
    side = plan.fragment(join.sides[number])
    sets = join.room.taken(side.sets) if join.room is not None else side.sets
    return union(facts.share(side.source, where) for where in {c.where for c in sets})


def _meets(plan: Plan, join: Join, inputs: Sequence[int], other: int) -> bool:
    place = len(inputs)
    return any(place in (e.left[0], e.right[0]) for e in _equalities(plan, join, [*inputs, other]))


def _pairs(plan: Plan, join: Join, facts: Facts) -> list[Prefix]:
    """Two inputs that an equality connects, those of the lesser side first."""
    numbers = sorted(_streams(join.asked), key=lambda n: join.sides[n])
    pairs = [(a, b) for i, a in enumerate(numbers) for b in numbers[i + 1 :]]
    return [_prefix(plan, join, pair, facts) for pair in pairs if _meets(plan, join, pair[:1], pair[1])]


def _longer(plan: Plan, join: Join, prefix: Prefix, facts: Facts) -> list[Prefix]:
    """A prefix with one more input."""
    others = [
        n for n in _streams(join.asked) if n not in prefix.inputs and _meets(plan, join, prefix.inputs, n)
    ]
    return [_prefix(plan, join, (*prefix.inputs, n), facts) for n in others]


def _nodes(plan: Plan, joins: Mapping[str, Join], taken: Mapping[str, Prefix]) -> tuple[SubJoin, ...]:
    """The sub-joins that somebody takes, each after its base."""
    users: dict[Hashable, list[tuple[Join, tuple[int, ...]]]] = {}
    for id, prefix in taken.items():
        users.setdefault(prefix.key, []).append((joins[id], prefix.inputs))
    made: dict[str, SubJoin] = {}
    for some in users.values():
        for length in range(2, len(some[0][1]) + 1):
            node = _node(plan, [(join, inputs[:length]) for join, inputs in some])
            made[node.id] = _merged(made[node.id], node) if node.id in made else node
    return tuple(sorted(made.values(), key=lambda s: (len(s.sides), s.id)))


def sub_id(plan: Plan, join: Join, inputs: Sequence[int]) -> str:
    """The name of a sub-join: who meets, and how."""
    on = [(e.left, e.right) for e in _equalities(plan, join, inputs)]
    return named("sub", [join.sides[n] for n in inputs], on)


def _node(plan: Plan, users: Sequence[tuple[Join, tuple[int, ...]]]) -> SubJoin:
    first, inputs = users[0]
    places = range(len(inputs))
    lengths = [[join.asked.inputs[own[p]].length for join, own in users] for p in places]
    bits: dict[int, int] = {}
    for join, _ in users:
        if join.room is not None:
            bits[join.room.word] = (
                bits.get(join.room.word, 0) | (1 << join.room.size) - 1 << join.room.first % 64
            )
    return SubJoin(
        id=sub_id(plan, first, inputs),
        sides=tuple(first.sides[n] for n in inputs),
        on=tuple(_equalities(plan, first, inputs)),
        lengths=tuple(_longest(some) for some in lengths),
        bits=tuple(sorted(bits.items())),
        columns=tuple(
            tuple(sorted({c for join, own in users for c in _needed(plan, join, own[p])})) for p in places
        ),
        base=sub_id(plan, first, inputs[:-1]) if len(inputs) > 2 else "",
    )


def _merged(one: SubJoin, other: SubJoin) -> SubJoin:
    bits = dict(one.bits)
    for word, mask in other.bits:
        bits[word] = bits.get(word, 0) | mask
    return replace(
        one,
        lengths=tuple(_longest(pair) for pair in zip(one.lengths, other.lengths, strict=True)),
        bits=tuple(sorted(bits.items())),
        columns=tuple(tuple(sorted({*a, *b})) for a, b in zip(one.columns, other.columns, strict=True)),
    )


def _longest(lengths: Iterable[int | None]) -> int | None:
    known = list(lengths)
    return None if None in known else max(n for n in known if n is not None)


def _needed(plan: Plan, join: Join, number: int) -> list[int]:
    """The columns of an input that decide who are its partners."""
    columns, asked = plan.fragment(join.sides[number]).columns, join.asked
    names = deciding_columns(asked, number) - {SET}
    wanted = equated_terms(asked, number) | {identifier(n) for n in names}
    return [i for i, c in enumerate(columns) if c.sql in wanted]


def _with(plan: Plan, taken: Mapping[str, Prefix], subs: tuple[SubJoin, ...]) -> Plan:
    joins = tuple(_based(plan, j, taken.get(j.id)) for j in plan.joins)
    return replace(plan, joins=joins, subs=subs)


def _based(plan: Plan, join: Join, prefix: Prefix | None) -> Join:
    if prefix is None:
        return replace(join, sub="", met=()) if join.sub else join
    return replace(join, sub=sub_id(plan, join, prefix.inputs), met=prefix.inputs)
