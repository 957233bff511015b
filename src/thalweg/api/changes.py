"""What a workload has that the last run had not: queries added, dropped, and redefined under their names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from thalweg.errors import UsageError
from thalweg.model.query import Query


@dataclass(frozen=True)
class Changes:
    """Names of queries, by what became of them since the last run."""

    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    redefined: tuple[str, ...] = ()

    def __str__(self) -> str:
        told = (("added", self.added), ("dropped", self.dropped), ("redefined", self.redefined))
        return "; ".join(f"{what} {', '.join(names)}" for what, names in told if names)


def changes(before: Mapping[str, Query], now: Mapping[str, Query]) -> Changes:
    """What changed from one workload to another."""
    return Changes(
        added=tuple(n for n in now if n not in before),
        dropped=tuple(n for n in before if n not in now),
        redefined=tuple(n for n, q in now.items() if n in before and not asks_same(before[n], q)),
    )


def asks_same(a: Query, b: Query) -> bool:
    """Whether two queries of one name have the same results, whatever their texts and wherever the results go."""
    return _asked(a) == _asked(b)


def _asked(query: Query) -> Query:
    return replace(query, text="", into=None, history=None, number=0, line=0)


def check_redefined(found: Changes, asked: Collection[str]) -> None:
    """Refuse to go on under the name of a query that asked something else, unless that is what the user says."""
    for name in found.redefined:
        if name not in asked:
            hint = f"to replace it write CREATE OR REPLACE QUERY {name} AS ...: its results are kept apart; else use another name"
            raise UsageError(f"query {name} asks something else than it did in the last run", hint)
