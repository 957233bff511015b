"""A query that another one of its name takes the place of: it goes on, under a name of its own, for what begins before the new one does.

So each window instance and each instant comes whole from one of the two. Where the new one needs nothing but what is computed for the old
one, it begins with the first that was not given out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from thalweg.model.query import Query
from thalweg.model.target import Files
from thalweg.optimizer.join_nodes import first_whole, starts_of
from thalweg.plan.narrowed import covers
from thalweg.plan.nodes import Emission, Plan

MARK = "~"
"""Stands in no name that a user gives."""
Begins = Mapping[str, int | None]


def is_retired(name: str) -> bool:
    """Whether a name is that of a query that was replaced and has results still to give."""
    return MARK in name


def replaced_name(name: str) -> str:
    """The name that a retired query had.

    >>> replaced_name("price_range~2")
    'price_range'
    """
    return name.partition(MARK)[0]


def retired_names(plan: Plan, live: Iterable[Query], sources: Iterable[str]) -> frozenset[str]:
    """The retired queries of a plan that go on: those whose successors live, and whose sources are still read."""
    lines, there = {(q.name, q.line) for q in live}, set(sources)
    found = [q for q in plan.queries if is_retired(q.name) and (replaced_name(q.name), q.line) in lines]
    return frozenset(q.name for q in found if {*q.sources, *q.tables} <= there)


def goes_on(plan: Plan, query: Query) -> bool:
    """Whether a query is given what the one of its name was given in a plan: it is the same one, or takes its place and needs nothing else.
    Members of a pool are known to it by what they ask."""
    before = plan.find(query.name)
    if before is None or before.is_one_with(query):
        return before is not None
    is_covered = before.line == query.line and covers(before, query)
    return is_covered and all(e.bit is None for e in plan.given_to(query.name))


def retire(
    old: Plan, query: Query, new: list[Emission], successor: Query, begins: Begins, address: str
) -> tuple[Query, list[Emission]]:
    """What is left to do for a query that another took the place of: its emissions until the new one begins."""
    name = next(
        n
        for i in range(1, len(old.queries) + 2)
        if (n := f"{query.name}{MARK}{i}") not in {q.name for q in old.queries}
    )
    until = _until(query, successor, new, begins)
    if until is None:
        return query, []
    ended = [
        replace(e, query=name, until=until if e.until is None else min(e.until, until))
        for e in old.given_to(query.name)
    ]
    return replace(query, name=name, into=Files(address)), [
        e for e in ended if e.begin is None or e.until is None or e.begin < e.until
    ]


def _until(query: Query, successor: Query, new: list[Emission], begins: Begins) -> int | None:
    """Where a query ends: over windows before the first event time that was not seen, over joins before the successor's first instant,
    or where it would have begun itself."""
    if query.windows:
        return begins.get(query.stream)
    if query.every is None or successor.every is None:
        return first_whole(query, starts_of(query, begins))
    return next((-(-e.begin * successor.every // query.every) for e in new if e.begin is not None), None)
